// One step for each opcode that torch writes; all others are refused by their names.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/pickle_machine.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/little_endian.h"

namespace tensorcast::formats {

using core::ErrorKind;
namespace {

enum class PickleOpcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobalName = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8A,
  kEmptySet = 0x8F
};

// Those of Python that torch does not write, for a message.
struct NamedOpcode {
  std::uint8_t code;
  std::string_view name;
};

constexpr NamedOpcode kOtherOpcodes[] = {
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'L', "LONG"},
    {'P', "PERSID"},
    {'S', "STRING"},
    {'T', "BINSTRING"},
    {'V', "UNICODE"},
    {'B', "BINBYTES"},
    {'C', "SHORT_BINBYTES"},
    {'d', "DICT"},
    {'g', "GET"},
    {'i', "INST"},
    {'l', "LIST"},
    {'o', "OBJ"},
    {'p', "PUT"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {0x8B, "LONG4"},
    {0x8C, "SHORT_BINUNICODE"},
    {0x8D, "BINUNICODE8"},
    {0x8E, "BINBYTES8"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"},
    {0x94, "MEMOIZE"},
    {0x95, "FRAME"},
    {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
};

constexpr std::uint8_t kPickleProtocol = 2;
// What a list or a dict takes beside its items, in values.
constexpr std::size_t kContainerValues = 4;

std::string OpcodeText(std::uint8_t opcode) {
  const auto* const named = std::ranges::find(kOtherOpcodes, opcode, &NamedOpcode::code);
  if (named != std::end(kOtherOpcodes)) return std::string(named->name);
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "0x%02X", opcode);
  return text.data();
}

}  // namespace

void PickleMachine::Fail(const std::string& why, ErrorKind kind) const {
  files::FailFile(source_, why + " (pickle, offset " + std::to_string(opcode_at_) + ")", kind);
}

PickleValue PickleMachine::Run(std::uint64_t begin) {
  at_ = opcode_at_ = begin;
  is_done_ = false;
  while (!is_done_) {
    opcode_at_ = at_;
    Step(TakeByte());
  }
  const PickleValue result = Pop();
  if (!stack_.empty() || !marks_.empty()) Fail("ends with more than one value on its stack");
  return result;
}

std::span<const PickleValue> PickleMachine::Items(const PickleValue& value) const {
  if (value.kind == PickleKind::kTuple) return std::span(tuples_).subspan(value.value, value.count);
  return containers_[value.value];
}

PickleValue PickleMachine::NewDict(std::vector<PickleValue> items) {
  Charge(kContainerValues);
  containers_.push_back(std::move(items));
  return {PickleKind::kDict, 0, containers_.size() - 1};
}

// ----------------------------------------------------------------------------- bytes

std::string_view PickleMachine::Take(std::size_t size) {
  if (at_ > source_.size() || source_.size() - at_ < size) {
    Fail("is cut short: its pickle has no end");
  }
  if (at_ < buffer_begin_ || at_ + size > buffer_begin_ + buffer_size_) {
    buffer_size_ =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), source_.size() - at_));
    source_.Read(at_, std::span(buffer_).first(buffer_size_));
    buffer_begin_ = at_;
  }
  const std::string_view bytes(
      reinterpret_cast<const char*>(buffer_.data()) + (at_ - buffer_begin_), size);
  at_ += size;
  return bytes;
}

std::uint64_t PickleMachine::TakeNumber(std::size_t size) {
  return core::LoadLittle(reinterpret_cast<const std::byte*>(Take(size).data()), size);
}

std::string PickleMachine::TakeLine() {
  std::string line;
  for (char c; (c = Take(1)[0]) != '\n';) {
    if (line.size() == kMostGlobalName) {
      Fail("has a global with a name of more than " + std::to_string(kMostGlobalName) + " bytes");
    }
    line += c;
  }
  return line;
}

void PickleMachine::TakeText(std::uint64_t size) {
  if (size > kMostKeptText) {
    if (source_.size() - at_ < size) Fail("is cut short in a text");
    at_ += size;
    Push({PickleKind::kLarge, 0, 0});
    return;
  }
  const std::string_view text = Take(static_cast<std::size_t>(size));
  if (texts_.size() + text.size() > kMostPickleText) {
    Fail("has texts of more than " + std::to_string(kMostPickleText) + " bytes",
         ErrorKind::kUnsupported);
  }
  Push({PickleKind::kText, static_cast<std::uint32_t>(size), texts_.size()});
  texts_ += text;
}

void PickleMachine::TakeLong() {
  const std::size_t size = TakeByte();
  const std::string_view bytes = Take(size);
  if (size > 8) {
    Push({PickleKind::kLarge, 0, 0});
    return;
  }
  std::uint64_t value = core::LoadLittle(reinterpret_cast<const std::byte*>(bytes.data()), size);
  // The sign is that of the last byte.
  if (size > 0 && size < 8 && static_cast<std::uint8_t>(bytes.back()) >= 0x80) {
    value |= ~std::uint64_t{0} << (8 * size);
  }
  Push({PickleKind::kInteger, 0, value});
}

void PickleMachine::TakeGlobal() {
  std::string name = TakeLine();
  name += '.';
  name += TakeLine();
  const auto [place, is_new] = global_of_.try_emplace(std::move(name), globals_.size());
  if (is_new) {
    if (globals_.size() == kMostGlobals) {
      Fail("names more than " + std::to_string(kMostGlobals) + " globals", ErrorKind::kUnsupported);
    }
    globals_.push_back(place->first);
  }
  Push({PickleKind::kGlobal, 0, place->second});
}

// ----------------------------------------------------------------------------- stack and memo

void PickleMachine::Charge(std::size_t values) {
  if (kMostPickleValues - values_ < values) {
    Fail("has more than " + std::to_string(kMostPickleValues) + " values", ErrorKind::kUnsupported);
  }
  values_ += values;
}

void PickleMachine::Push(const PickleValue& value) {
  if (stack_.size() == kMostPickleStack) {
    Fail("puts more than " + std::to_string(kMostPickleStack) + " values on its stack",
         ErrorKind::kUnsupported);
  }
  stack_.push_back(value);
}

PickleValue PickleMachine::Pop() {
  if (stack_.size() == (marks_.empty() ? 0 : marks_.back())) {
    Fail("takes a value from its stack where there is none");
  }
  const PickleValue value = stack_.back();
  stack_.pop_back();
  return value;
}

std::span<const PickleValue> PickleMachine::SinceMark() const {
  if (marks_.empty()) Fail("goes back to a mark that it has not set");
  return std::span(stack_).subspan(marks_.back());
}

void PickleMachine::PopMark() {
  stack_.resize(marks_.back());
  marks_.pop_back();
}

void PickleMachine::PushTuple(std::size_t count) {
  if (stack_.size() - (marks_.empty() ? 0 : marks_.back()) < count) {
    Fail("takes a value from its stack where there is none");
  }
  Charge(count);
  const auto items = std::span(stack_).last(count);
  const std::size_t begin = tuples_.size();
  tuples_.insert(tuples_.end(), items.begin(), items.end());
  stack_.resize(stack_.size() - count);
  Push({PickleKind::kTuple, static_cast<std::uint32_t>(count), begin});
}

void PickleMachine::PushContainer(PickleKind kind) {
  Charge(kContainerValues);
  containers_.emplace_back();
  Push({kind, 0, containers_.size() - 1});
}

void PickleMachine::Remember(std::uint64_t index) {
  const PickleValue top = Pop();
  stack_.push_back(top);
  // Python numbers what it remembers from 0 on.
  if (index > memo_.size()) {
    Fail("remembers a value as number " + std::to_string(index) + ", after " +
         std::to_string(memo_.size()));
  }
  if (index == memo_.size()) {
    Charge(1);
    memo_.push_back(top);
  } else {
    memo_[static_cast<std::size_t>(index)] = top;
  }
}

void PickleMachine::Recall(std::uint64_t index) {
  if (index >= memo_.size()) {
    Fail("asks for value " + std::to_string(index) + " of the " + std::to_string(memo_.size()) +
         " that it remembers");
  }
  Push(memo_[static_cast<std::size_t>(index)]);
}

void PickleMachine::Extend(std::span<const PickleValue> values, PickleKind kind) {
  const PickleValue target = Pop();
  stack_.push_back(target);
  if (target.kind == PickleKind::kOpaque || target.kind == PickleKind::kObject) return;
  if (target.kind != kind) {
    Fail(kind == PickleKind::kList ? "appends to something that is not a list"
                                   : "sets an item of something that is not a dict");
  }
  Charge(values.size());
  std::vector<PickleValue>& items = containers_[target.value];
  items.insert(items.end(), values.begin(), values.end());
}

void PickleMachine::Call() {
  const PickleValue arguments = Pop();
  const PickleValue callable = Pop();
  if (arguments.kind != PickleKind::kTuple)
    Fail("calls a global with something that is not a tuple");
  if (callable.kind == PickleKind::kGlobal) {
    Push(objects_.Call(*this, callable, arguments));
  } else if (callable.kind == PickleKind::kOpaque) {
    Push(callable);
  } else {
    Fail("calls something that is not a global");
  }
}

// ----------------------------------------------------------------------------- opcodes

void PickleMachine::Step(std::uint8_t opcode) {
  using enum PickleOpcode;
  switch (static_cast<PickleOpcode>(opcode)) {
    case kProto:
      if (const std::uint8_t protocol = TakeByte(); protocol != kPickleProtocol) {
        Fail("is a pickle of protocol " + std::to_string(protocol) + "; torch.save writes " +
                 std::to_string(kPickleProtocol) + ", and no other is read",
             ErrorKind::kUnsupported);
      }
      return;
    case kStop: is_done_ = true; return;
    case kMark:
      if (marks_.size() == kMostPickleStack) Fail("sets too many marks", ErrorKind::kUnsupported);
      marks_.push_back(stack_.size());
      return;

    case kNone: Push({PickleKind::kNone, 0, 0}); return;
    case kNewTrue: Push({PickleKind::kBool, 0, 1}); return;
    case kNewFalse: Push({PickleKind::kBool, 0, 0}); return;
    case kBinInt: {
      const auto value = static_cast<std::int32_t>(static_cast<std::uint32_t>(TakeNumber(4)));
      Push({PickleKind::kInteger, 0, static_cast<std::uint64_t>(std::int64_t{value})});
      return;
    }
    case kBinInt1: Push({PickleKind::kInteger, 0, TakeNumber(1)}); return;
    case kBinInt2: Push({PickleKind::kInteger, 0, TakeNumber(2)}); return;
    case kLong1: TakeLong(); return;
    case kBinFloat: Push({PickleKind::kFloat, 0, TakeNumber(8)}); return;
    case kBinUnicode: TakeText(TakeNumber(4)); return;
    case kShortBinString: TakeText(TakeNumber(1)); return;

    case kEmptyTuple: PushTuple(0); return;
    case kTuple1: PushTuple(1); return;
    case kTuple2: PushTuple(2); return;
    case kTuple3: PushTuple(3); return;
    case kTuple: {
      const std::size_t count = SinceMark().size();
      marks_.pop_back();
      PushTuple(count);
      return;
    }
    case kEmptyList:
    case kEmptySet: PushContainer(PickleKind::kList); return;
    case kEmptyDict: PushContainer(PickleKind::kDict); return;
    case kAppend: {
      const PickleValue item = Pop();
      Extend(std::span(&item, 1), PickleKind::kList);
      return;
    }
    case kSetItem: {
      const PickleValue value = Pop();
      const PickleValue entry[] = {Pop(), value};
      Extend(entry, PickleKind::kDict);
      return;
    }
    case kAppends:
    case kSetItems: {
      const auto items = SinceMark();
      const std::vector<PickleValue> values(items.begin(), items.end());
      const bool sets = opcode == static_cast<std::uint8_t>(kSetItems);
      if (sets && values.size() % 2 != 0) Fail("sets a key without a value");
      PopMark();
      Extend(values, sets ? PickleKind::kDict : PickleKind::kList);
      return;
    }

    case kBinPut: Remember(TakeNumber(1)); return;
    case kLongBinPut: Remember(TakeNumber(4)); return;
    case kBinGet: Recall(TakeNumber(1)); return;
    case kLongBinGet: Recall(TakeNumber(4)); return;

    case kGlobalName: TakeGlobal(); return;
    case kBinPersId: {
      const PickleValue id = Pop();
      Push(objects_.Persistent(*this, id));
      return;
    }
    case kReduce:
    case kNewObj: Call(); return;
    case kBuild: {
      Pop();  // the state: attributes of what is built, none of which is a tensor's value
      const PickleValue built = Pop();
      if (built.kind < PickleKind::kList) Fail("gives attributes to something that has none");
      stack_.push_back(built);
      return;
    }
    default:
      Fail("has the opcode " + OpcodeText(opcode) + ", which torch.save does not write",
           ErrorKind::kUnsupported);
  }
}

}  // namespace tensorcast::formats

// A machine for pickles as torch writes them. It builds values of plain kinds; what would be an
// import in Python is a name to it, and a call is a question to its client. Nothing is imported,
// nothing is run.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_PICKLE_MACHINE_H_
#define TENSORCAST_SRC_FORMATS_PICKLE_MACHINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.h"
#include "files/error.h"

namespace tensorcast::formats {

// Ours, so that a small file cannot fill the memory; a checkpoint of 100,000 tensors keeps 5
// million values.
inline constexpr std::size_t kMostPickleValues = 8'000'000;
inline constexpr std::size_t kMostPickleStack = 1'000'000;
inline constexpr std::size_t kMostPickleText = std::size_t{64} << 20;
// Longer texts are passed over, and names of globals refused: none is part of a tensor's name.
inline constexpr std::size_t kMostKeptText = std::size_t{64} << 10;
inline constexpr std::size_t kMostGlobalName = 512;
inline constexpr std::size_t kMostGlobals = 10'000;

enum class PickleKind : std::uint8_t {
  kNone,
  kBool,
  kInteger,
  kFloat,
  kText,
  kLarge,  // a text or an integer that is not kept
  kTuple,
  kList,
  kDict,
  kGlobal,  // a name, "torch._utils._rebuild_tensor_v2"
  kObject,  // what the client made of a call
  kOpaque   // what it made nothing of; `value` is the global's
};

// A value, or where the machine keeps what belongs to it.
struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  std::uint32_t count = 0;  // of a text's bytes, a tuple's items; a client's own of an object
  std::uint64_t value = 0;  // a bool or an integer (two's complement); else an index

  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
};

class PickleMachine;

// What calls and persistent ids stand for.
class PickleObjects {
 public:
  virtual ~PickleObjects() = default;
  // `callable` is a global, `arguments` a tuple.
  virtual PickleValue Call(PickleMachine& machine, const PickleValue& callable,
                           const PickleValue& arguments) = 0;
  virtual PickleValue Persistent(PickleMachine& machine, const PickleValue& id) = 0;
};

class PickleMachine {
 public:
  // Both outlive the machine.
  PickleMachine(const files::ByteSource& source, PickleObjects& objects)
      : source_(source), objects_(objects) {}

  // Runs the pickle that begins at an offset of the source and gives what it leaves. Throws Error:
  // contents where it is malformed, unsupported where it has an opcode that torch does not write.
  PickleValue Run(std::uint64_t begin);
  // Where the pickle ended.
  std::uint64_t end() const { return at_; }

  std::string_view Text(const PickleValue& text) const {
    return std::string_view(texts_).substr(text.value, text.count);
  }
  // The items of a tuple or of a list; of a dict its keys and values in turn. They last until the
  // machine goes on.
  std::span<const PickleValue> Items(const PickleValue& value) const;
  // Of a global and of what is opaque by one: "collections.OrderedDict".
  const std::string& GlobalName(const PickleValue& global) const { return globals_[global.value]; }
  // Of keys and values in turn, which have been charged.
  PickleValue NewDict(std::vector<PickleValue> items = {});
  // Counts what is kept against kMostPickleValues.
  void Charge(std::size_t values);

  // Throws Error; `why` goes on behind the file's name, and the offset of the opcode comes behind.
  [[noreturn]] void Fail(const std::string& why,
                         core::ErrorKind kind = core::ErrorKind::kContents) const;

 private:
  void Step(std::uint8_t opcode);
  std::uint8_t TakeByte() { return static_cast<std::uint8_t>(Take(1)[0]); }
  // Bytes of the pickle, at most kMostKeptText; they last until the next are taken.
  std::string_view Take(std::size_t size);
  std::uint64_t TakeNumber(std::size_t size);
  std::string TakeLine();
  void TakeText(std::uint64_t size);
  void TakeLong();
  void TakeGlobal();

  void Push(const PickleValue& value);
  PickleValue Pop();
  std::span<const PickleValue> SinceMark() const;  // with it PopMark
  void PopMark();
  void PushTuple(std::size_t count);
  void PushContainer(PickleKind kind);
  void Remember(std::uint64_t index);
  void Recall(std::uint64_t index);
  // Adds values to what lies on top of the stack.
  void Extend(std::span<const PickleValue> values, PickleKind kind);
  void Call();

  const files::ByteSource& source_;
  PickleObjects& objects_;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleValue> memo_;
  std::vector<PickleValue> tuples_;  // the items of all
  std::vector<std::vector<PickleValue>> containers_;
  std::string texts_;
  std::vector<std::string> globals_;
  std::map<std::string, std::size_t, std::less<>> global_of_;
  std::size_t values_ = 0;  // that are kept
  std::uint64_t at_ = 0;    // in the source
  std::uint64_t opcode_at_ = 0;
  bool is_done_ = false;
  std::array<std::byte, kMostKeptText> buffer_{};
  std::uint64_t buffer_begin_ = 0;
  std::size_t buffer_size_ = 0;
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_PICKLE_MACHINE_H_

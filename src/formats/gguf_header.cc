// What a GGUF header says, held against the format's rules and the file's size. The bytes are taken
// from front to end through a small window; arrays (a tokenizer's are long) are passed over.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/little_endian.h"
#include "core/shape.h"
#include "files/error.h"
#include "formats/gguf_types.h"
#include "formats/name_order.h"
#include "text/shortest.h"
#include "words/utf8.h"

namespace tensorcast::formats {

using core::ErrorKind;
namespace {

// The format's own limits.
constexpr std::uint64_t kMostGgufKeyBytes = 65'535;
constexpr std::uint64_t kMostGgufStringBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostGgufArrayElements = std::uint64_t{1} << 30;
// Ours, so that a small file, or a sparse one, takes neither the memory nor the day.
constexpr std::uint64_t kMostGgufKeys = 65'536;
constexpr std::uint64_t kMostGgufKeysBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostGgufInfosBytes = 100'000'000;
// Of all keys' names together, and of all their texts that are carried to other formats.
constexpr std::uint64_t kMostGgufTextBytes = std::uint64_t{16} << 20;
// What is shown of a longer text, and of an array.
constexpr std::uint64_t kShownTextBytes = 200;
constexpr std::uint64_t kShownElements = 8;
constexpr std::uint64_t kShownElementBytes = 40;

// No key and no tensor's entry takes fewer bytes.
constexpr std::uint64_t kLeastKeyBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kLeastInfoBytes = 8 + 4 + 4 + 8;

constexpr std::uint64_t kGgufValueTypes = 13;
// Of a number; 0: it has a length of its own.
constexpr std::uint8_t kGgufValueBytes[kGgufValueTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// The header's bytes from front to end.
class GgufCursor {
 public:
  explicit GgufCursor(const files::ByteSource& file) : file_(file) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return file_.size() - at_; }

  // What is being read, for messages: "key 3 of 25".
  template <class What> void Enter(const What& what) { what_ = what; }
  const std::string& what() const { return what_; }

  std::uint64_t Number(std::uint64_t bytes) {
    std::array<std::byte, 8> number{};
    Copy(std::span(number).first(static_cast<std::size_t>(bytes)));
    return core::LoadLittle(number.data(), static_cast<std::size_t>(bytes));
  }
  // A length and so many bytes, the first `most` of which are given.
  std::string Text(std::uint64_t longest, std::uint64_t most, std::uint64_t* length) {
    const std::uint64_t begin = at_;
    *length = Number(8);
    if (*length > longest) {
      files::FailFile(file_, what_ + " has a string of " + std::to_string(*length) +
                                 " bytes at offset " + std::to_string(begin) +
                                 "; expected at most " + std::to_string(longest));
    }
    if (*length > left()) {
      files::FailFile(file_, what_ + " has a string of " + std::to_string(*length) +
                                 " bytes at offset " + std::to_string(begin) + ", but only " +
                                 words::CountText(left(), "byte") +
                                 " after it; the file is cut short");
    }
    std::string text(static_cast<std::size_t>(std::min(*length, most)), '\0');
    Copy(std::as_writable_bytes(std::span(text)));
    Skip(*length - text.size());
    return text;
  }
  void Skip(std::uint64_t bytes) {
    if (bytes > left()) CutShort(bytes);
    at_ += bytes;
  }

 private:
  [[noreturn]] void CutShort(std::uint64_t bytes) const {
    files::FailFile(file_, what_ + " needs " + words::CountText(bytes, "byte") + " at offset " +
                               std::to_string(at_) + ", but the file has only " +
                               std::to_string(left()) + " there; it is cut short");
  }
  void Copy(std::span<std::byte> out) {
    if (out.size() > left()) CutShort(out.size());
    if (out.size() > kWindow) {
      file_.Read(at_, out);
    } else if (!out.empty()) {
      if (at_ < window_at_ || at_ + out.size() > window_at_ + window_.size()) {
        window_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, left())));
        window_at_ = at_;
        file_.Read(at_, window_);
      }
      std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(at_ - window_at_), out.size(),
                  out.begin());
    }
    at_ += out.size();
  }

  static constexpr std::uint64_t kWindow = std::uint64_t{64} << 10;
  const files::ByteSource& file_;
  std::uint64_t at_ = 0;
  std::vector<std::byte> window_;
  std::uint64_t window_at_ = 0;
  std::string what_ = "the header";
};

std::string FloatText(std::uint64_t code, bool is_double) {
  if (is_double) return text::ShortestText(std::bit_cast<double>(code));
  std::array<char, 32> digits;
  const float value = std::bit_cast<float>(static_cast<std::uint32_t>(code));
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

// A number as JSON has it.
std::string NumberText(GgufValue type, std::uint64_t code) {
  switch (type) {
    case GgufValue::kInt8: return std::to_string(static_cast<std::int8_t>(code));
    case GgufValue::kInt16: return std::to_string(static_cast<std::int16_t>(code));
    case GgufValue::kInt32: return std::to_string(static_cast<std::int32_t>(code));
    case GgufValue::kInt64: return std::to_string(static_cast<std::int64_t>(code));
    case GgufValue::kFloat32: return FloatText(code, false);
    case GgufValue::kFloat64: return FloatText(code, true);
    case GgufValue::kBool: return code != 0 ? "true" : "false";
    default: return std::to_string(code);
  }
}

class GgufHeaderReader {
 public:
  explicit GgufHeaderReader(const files::ByteSource& file) : file_(file), cursor_(file) {}

  GgufHeader Read() {
    ReadCounts();
    ReadKeys();
    ReadInfos();
    PlaceTensors();
    GiveShapes();
    return std::move(header_);
  }

 private:
  [[noreturn]] void Fail(const std::string& why, ErrorKind kind = ErrorKind::kContents) const {
    files::FailFile(file_, why, kind);
  }
  [[noreturn]] void FailTensor(const std::string& name, const std::string& why,
                               ErrorKind kind = ErrorKind::kContents) const {
    files::FailFile(file_, "tensor " + words::Quoted(name) + " " + why, kind);
  }

  void ReadCounts() {
    std::array<char, kGgufMagic.size()> magic{};
    for (char& c : magic) c = static_cast<char>(cursor_.Number(1));
    if (std::string_view(magic.data(), magic.size()) != kGgufMagic) {
      Fail("does not begin with GGUF, as a GGUF file does");
    }
    const std::uint64_t version = cursor_.Number(4);
    if ((version & 0xFFFF) == 0) {
      Fail(
          "is a big-endian GGUF file, which is not read; convert it with gguf-py's "
          "gguf_convert_endian.py first",
          ErrorKind::kUnsupported);
    }
    if (version < 2 || version > 3) {
      Fail("is of GGUF version " + std::to_string(version) + "; versions 2 and 3 are read",
           ErrorKind::kUnsupported);
    }
    tensors_ = cursor_.Number(8);
    keys_ = cursor_.Number(8);
    if (keys_ > cursor_.left() / kLeastKeyBytes) {
      Fail("says that it has " + std::to_string(keys_) + " keys, more than its " +
           words::CountText(file_.size(), "byte") + " can hold");
    }
    if (keys_ > kMostGgufKeys) {
      Fail("has " + std::to_string(keys_) + " keys; at most " + std::to_string(kMostGgufKeys) +
               " are read",
           ErrorKind::kUnsupported);
    }
    if (tensors_ > cursor_.left() / kLeastInfoBytes) {
      Fail("says that it has " + std::to_string(tensors_) + " tensors, more than its " +
           words::CountText(file_.size(), "byte") + " can hold");
    }
  }

  // ------------------------------------------------------------------------------- keys

  void ReadKeys() {
    const std::uint64_t begin = cursor_.at();
    std::uint64_t name_bytes = 0;
    std::unordered_set<std::string> seen;
    for (std::uint64_t i = 0; i < keys_; ++i) {
      const std::uint64_t at = cursor_.at();
      cursor_.Enter("key " + std::to_string(i + 1) + " of " + std::to_string(keys_));
      std::uint64_t length = 0;
      const std::string key = cursor_.Text(kMostGgufKeyBytes, kMostGgufKeyBytes, &length);
      if (key.empty()) Fail(cursor_.what() + " has no name");
      name_bytes += length;
      if (name_bytes > kMostGgufTextBytes) {
        Fail("has keys whose names take more than " + std::to_string(kMostGgufTextBytes) + " bytes",
             ErrorKind::kUnsupported);
      }
      cursor_.Enter("the key " + words::Quoted(key));
      if (!seen.insert(key).second) Fail(cursor_.what() + " is there twice");
      ReadValue(key);
      header_.keys.push_back({key, &file_, at, cursor_.at() - at});
      if (cursor_.at() - begin > kMostGgufKeysBytes) {
        Fail("has more than " + std::to_string(kMostGgufKeysBytes) + " bytes of keys",
             ErrorKind::kUnsupported);
      }
    }
  }

  GgufValue ReadType(std::string_view of) {
    const std::uint64_t type = cursor_.Number(4);
    if (type >= kGgufValueTypes) {
      Fail(cursor_.what() + " has " + std::string(of) + " of the unknown type " +
           std::to_string(type) + "; expected 0 to 12");
    }
    return static_cast<GgufValue>(type);
  }

  static std::uint64_t BytesOf(GgufValue type) {
    return kGgufValueBytes[static_cast<std::size_t>(type)];
  }

  void ReadValue(const std::string& key) {
    const GgufValue type = ReadType("a value");
    bool is_whole = true;
    std::string value;
    if (type == GgufValue::kArray) {
      const bool is_shape = key.starts_with(kShapeKey);
      value = ReadArray(&is_whole, is_shape ? &shapes_[key.substr(kShapeKey.size())] : nullptr);
      if (is_shape) return;
    } else if (type == GgufValue::kString) {
      value = ReadText(&is_whole);
    } else {
      const std::uint64_t code = cursor_.Number(BytesOf(type));
      value = NumberText(type, code);
      Understand(key, type, code);
    }
    const bool is_of_container = std::find(std::begin(kContainerKeys), std::end(kContainerKeys),
                                           key) != std::end(kContainerKeys);
    const bool is_carried = is_whole && !is_of_container && words::IsUtf8(key);
    (is_carried ? header_.contents.metadata : header_.contents.shown_metadata)
        .emplace(words::IsUtf8(key) ? key : words::Escape(key), std::move(value));
  }

  // A text, or where it is too long, or no UTF-8, what is shown of it.
  std::string ReadText(bool* is_whole) {
    const std::uint64_t room = kMostGgufTextBytes - text_bytes_;
    std::uint64_t length = 0;
    std::string text = cursor_.Text(kMostGgufStringBytes, room, &length);
    if (length == text.size() && words::IsUtf8(text)) {
      text_bytes_ += length;
      return text;
    }
    *is_whole = false;
    text.resize(words::WholeUtf8(
        text, static_cast<std::size_t>(std::min<std::uint64_t>(text.size(), kShownTextBytes))));
    text = words::Escape(text);
    if (length > kShownTextBytes) text += " … " + std::to_string(length) + " bytes";
    return text;
  }

  // As JSON; of a long one its beginning and its number of elements. `dims`, where it is not null,
  // gets the elements.
  std::string ReadArray(bool* is_whole, std::vector<std::uint64_t>* dims) {
    const GgufValue type = ReadType("an array");
    if (type == GgufValue::kArray) {
      Fail(cursor_.what() + " is an array of arrays, which GGUF's readers do not take",
           ErrorKind::kUnsupported);
    }
    const std::uint64_t count = cursor_.Number(8);
    const std::uint64_t least = type == GgufValue::kString ? 8 : BytesOf(type);
    if (count > cursor_.left() / least) {
      Fail(cursor_.what() + " is an array of " + std::to_string(count) +
           " elements, more than the file's " + words::CountText(file_.size(), "byte") +
           " can hold");
    }
    if (count > kMostGgufArrayElements) {
      Fail(cursor_.what() + " is an array of " + std::to_string(count) +
           " elements; expected at most " + std::to_string(kMostGgufArrayElements));
    }
    const std::uint64_t begin = cursor_.at();
    std::string text = "[";
    for (std::uint64_t i = 0; i < count; ++i) {
      const bool is_shown = i < kShownElements;
      if (is_shown && i > 0) text += ", ";
      if (type == GgufValue::kString) {
        std::uint64_t length = 0;
        const std::string element =
            cursor_.Text(kMostGgufStringBytes, is_shown ? kShownElementBytes : 0, &length);
        if (is_shown) {
          text += words::Quoted(element);
          *is_whole = *is_whole && length == element.size() && words::IsUtf8(element);
        }
        if (cursor_.at() - begin > kMostGgufKeysBytes) {
          Fail(cursor_.what() + " takes more than " + std::to_string(kMostGgufKeysBytes) + " bytes",
               ErrorKind::kUnsupported);
        }
      } else if (is_shown) {
        const std::uint64_t code = cursor_.Number(BytesOf(type));
        text += NumberText(type, code);
        if (dims != nullptr) dims->push_back(code);
      } else {
        cursor_.Skip((count - i) * BytesOf(type));
        break;
      }
    }
    if (dims != nullptr && (type != GgufValue::kInt32 || count > kShownElements)) {
      Fail(cursor_.what() + " is not a list of at most " + std::to_string(kShownElements) +
           " int32, as the shape of a tensor is");
    }
    if (count > kShownElements) {
      *is_whole = false;
      text += ", … " + std::to_string(count) + " in all";
    }
    return text + "]";
  }

  // The keys that tell how the file is to be read.
  void Understand(const std::string& key, GgufValue type, std::uint64_t code) {
    const auto whole = [&] {
      const bool is_signed = type == GgufValue::kInt8 || type == GgufValue::kInt16 ||
                             type == GgufValue::kInt32 || type == GgufValue::kInt64;
      const bool is_number =
          type != GgufValue::kFloat32 && type != GgufValue::kFloat64 && type != GgufValue::kBool;
      const bool is_negative = is_signed && (code >> (8 * BytesOf(type) - 1)) != 0;
      if (!is_number || is_negative) {
        Fail(cursor_.what() + " is " + NumberText(type, code) + "; expected a whole number");
      }
      return code;
    };
    if (key == kAlignmentKey) {
      alignment_ = whole();
      constexpr std::uint64_t kMostAlignment = std::uint64_t{1} << 31;
      if (!std::has_single_bit(alignment_) || alignment_ > kMostAlignment) {
        Fail(cursor_.what() + " is " + std::to_string(alignment_) +
             "; expected a power of two of 32 bits");
      }
    } else if (key == kSplitPartKey) {
      header_.split.part = whole();
    } else if (key == kSplitPartsKey) {
      header_.split.parts = whole();
    } else if (key == kSplitTensorsKey) {
      header_.split.tensors = whole();
    }
  }

  // ------------------------------------------------------------------------------- tensors

  void ReadInfos() {
    const std::uint64_t begin = cursor_.at();
    if (tensors_ > cursor_.left() / kLeastInfoBytes) {
      Fail("says that it has " + std::to_string(tensors_) + " tensors, more than the " +
           words::CountText(cursor_.left(), "byte") + " behind its keys can hold");
    }
    for (std::uint64_t i = 0; i < tensors_; ++i) {
      cursor_.Enter("tensor " + std::to_string(i + 1) + " of " + std::to_string(tensors_));
      ReadInfo();
      if (cursor_.at() - begin > kMostGgufInfosBytes) {
        Fail("has more than " + std::to_string(kMostGgufInfosBytes) + " bytes of names and shapes",
             ErrorKind::kUnsupported);
      }
    }
    header_.contents.tensors.shrink_to_fit();
  }

  void ReadInfo() {
    TensorInfo info;
    std::uint64_t length = 0;
    info.name = cursor_.Text(kMostGgufNameBytes, kMostGgufNameBytes, &length);
    cursor_.Enter("tensor " + words::Quoted(info.name));
    const std::uint64_t dimensions = cursor_.Number(4);
    if (dimensions > kMostGgufDimensions) {
      FailTensor(info.name, "has " + std::to_string(dimensions) + " dimensions; expected at most " +
                                std::to_string(kMostGgufDimensions));
    }
    info.shape.resize(static_cast<std::size_t>(dimensions));
    for (std::uint64_t& dim : info.shape) dim = cursor_.Number(8);
    std::ranges::reverse(info.shape);  // the fastest was first
    const auto id = static_cast<std::uint32_t>(cursor_.Number(4));
    const GgufType* const type = FindGgufType(id);
    if (type == nullptr) FailType(info.name, id);
    info.dtype = type->name;
    info.type = type->type;
    Measure(*type, info);
    header_.offsets.push_back(cursor_.Number(8));
    header_.contents.tensors.push_back(std::move(info));
  }

  [[noreturn]] void FailType(const std::string& tensor, std::uint32_t id) const {
    // The number is signed.
    std::string type = std::to_string(static_cast<std::int32_t>(id)) + ", which is not known";
    const auto* const unread = std::ranges::find(kUnreadGgufTypes, id, &UnreadGgufType::id);
    if (unread != std::end(kUnreadGgufTypes)) {
      type = std::string(unread->name) + ", which " +
             (unread->is_removed ? "llama.cpp removed" : "is not in files");
    }
    FailTensor(tensor, "is of GGUF's type " + type, ErrorKind::kUnsupported);
  }

  void Measure(const GgufType& type, TensorInfo& info) const {
    constexpr std::uint64_t kMost = INT64_MAX;
    const std::optional<std::uint64_t> elements = core::CheckedProduct(info.shape);
    const bool has_large = std::any_of(info.shape.begin(), info.shape.end(),
                                       [](std::uint64_t dim) { return dim > kMost; });
    if (!elements || *elements > kMost || has_large) {
      FailTensor(info.name,
                 "has the shape " + words::ShapeText(info.shape) + ": more than 2^63 - 1 elements");
    }
    const std::uint64_t row = info.shape.empty() ? 1 : info.shape.back();
    if (row % type.values != 0) {
      FailTensor(info.name, "has the shape " + words::ShapeText(info.shape) + " of " +
                                std::string(type.name) + ", whose rows are blocks of " +
                                words::CountText(type.values, "value") +
                                "; the last dimension is not a multiple of that");
    }
    const std::uint64_t blocks = *elements / type.values;
    if (blocks > kMost / type.bytes) {
      FailTensor(info.name, "has the shape " + words::ShapeText(info.shape) + " of " +
                                std::string(type.name) + ": more than 2^63 - 1 bytes");
    }
    info.elements = *elements;
    info.bytes = blocks * type.bytes;
  }

  // Makes offsets ones of the file, and holds them against its size and each other.
  void PlaceTensors() {
    const std::vector<TensorInfo>& tensors = header_.contents.tensors;
    const std::uint64_t end = cursor_.at();  // less than 2^63
    const std::uint64_t data = end + (alignment_ - end % alignment_) % alignment_;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::uint64_t& offset = header_.offsets[i];
      const std::uint64_t room = data < file_.size() ? file_.size() - data : 0;
      if (tensors[i].bytes == 0) {
        offset = 0;
      } else if (offset > room || tensors[i].bytes > room - offset) {
        FailTensor(tensors[i].name,
                   "takes " + words::CountText(tensors[i].bytes, "byte") + " from data offset " +
                       std::to_string(offset) + " on, but the file has only " +
                       words::CountText(room, "byte") + " of data; it is cut short");
      }
      offset += data;
    }
    CheckNames();
    CheckOverlap();
  }

  // The shapes that tensors had before they were written in ones that their types take.
  void GiveShapes() {
    if (shapes_.empty()) return;
    for (TensorInfo& info : header_.contents.tensors) {
      const auto found = shapes_.find(info.name);
      if (found == shapes_.end()) continue;
      if (core::CheckedProduct(found->second) != info.elements) {
        FailTensor(info.name, "has the shape " + words::ShapeText(info.shape) + ", and the key " +
                                  words::Quoted(std::string(kShapeKey) + info.name) + " says " +
                                  words::ShapeText(found->second) + ", another number of elements");
      }
      info.shape = found->second;
    }
  }

  void CheckNames() const {
    const std::vector<TensorInfo>& tensors = header_.contents.tensors;
    if (const auto twice = NameOrder<TensorInfo>(tensors).Twice()) {
      FailTensor(tensors[twice->first].name, "is in the header twice");
    }
  }

  void CheckOverlap() const {
    const std::vector<TensorInfo>& tensors = header_.contents.tensors;
    const std::vector<std::uint64_t>& offsets = header_.offsets;
    std::vector<std::uint32_t> order(tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    std::erase_if(order, [&](std::uint32_t i) { return tensors[i].bytes == 0; });
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return offsets[a] < offsets[b]; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const std::uint32_t before = order[i - 1], one = order[i];
      const std::uint64_t end = offsets[before] + tensors[before].bytes;
      if (offsets[one] >= end) continue;
      FailTensor(tensors[one].name, "begins at offset " + std::to_string(offsets[one]) +
                                        ", inside tensor " + words::Quoted(tensors[before].name) +
                                        ", which ends at " + std::to_string(end));
    }
  }

  const files::ByteSource& file_;
  GgufCursor cursor_;
  GgufHeader header_;
  std::uint64_t tensors_ = 0;
  std::uint64_t keys_ = 0;
  std::uint64_t alignment_ = kDefaultGgufAlignment;
  std::uint64_t text_bytes_ = 0;
  std::unordered_map<std::string, std::vector<std::uint64_t>> shapes_;  // by tensor
};

}  // namespace

GgufHeader ReadGgufHeader(const files::ByteSource& file) { return GgufHeaderReader(file).Read(); }

}  // namespace tensorcast::formats

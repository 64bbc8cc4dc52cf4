// Writes GGUF files, of version 3: the keys of the file that was read, byte for byte, or those that
// a diffusion model needs; then tensors of plain types, and blocks as they were.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/little_endian.h"
#include "core/shape.h"
#include "files/error.h"
#include "files/same_bytes.h"
#include "files/system.h"
#include "formats/formats.h"
#include "formats/gguf_architecture.h"
#include "formats/gguf_keys.h"
#include "formats/gguf_types.h"
#include "formats/part_source.h"
#include "words/utf8.h"

namespace tensorcast::formats {

using core::AppendLittle;
using core::ErrorKind;
using files::Error;
namespace {

constexpr std::uint32_t kGgufVersion = 3;
constexpr std::uint32_t kQuantizationVersion = 2;
constexpr std::uint64_t kLongestRow = 256;  // of blocks, where the tensor's own rows are none

// What general.file_type calls a file by the type that most of it has (LlamaFileType). Types that
// are missing stand in mixtures, which no type alone tells.
struct GgufFileType {
  std::string_view type;
  std::uint32_t id;
};
constexpr GgufFileType kFileTypes[] = {
    {"F32", 0},    {"F16", 1},    {"Q4_0", 2},  {"Q4_1", 3},   {"Q8_0", 7},
    {"Q5_0", 8},   {"Q5_1", 9},   {"BF16", 32}, {"TQ1_0", 36}, {"TQ2_0", 37},
    {"MXFP4", 38}, {"NVFP4", 39}, {"Q1_0", 40},
};

std::string KeyHead(std::string_view name, GgufValue type) {
  std::string bytes;
  AppendLittle(bytes, name.size(), 8);
  bytes += name;
  AppendLittle(bytes, static_cast<std::uint64_t>(type), 4);
  return bytes;
}
std::string NumberKey(std::string_view name, std::uint32_t value) {
  std::string bytes = KeyHead(name, GgufValue::kUint32);
  AppendLittle(bytes, value, 4);
  return bytes;
}
std::string TextKey(std::string_view name, std::string_view value) {
  std::string bytes = KeyHead(name, GgufValue::kString);
  AppendLittle(bytes, value.size(), 8);
  return bytes.append(value);
}
std::string ShapeKey(const TensorInfo& info) {
  std::string bytes = KeyHead(std::string(kShapeKey) + info.name, GgufValue::kArray);
  AppendLittle(bytes, static_cast<std::uint64_t>(GgufValue::kInt32), 4);
  AppendLittle(bytes, info.shape.size(), 8);
  for (const std::uint64_t dim : info.shape) AppendLittle(bytes, dim, 4);
  return bytes;
}

// How a tensor stands in the file.
struct GgufStored {
  const GgufType* type = nullptr;
  std::vector<std::uint64_t> shape;  // the slowest dimension first
  std::uint64_t offset = 0;          // of its data in the file
};

struct GgufPlacement {
  std::vector<GgufStored> tensors;  // as the contents'
  std::uint64_t header_bytes = 0;   // without padding
  std::uint64_t file_bytes = 0;
};

std::uint64_t Aligned(std::uint64_t at) {
  return (at + kDefaultGgufAlignment - 1) / kDefaultGgufAlignment * kDefaultGgufAlignment;
}

class GgufPlacementMaker {
 public:
  GgufPlacementMaker(const std::string& path, const FileContents& contents)
      : path_(path), contents_(contents) {}

  GgufPlacement Make() {
    CheckNames();
    for (const TensorInfo& info : contents_.tensors) placement_.tensors.push_back(Stored(info));
    MakeKeys();
    placement_.header_bytes = 4 + 4 + 8 + 8;
    for (const Key& key : keys_) placement_.header_bytes += key.bytes();
    for (std::size_t i = 0; i < contents_.tensors.size(); ++i) {
      placement_.header_bytes += Entry(i).size();
    }
    std::uint64_t end = Aligned(placement_.header_bytes);
    for (std::size_t i = 0; i < contents_.tensors.size(); ++i) {
      placement_.tensors[i].offset = end;
      const std::uint64_t bytes = contents_.tensors[i].bytes;
      if (bytes > INT64_MAX - end - kDefaultGgufAlignment) {
        throw Error(ErrorKind::kUnsupported,
                    words::PathText(path_) + ": its tensors take 2^63 bytes or more", path_);
      }
      end = Aligned(end + bytes);
    }
    placement_.file_bytes = end;
    return placement_;
  }

  // Whether a file has the keys that Make has made.
  bool HasKeys(const GgufKeys& found) const {
    return std::ranges::equal(keys_, found, [](const Key& key, const GgufKey& there) {
      if (key.bytes() != there.bytes) return false;
      const auto part_of = [](const GgufKey& one) {
        return PartSource(*one.file, one.begin, one.bytes, one.name);
      };
      if (key.copied != nullptr) {
        return files::HaveSameBytes(part_of(*key.copied), part_of(there), there.bytes);
      }
      std::string bytes(key.made.size(), '\0');
      part_of(there).Read(0, std::as_writable_bytes(std::span(bytes)));
      return bytes == key.made;
    });
  }

  // What Make has measured, some of it at a time: a tokenizer's keys are long, and so is the list
  // of many tensors.
  void WriteHeader(files::OutputFile& file) const {
    std::string text(kGgufMagic);
    std::uint64_t written = 0;
    const auto write = [&] {
      file.Write(written, std::as_bytes(std::span(text)));
      written += text.size();
      text.clear();
    };
    AppendLittle(text, kGgufVersion, 4);
    AppendLittle(text, contents_.tensors.size(), 8);
    AppendLittle(text, keys_.size(), 8);
    for (const Key& key : keys_) {
      if (key.copied == nullptr) {
        text += key.made;
      } else {
        const GgufKey& from = *key.copied;
        for (std::uint64_t at = 0; at < from.bytes; at += kAtOnce) {
          const auto n = static_cast<std::size_t>(std::min(kAtOnce, from.bytes - at));
          const std::size_t before = text.size();
          text.resize(before + n);
          from.file->Read(from.begin + at, std::as_writable_bytes(std::span(text)).subspan(before));
          if (text.size() >= kAtOnce) write();
        }
      }
      if (text.size() >= kAtOnce) write();
    }
    for (std::size_t i = 0; i < contents_.tensors.size(); ++i) {
      text += Entry(i);
      if (text.size() >= kAtOnce) write();
    }
    write();
  }

 private:
  static constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;

  struct Key {
    const GgufKey* copied = nullptr;  // or else
    std::string made = {};
    std::uint64_t bytes() const { return copied != nullptr ? copied->bytes : made.size(); }
  };

  [[noreturn]] void Fail(const TensorInfo& info, const std::string& why,
                         ErrorKind kind = ErrorKind::kUnsupported) const {
    throw Error(kind, words::PathText(path_) + ": tensor " + words::Quoted(info.name) + " " + why,
                path_);
  }

  void CheckNames() const {
    std::unordered_set<std::string_view> names;
    for (const TensorInfo& info : contents_.tensors) {
      if (info.name.size() > kMostGgufNameBytes) {
        Fail(info, "has a name of " + std::to_string(info.name.size()) +
                       " bytes; GGUF's readers take at most " + std::to_string(kMostGgufNameBytes));
      }
      if (!words::IsUtf8(info.name)) Fail(info, "has a name that is not UTF-8, as GGUF needs it");
      if (!names.insert(info.name).second) {
        Fail(info, "would be in the file twice", ErrorKind::kArguments);
      }
    }
  }

  GgufStored Stored(const TensorInfo& info) const {
    GgufStored stored;
    stored.shape = info.shape;
    const auto* const row =
        info.type == DataType::kUndefined
            ? std::ranges::find(kGgufTypes, std::string_view(info.dtype), &GgufType::name)
            : std::ranges::find(kGgufTypes, info.type, &GgufType::type);
    if (row == std::end(kGgufTypes)) {
      Fail(info,
           "is " +
               (info.type == DataType::kUndefined ? info.dtype : std::string(TypeName(info.type))) +
               ", which GGUF does not hold; it holds float32, float16, bfloat16, float64 and "
               "int8 to int64");
    }
    if (info.IsColumnMajor()) {
      Fail(info, "is in Fortran order, which GGUF does not have; write an .npy file");
    }
    if (!core::CheckedProduct(info.shape) || info.elements > INT64_MAX) {
      Fail(info, "has the shape " + words::ShapeText(info.shape) + ": more than 2^63 - 1 elements");
    }
    stored.type = row;
    const std::uint64_t values = row->values;
    if (info.elements % values != 0 || info.elements / values > INT64_MAX / row->bytes ||
        info.bytes != info.elements / values * row->bytes) {
      Fail(info, "is not " + std::string(row->name) + " by its size, " +
                     words::CountText(info.bytes, "byte"));
    }
    if (values > 1 && (info.shape.empty() || info.shape.back() % values != 0)) {
      // As ComfyUI-GGUF writes convolutions: the values stand in the same order.
      const std::uint64_t columns = info.elements % kLongestRow == 0 ? kLongestRow : values;
      stored.shape = {info.elements / columns, columns};
    } else if (info.shape.size() > kMostGgufDimensions) {
      const auto merged = static_cast<std::ptrdiff_t>(info.shape.size() - kMostGgufDimensions + 1);
      const auto first =
          *core::CheckedProduct(std::span(info.shape).first(static_cast<std::size_t>(merged)));
      stored.shape.erase(stored.shape.begin(), stored.shape.begin() + merged);
      stored.shape.insert(stored.shape.begin(), first);
    }
    if (stored.shape != info.shape &&
        std::ranges::any_of(info.shape, [](std::uint64_t dim) { return dim > INT32_MAX; })) {
      Fail(info, "has the shape " + words::ShapeText(info.shape) + "; GGUF takes at most " +
                     std::to_string(kMostGgufDimensions) + " dimensions");
    }
    return stored;
  }

  // ------------------------------------------------------------------------------- keys

  void MakeKeys() {
    if (contents_.gguf_keys != nullptr) {
      CopyKeys();
    } else {
      TellArchitecture();
    }
    const bool has_blocks = std::ranges::any_of(
        placement_.tensors, [](const GgufStored& one) { return one.type->values > 1; });
    if (has_blocks && !has_version_) {
      keys_.push_back({nullptr, NumberKey(kQuantizationVersionKey, kQuantizationVersion)});
    }
    for (std::size_t i = 0; i < contents_.tensors.size(); ++i) {
      const TensorInfo& info = contents_.tensors[i];
      if (placement_.tensors[i].shape != info.shape) keys_.push_back({nullptr, ShapeKey(info)});
    }
  }

  void CopyKeys() {
    for (const GgufKey& key : *contents_.gguf_keys) {
      if (key.name == kFileTypeKey) {
        AddFileType(&key);
      } else if (key.name == kAlignmentKey || key.name == kSplitPartKey ||
                 key.name == kSplitPartsKey || key.name == kSplitTensorsKey ||
                 key.name.starts_with(kShapeKey)) {
        continue;
      } else {
        has_version_ |= key.name == kQuantizationVersionKey;
        keys_.push_back({&key});
      }
    }
  }

  void TellArchitecture() {
    const GgufArchitecture found = GgufArchitectureOf(contents_.tensors);
    if (found.name.empty()) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(path_) +
                      ": a .gguf is written from a GGUF file, whose keys it gets, or of a "
                      "diffusion model, and no known one has these tensors' names; write a "
                      ".safetensors, and convert it with llama.cpp's convert_hf_to_gguf.py",
                  path_);
    }
    if (!found.diffusers.empty()) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(path_) + ": " + words::Quoted(std::string(found.diffusers)) +
                      " is a name of diffusers' form of " + std::string(found.name) +
                      ", which no reader of GGUF takes; use the model in its original form",
                  path_);
    }
    keys_.push_back({nullptr, TextKey(kArchitectureKey, found.name)});
    keys_.push_back({nullptr, NumberKey(kQuantizationVersionKey, kQuantizationVersion)});
    has_version_ = true;
    AddFileType(nullptr);
  }

  // By the type of most elements. Of a mixture that was read its own word stays.
  void AddFileType(const GgufKey* read) {
    std::map<std::string_view, std::uint64_t> elements;
    for (std::size_t i = 0; i < contents_.tensors.size(); ++i) {
      elements[placement_.tensors[i].type->name] += contents_.tensors[i].elements;
    }
    const auto most =
        std::max_element(elements.begin(), elements.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == elements.end()) return;
    const auto* const known = std::ranges::find(kFileTypes, most->first, &GgufFileType::type);
    if (known != std::end(kFileTypes)) {
      keys_.push_back({nullptr, NumberKey(kFileTypeKey, known->id)});
    } else if (read != nullptr) {
      keys_.push_back({read});
    }
  }

  // ---------------------------------------------------------------------------- tensors

  std::string Entry(std::size_t i) const {
    const GgufStored& stored = placement_.tensors[i];
    std::string bytes;
    AppendLittle(bytes, contents_.tensors[i].name.size(), 8);
    bytes += contents_.tensors[i].name;
    AppendLittle(bytes, stored.shape.size(), 4);
    std::for_each(stored.shape.rbegin(), stored.shape.rend(),
                  [&](std::uint64_t dim) { AppendLittle(bytes, dim, 8); });
    AppendLittle(bytes, stored.type->id, 4);
    AppendLittle(bytes, stored.offset - Aligned(placement_.header_bytes), 8);
    return bytes;
  }

  const std::string& path_;
  const FileContents& contents_;
  GgufPlacement placement_;
  std::vector<Key> keys_;
  bool has_version_ = false;
};

class GgufWriter final : public TensorWriter {
 public:
  GgufWriter(const std::string& path, const GgufPlacementMaker& maker,
             const GgufPlacement& placement, const FileContents& contents,
             const files::CreateOptions& options)
      : file_(path, placement.file_bytes, options), file_bytes_(placement.file_bytes) {
    maker.WriteHeader(file_);
    offsets_.reserve(placement.tensors.size());
    for (const GgufStored& one : placement.tensors) offsets_.push_back(one.offset);
    notes_ = file_.notes();
    const auto is_long = [](const TensorInfo& info) {
      return info.name.size() > kMostLlamaNameBytes;
    };
    if (const auto n = static_cast<std::uint64_t>(std::ranges::count_if(contents.tensors, is_long));
        n != 0) {
      notes_.push_back(words::PathText(path) + ": " + words::CountText(n, "name") +
                       (n == 1 ? " has" : " have") + " more than " +
                       std::to_string(kMostLlamaNameBytes) +
                       " bytes, which ComfyUI-GGUF reads and llama.cpp's own programs do not (" +
                       words::EscapeName(std::ranges::find_if(contents.tensors, is_long)->name) +
                       (n == 1 ? ")" : ", ...)"));
    }
    if (contents.gguf_keys == nullptr && !contents.metadata.empty()) {
      notes_.push_back(words::PathText(path) +
                       ": the input's metadata is not kept: GGUF's readers look for keys of "
                       "their own");
    }
  }

  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    file_.Write(offsets_.at(tensor) + offset, data);
  }
  std::string temporary() const override { return file_.temporary(); }
  void SyncPart() override { file_.SyncPart(); }
  std::uint64_t file_bytes() const override { return file_bytes_; }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  void DoSync() override { file_.Sync(); }
  void DoCommit() override { file_.Commit(); }

  files::OutputFile file_;
  std::vector<std::uint64_t> offsets_;
  std::uint64_t file_bytes_;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<TensorWriter> CreateGguf(const std::string& path, FileContents contents,
                                         const files::CreateOptions& options) {
  GgufPlacementMaker maker(path, contents);
  const GgufPlacement placement = maker.Make();
  return std::make_unique<GgufWriter>(path, maker, placement, contents, options);
}

bool HasGgufKeys(const std::string& path, const FileContents& contents, const GgufKeys& found) {
  GgufPlacementMaker maker(path, contents);
  maker.Make();
  return maker.HasKeys(found);
}

std::uint64_t MeasureGguf(const std::string& path, const FileContents& contents) {
  return GgufPlacementMaker(path, contents).Make().file_bytes;
}

}  // namespace tensorcast::formats

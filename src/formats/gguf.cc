// Reads GGUF files, whole or in parts ("model-00001-of-00003.gguf", given by any of them): tensors
// of plain types are dense data; those of blocks are given as the bytes that stand in the file.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/formats.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "files/error.h"
#include "files/named_file.h"
#include "files/system.h"
#include "formats/gguf_header.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

// "model-00002-of-00003.gguf", taken apart.
struct GgufPartName {
  std::string stem;                   // with its directory: ".../model"
  std::uint64_t part = 0, parts = 0;  // the first part is 1

  std::string Of(std::uint64_t number) const {
    return stem + "-" + Digits(number) + "-of-" + Digits(parts) + ".gguf";
  }
  static std::string Digits(std::uint64_t number) {
    const std::string digits = std::to_string(number);
    return std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
  }
  static constexpr std::size_t kDigits = 5;
};

std::optional<GgufPartName> PartNameOf(std::string_view path) {
  constexpr std::string_view kForm = "-00000-of-00000.gguf";
  if (path.size() <= files::NameBegin(path) + kForm.size()) return std::nullopt;
  const std::string_view end = path.substr(path.size() - kForm.size());
  GgufPartName name = {std::string(path.substr(0, path.size() - kForm.size()))};
  const auto read = [&](std::size_t at, std::uint64_t& number) {
    const char* const last = end.data() + at + GgufPartName::kDigits;
    const auto [stop, error] = std::from_chars(end.data() + at, last, number);
    return error == std::errc() && stop == last;
  };
  constexpr std::size_t kPart = 1, kParts = 10;  // where the numbers begin
  if (!read(kPart, name.part) || !read(kParts, name.parts)) return std::nullopt;
  if (name.part == 0 || name.part > name.parts || name.Of(name.part) != path) return std::nullopt;
  return name;
}

// Architectures whose q and k llama.cpp's converter permutes, as Llama's.
constexpr std::string_view kPermuted[] = {
    "arcee",    "arctic",   "baichuan",      "bailingmoe", "chameleon", "deci",
    "deepseek", "granite",  "granitehybrid", "granitemoe", "internlm2", "llama",
    "minicpm",  "mistral3", "nanbeige",      "olmo",       "smollm3",   "xverse",
};

class GgufReader final : public TensorReader {
 public:
  explicit GgufReader(std::unique_ptr<files::ByteSource> source) {
    GgufHeader header = ReadGgufHeader(*source);
    const std::optional<GgufPartName> name = PartNameOf(source->path());
    const std::uint64_t parts = header.split.parts.value_or(1);
    if (parts > 1) {
      AddParts(std::move(source), header, name);
    } else {
      if (name && name->parts > 1) {
        notes_.push_back(words::PathText(source->path()) + ": is named as part " +
                         std::to_string(name->part) + " of " + std::to_string(name->parts) +
                         ", but has no key split.count that says so; it is read alone");
      }
      Add(std::move(source), std::move(header));
    }
    contents_.gguf_keys = std::make_shared<const GgufKeys>(std::move(keys_));
    CheckNames();
    NoteKeys();
    NotePermutation();
  }

  const FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    sources_[contents_.tensors.at(tensor).shard]->Read(offsets_[tensor] + offset, out);
  }
  std::shared_ptr<std::byte> Map(std::size_t tensor) const override {
    const TensorInfo& info = contents_.tensors.at(tensor);
    return sources_[info.shard]->Map(offsets_[tensor], info.bytes);
  }
  std::uint64_t file_bytes() const override {
    std::uint64_t bytes = 0;
    for (const auto& source : sources_) bytes += source->size();
    return bytes;
  }
  void CheckUnchanged() const override {
    for (const auto& source : sources_) source->CheckUnchanged();
  }
  std::vector<std::string> external_paths() const override { return other_parts_; }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  // All parts, of which one has been opened.
  void AddParts(std::unique_ptr<files::ByteSource> opened, const GgufHeader& header,
                const std::optional<GgufPartName>& name) {
    const std::string path = opened->path();
    const std::uint64_t parts = *header.split.parts;
    if (!name || name->parts != parts) {
      files::FailFile(*opened, "is one of " + std::to_string(parts) +
                                   " parts (split.count), but is not named as one "
                                   "(NAME-00001-of-" +
                                   GgufPartName::Digits(parts) +
                                   ".gguf), by which the others are found");
    }
    path_ = path;
    CheckPart(*opened, header.split, *name, name->part);
    const std::optional<std::uint64_t> tensors = header.split.tensors;
    const std::string directory = path.substr(0, files::NameBegin(path));
    const files::Enclosure enclosure =
        files::EnclosureOfCheckpoint(directory.empty() ? "." : directory);
    for (std::uint64_t part = 1; part <= parts; ++part) {
      if (part == name->part) {
        Add(std::move(opened), header);
        continue;
      }
      const std::string other = name->Of(part);
      if (!files::IsFile(other)) {
        throw Error(ErrorKind::kContents,
                    words::PathText(path) + ": is part " + std::to_string(name->part) + " of " +
                        std::to_string(parts) + ", and part " + std::to_string(part) +
                        " is missing: " + words::PathText(other) + "; fetch it too",
                    path);
      }
      std::unique_ptr<files::ByteSource> source =
          files::OpenNamedFile(other, enclosure, sources_.size());
      GgufHeader found = ReadGgufHeader(*source);
      CheckPart(*source, found.split, *name, part);
      other_parts_.push_back(other);
      Add(std::move(source), std::move(found));
    }
    if (tensors && *tensors != contents_.tensors.size()) {
      throw Error(ErrorKind::kContents,
                  words::PathText(path) + ": its " + std::to_string(parts) + " parts have " +
                      words::CountText(contents_.tensors.size(), "tensor") +
                      ", but split.tensors.count says " + std::to_string(*tensors),
                  path);
    }
  }

  static void CheckPart(const files::ByteSource& source, const GgufSplit& split,
                        const GgufPartName& name, std::uint64_t part) {
    const auto check = [&](std::string_view key, std::optional<std::uint64_t> found,
                           std::uint64_t expected) {
      if (found == expected) return;
      files::FailFile(source, "is named as part " + std::to_string(part) + " of " +
                                  std::to_string(name.parts) + ", but its key " + std::string(key) +
                                  (found ? " is " + std::to_string(*found) : " is missing") +
                                  "; expected " + std::to_string(expected));
    };
    check("split.count", split.parts, name.parts);
    check("split.no", split.part, part - 1);
  }

  void Add(std::unique_ptr<files::ByteSource> source, GgufHeader header) {
    const auto shard = static_cast<std::uint32_t>(sources_.size());
    for (TensorInfo& info : header.contents.tensors) info.shard = shard;
    if (path_.empty()) path_ = source->path();
    sources_.push_back(std::move(source));
    offsets_.insert(offsets_.end(), header.offsets.begin(), header.offsets.end());
    std::move(header.contents.tensors.begin(), header.contents.tensors.end(),
              std::back_inserter(contents_.tensors));
    // The first part has the model's keys.
    contents_.metadata.merge(header.contents.metadata);
    contents_.shown_metadata.merge(header.contents.shown_metadata);
    if (sources_.size() == 1) keys_ = std::move(header.keys);
  }

  // A name stands in one part alone; each part was looked at when it was read.
  void CheckNames() const {
    if (sources_.size() == 1) return;
    std::unordered_set<std::string_view> names;
    for (const TensorInfo& info : contents_.tensors) {
      if (names.insert(info.name).second) continue;
      throw Error(ErrorKind::kContents,
                  words::PathText(path_) + ": tensor " + words::Quoted(info.name) +
                      " is in two of its parts",
                  path_);
    }
  }

  void NoteKeys() {
    std::vector<std::string> arrays;
    for (const auto& [key, value] : contents_.shown_metadata) {
      if (value.starts_with('[')) arrays.push_back(key);
    }
    if (arrays.empty()) return;
    notes_.push_back(words::PathText(path_) + ": " + words::CountText(arrays.size(), "long array") +
                     " of its keys (" + words::EscapeName(arrays.front()) +
                     (arrays.size() > 1 ? " ...) are" : ") is") + " carried only to .gguf files");
  }

  void NotePermutation() {
    const auto architecture = contents_.metadata.find("general.architecture");
    if (architecture == contents_.metadata.end() ||
        std::find(std::begin(kPermuted), std::end(kPermuted), architecture->second) ==
            std::end(kPermuted)) {
      return;
    }
    const bool has_any =
        std::any_of(contents_.tensors.begin(), contents_.tensors.end(), [](const auto& info) {
          return info.name.ends_with(".attn_q.weight") || info.name.ends_with(".attn_k.weight");
        });
    if (!has_any) return;
    notes_.push_back(words::PathText(path_) +
                     ": tensors have GGUF's names, and rows of attn_q and attn_k stand as "
                     "llama.cpp permutes them for " +
                     architecture->second + ": other programs use another order");
  }

  std::string path_;                                         // the one that was given
  std::vector<std::unique_ptr<files::ByteSource>> sources_;  // by TensorInfo::shard
  std::vector<std::string> other_parts_;
  std::vector<std::uint64_t> offsets_;
  FileContents contents_;
  GgufKeys keys_;  // until the contents have them
  std::vector<std::string> notes_;
};

}  // namespace

bool LooksLikeGguf(std::span<const std::byte> head) {
  return head.size() >= kGgufMagic.size() &&
         std::equal(kGgufMagic.begin(), kGgufMagic.end(), head.begin(),
                    [](char c, std::byte byte) { return std::byte(c) == byte; });
}

OpenedTensors OpenGguf(std::unique_ptr<files::ByteSource> source, const OpenOptions&) {
  return {std::make_unique<GgufReader>(std::move(source))};
}

}  // namespace tensorcast::formats

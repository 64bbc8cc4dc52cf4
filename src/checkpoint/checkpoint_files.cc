// Chooses among the names in a directory; opens nothing but the index.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_files.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "checkpoint/checkpoint.h"
#include "files/named_file.h"
#include "files/system_directory.h"
#include "formats/tensor_file.h"

namespace tensorcast::checkpoint {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::string_view kIndexMark = ".safetensors.index";
constexpr std::string_view kJson = ".json";
constexpr std::string_view kUsualIndex = "model.safetensors.index.json";
constexpr std::string_view kTorchPrefix = "pytorch_";
constexpr std::string_view kTorchFile = "pytorch_model.bin";
constexpr std::string_view kDiffusersStem = "diffusion_pytorch_model";
constexpr std::string_view kDiffusersTorchFile = "diffusion_pytorch_model.bin";
constexpr std::string_view kTorchIndex = "pytorch_model.bin.index.json";
constexpr std::string_view kTorchStem = "pytorch_model";
constexpr std::string_view kTorchEndings[] = {kTorchEnding, ".pt", ".pth"};
constexpr std::string_view kGgufEnding = ".gguf";
constexpr std::size_t kMostFilesRead = 10'000;

// "BASE-00002-of-00003.safetensors".
struct Numbered {
  std::string base;
  std::uint64_t number = 0;
  std::uint64_t count = 0;
};

// Takes digits, at most nine, from the end of `text`.
std::optional<std::uint64_t> TakeNumber(std::string_view& text) {
  constexpr std::size_t kMostDigits = 9;
  std::uint64_t value = 0, unit = 1;
  std::size_t digits = 0;
  for (; !text.empty() && text.back() >= '0' && text.back() <= '9' && digits < kMostDigits;
       ++digits, unit *= 10) {
    value += unit * static_cast<std::uint64_t>(text.back() - '0');
    text.remove_suffix(1);
  }
  if (digits == 0) return std::nullopt;
  return value;
}

bool TakeEnding(std::string_view& text, std::string_view ending) {
  if (!text.ends_with(ending)) return false;
  text.remove_suffix(ending.size());
  return true;
}

std::optional<Numbered> ParseNumbered(std::string_view name,
                                      std::string_view ending = kSafetensorsEnding) {
  if (!TakeEnding(name, ending)) return std::nullopt;
  const std::optional<std::uint64_t> count = TakeNumber(name);
  if (!count || !TakeEnding(name, "-of-")) return std::nullopt;
  const std::optional<std::uint64_t> number = TakeNumber(name);
  if (!number || !TakeEnding(name, "-") || name.empty()) return std::nullopt;
  return Numbered{std::string(name), *number, *count};
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + words::PathText(names[i]);
  }
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

// Leaves diffusers' files of a variant, "diffusion_pytorch_model.fp16.safetensors", where there are
// the usual ones. `base_of` of a name is its checkpoint's.
template <class BaseOf> void EraseVariants(std::vector<std::string>& names, const BaseOf& base_of) {
  const auto is_usual = [&](const std::string& name) { return base_of(name) == kDiffusersStem; };
  if (std::ranges::none_of(names, is_usual)) return;
  std::erase_if(names, [&](const std::string& name) {
    return base_of(name).starts_with(std::string(kDiffusersStem) + '.');
  });
}

class Chooser {
 public:
  Chooser(const std::string& directory, const files::Enclosure& enclosure)
      : directory_(directory), enclosure_(enclosure), entries_(files::ListDirectory(directory)) {}

  CheckpointFiles Choose() {
    std::vector<std::string> indexes;
    for (const files::DirectoryEntry& entry : entries_) {
      if (entry.name.ends_with(kSafetensorsEnding) &&
          entry.kind != files::DirectoryEntry::Kind::kDirectory) {
        files_.push_back(entry.name);
      }
      if (IsIndexName(entry.name)) indexes.push_back(entry.name);
    }
    EraseVariants(indexes, [](std::string_view name) {
      const std::size_t mark = name.find(kIndexMark);
      const std::size_t end = mark + kIndexMark.size();
      // "model.safetensors.index.fp16.json", too, is of the base "model.fp16".
      return std::string(name.substr(0, mark)) +
             std::string(name.substr(end, name.size() - end - kJson.size()));
    });
    const bool has_usual_file = Has(std::string(kUsualFile));
    if (std::find(indexes.begin(), indexes.end(), kUsualIndex) != indexes.end()) {
      indexes = {std::string(kUsualIndex)};
    }
    if (indexes.size() == 1) {
      ByIndex(indexes.front());
    } else if (indexes.size() > 1 && !has_usual_file) {
      Fail(ErrorKind::kContents, "has " + std::to_string(indexes.size()) + " indexes, " +
                                     Listed(indexes) +
                                     ": more than one checkpoint; leave one of them there");
    } else if (has_usual_file) {
      chosen_.shards = {std::string(kUsualFile)};
    } else if (files_.empty()) {
      ChooseTorch();
    } else {
      ByNumbers(kSafetensorsEnding);
    }
    SayOthers();
    return std::move(chosen_);
  }

 private:
  [[noreturn]] void Fail(ErrorKind kind, const std::string& why) const {
    throw Error(kind, words::PathText(directory_) + ": " + why, directory_);
  }
  bool Has(const std::string& file) const {
    return std::binary_search(files_.begin(), files_.end(), file);
  }

  // Where there is no .safetensors file.
  void ChooseTorch() {
    bool has_index = false;
    for (const files::DirectoryEntry& entry : entries_) {
      if (entry.kind == files::DirectoryEntry::Kind::kDirectory) continue;
      if (entry.name == kTorchIndex) has_index = true;
      if (entry.name.ends_with(kTorchEnding)) files_.push_back(entry.name);
    }
    chosen_.is_torch = true;
    if (has_index) {
      ByIndex(std::string(kTorchIndex));
    } else if (Has(std::string(kTorchFile))) {
      chosen_.shards = {std::string(kTorchFile)};
    } else if (Has(std::string(kDiffusersTorchFile))) {
      chosen_.shards = {std::string(kDiffusersTorchFile)};
    } else if (!ChooseNumberedTorch()) {
      ChooseGguf();
      return;
    }
    // What else ends so is no part of a checkpoint: training_args.bin, optimizer.bin.
    std::erase_if(
        files_, [](const std::string& file) { return file.find(kTorchStem) == std::string::npos; });
  }

  // Gives whether there are any.
  bool ChooseNumberedTorch() {
    for (const std::string_view ending : kTorchEndings) {
      files_ = FilesOf(ending);
      std::erase_if(files_, [&](const std::string& file) { return !ParseNumbered(file, ending); });
      if (files_.empty()) continue;
      ByNumbers(ending);
      return true;
    }
    return false;
  }

  // One file, or one set of parts, of which the first stands for all.
  void ChooseGguf() {
    chosen_.is_torch = false;
    chosen_.is_gguf = true;
    const std::vector<std::string> found = FilesOf(kGgufEnding);
    files_.clear();
    if (found.empty()) FailWithout();
    std::set<std::pair<std::string, std::uint64_t>> sets;
    for (const std::string& file : found) {
      const std::optional<Numbered> part = ParseNumbered(file, kGgufEnding);
      sets.emplace(part ? part->base : file, part ? part->count : 0);
    }
    if (sets.size() > 1) {
      Fail(ErrorKind::kUnsupported,
           "has .gguf files of more than one model: " + Listed(found) + "; name one");
    }
    chosen_.shards = {found.front()};
  }

  std::vector<std::string> FilesOf(std::string_view ending) const {
    std::vector<std::string> found;
    for (const files::DirectoryEntry& entry : entries_) {
      if (entry.kind != files::DirectoryEntry::Kind::kDirectory && entry.name.ends_with(ending)) {
        found.push_back(entry.name);
      }
    }
    return found;
  }

  void ByIndex(const std::string& index) {
    const std::string path = files::Joined(directory_, index);
    const auto fail = [&](const std::string& why) {
      throw Error(ErrorKind::kContents, words::PathText(path) + ": " + why, path);
    };
    const std::string ending(chosen_.is_torch ? kTorchEnding : kSafetensorsEnding);
    const std::string one(chosen_.is_torch ? kTorchFile : kUsualFile);
    std::set<std::string, std::less<>> named;
    ReadIndex(*files::OpenNamedFile(path, enclosure_, 0),
              "it says which files hold the checkpoint: mend it",
              [&](std::string_view tensor, std::string_view file) {
                if (named.find(file) != named.end()) return;
                const std::string of = " of tensor " + words::Quoted(tensor);
                // Files below the directory are no part of this, and paths lead elsewhere.
                if (file.empty() || file == "." || file == ".." ||
                    file.find('/') != std::string_view::npos ||
                    file.find('\0') != std::string_view::npos) {
                  fail("gives " + words::Quoted(file) + " as the file" + of +
                       "; a shard is a file in the index's own directory, which this name is not");
                }
                if (!Has(std::string(file))) {
                  fail("names " + words::Quoted(file) + " as the file" + of +
                       (file.ends_with(ending) ? ", which is not there; fetch that file too"
                                               : "; only " + ending + " files are read"));
                }
                if (named.size() == kMostFilesRead) {
                  fail("names more than " + std::to_string(kMostFilesRead) + " files");
                }
                named.emplace(file);
              });
    if (named.empty()) fail("names no file");
    if (Has(one) && (index == kUsualIndex || index == kTorchIndex) &&
        named.find(one) == named.end()) {
      Fail(ErrorKind::kContents, "has " + one + " and " + index +
                                     ", which does not name it: two checkpoints; leave one of "
                                     "them there");
    }
    chosen_.index = index;
    chosen_.shards.assign(named.begin(), named.end());
  }

  // Without an index: one file, a numbered set, or files that have nothing to do with each other.
  void ByNumbers(std::string_view ending) {
    std::vector<std::string> files = files_;
    EraseVariants(files, [&](std::string_view name) {
      if (const std::optional<Numbered> parts = ParseNumbered(name, ending)) return parts->base;
      TakeEnding(name, ending);
      return std::string(name);
    });
    std::map<std::pair<std::string, std::uint64_t>, std::set<std::uint64_t>> sets;
    std::size_t numbered = 0;
    for (const std::string& file : files) {
      const std::optional<Numbered> parts = ParseNumbered(file, ending);
      if (!parts) continue;
      sets[{parts->base, parts->count}].insert(parts->number);
      ++numbered;
    }
    if (sets.size() > 1 || (numbered != 0 && numbered != files.size())) {
      Fail(ErrorKind::kContents, "has no index, and has files of more than one checkpoint: " +
                                     Listed(files) + "; name one file, or leave one set there");
    }
    for (const auto& [set, numbers] : sets) {
      for (std::uint64_t i = 1; i <= std::min<std::uint64_t>(set.second, kMostFilesRead); ++i) {
        if (numbers.contains(i)) continue;
        Fail(ErrorKind::kContents, "has no file " + std::to_string(i) + " of " +
                                       std::to_string(set.second) + ", as " + files.front() +
                                       " is numbered; fetch that file too");
      }
    }
    if (files.size() > kMostFilesRead) {
      Fail(ErrorKind::kUnsupported, "has " + std::to_string(files.size()) + " " +
                                        std::string(ending) + " files; at most " +
                                        std::to_string(kMostFilesRead) + " are read");
    }
    chosen_.shards = files;
    if (files.size() > 1) {
      chosen_.notes.push_back(words::PathText(directory_) + ": has no index: its " +
                              std::to_string(files.size()) + " " + std::string(ending) +
                              " files are read as one checkpoint");
    }
  }

  void SayOthers() {
    std::vector<std::string> others;
    std::set_difference(files_.begin(), files_.end(), chosen_.shards.begin(), chosen_.shards.end(),
                        std::back_inserter(others));
    if (others.empty()) return;
    chosen_.notes.push_back(words::PathText(directory_) + ": is read from " +
                            (chosen_.index.empty() ? chosen_.shards.front() : chosen_.index) +
                            "; not from " + Listed(others));
  }

  [[noreturn]] void FailWithout() const {
    std::string below;
    for (const files::DirectoryEntry& entry : entries_) {
      if (entry.kind != files::DirectoryEntry::Kind::kDirectory || !below.empty()) continue;
      try {
        for (const files::DirectoryEntry& inner :
             files::ListDirectory(files::Joined(directory_, entry.name))) {
          if (inner.name.ends_with(kSafetensorsEnding)) below = entry.name;
        }
      } catch (const Error&) {
        continue;  // what cannot be read holds nothing to name
      }
    }
    if (!below.empty()) {
      Fail(ErrorKind::kUnsupported, "has no .safetensors file, but its directory " +
                                        words::PathText(below) + " has; name that one");
    }
    const auto is_llamas = [](const files::DirectoryEntry& entry) {
      return entry.name.starts_with("consolidated.") && entry.name.ends_with(".pth");
    };
    if (std::ranges::count_if(entries_, is_llamas) > 1) {
      Fail(ErrorKind::kUnsupported,
           "has its tensors in " + std::to_string(std::ranges::count_if(entries_, is_llamas)) +
               " files consolidated.*.pth, each of which has some rows or columns of every matrix; "
               "join them with transformers' convert_llama_weights_to_hf.py");
    }
    for (const files::DirectoryEntry& entry : entries_) {
      if (entry.kind == files::DirectoryEntry::Kind::kDirectory || !IsWeightsName(entry.name))
        continue;
      const std::vector<std::string_view> endings = formats::FormatEndings();
      const bool is_read = std::any_of(
          endings.begin(), endings.end(),
          [&](std::string_view ending) { return formats::HasEnding(entry.name, ending); });
      Fail(ErrorKind::kUnsupported,
           "has no .safetensors file, but " + words::PathText(entry.name) +
               (is_read ? "; name that file"
                        : ", which is not read; have transformers save the model as safetensors "
                          "(save_pretrained) first"));
    }
    Fail(ErrorKind::kUnsupported,
         "has no .safetensors file; name one of its files, or a directory "
         "that Hugging Face's libraries wrote");
  }

  const std::string& directory_;
  const files::Enclosure& enclosure_;
  std::vector<files::DirectoryEntry> entries_;
  std::vector<std::string> files_;  // those of the format that is read, by name
  CheckpointFiles chosen_;
};

}  // namespace

CheckpointFiles FindCheckpointFiles(const std::string& directory,
                                    const files::Enclosure& enclosure) {
  return Chooser(directory, enclosure).Choose();
}

std::string BaseOfShard(std::string_view name) {
  if (const std::optional<Numbered> numbered = ParseNumbered(name)) return numbered->base;
  TakeEnding(name, kSafetensorsEnding);
  return std::string(name);
}

std::string ShardName(std::string_view base, std::size_t number, std::size_t count) {
  const auto padded = [](std::size_t n) {
    constexpr std::size_t kDigits = 5;
    std::string text = std::to_string(n);
    return std::string(kDigits - std::min(kDigits, text.size()), '0') + text;
  };
  std::string name(base);
  if (count > 1) name += '-' + padded(number) + "-of-" + padded(count);
  return name.append(kSafetensorsEnding);
}

std::string IndexName(std::string_view base) {
  const std::size_t dot = std::min(base.rfind('.'), base.size());
  return std::string(base.substr(0, dot)).append(kIndexMark).append(base.substr(dot)).append(kJson);
}

std::string WrittenName(std::string_view torch_name) {
  if (torch_name.starts_with(kTorchPrefix)) torch_name.remove_prefix(kTorchPrefix.size());
  std::string name(torch_name);
  const std::size_t ending = torch_name.find(".bin.index");
  const std::size_t begin = std::min(ending, torch_name.rfind('.'));
  const std::string_view rest =
      ending == std::string_view::npos ? std::string_view() : torch_name.substr(ending + 4);
  return name.substr(0, begin).append(kSafetensorsEnding).append(rest);
}

bool IsIndexName(std::string_view name) {
  const std::size_t mark = name.find(kIndexMark);
  return mark != std::string_view::npos && mark > 0 && name.ends_with(kJson) &&
         (mark + kIndexMark.size() + kJson.size() == name.size() ||
          name[mark + kIndexMark.size()] == '.');
}

bool IsWeightsName(std::string_view name) {
  constexpr std::string_view kEndings[] = {
      kSafetensorsEnding, ".bin",  ".pt",        ".pth", ".ckpt", ".gguf", ".h5",
      ".msgpack",         ".onnx", ".onnx_data", ".ot",  ".npz"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return formats::HasEnding(name, ending); });
}

}  // namespace tensorcast::checkpoint

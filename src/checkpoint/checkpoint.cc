// Reads the two JSON files by their events: of neither is more kept than the names at hand.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_files.h"
#include "files/named_file.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "formats/tensor_file.h"
#include "json/ordered_json.h"

namespace tensorcast::checkpoint {

using core::ErrorKind;
using files::Error;
namespace {

using Json = nlohmann::json;

// The directory of a file with its slash: "a/b" gives "a/", "b" gives ""; that of a directory is
// its own.
std::string DirectoryOf(const std::string& path) {
  if (files::IsDirectory(path)) return files::Joined(path, "");
  return path.substr(0, files::NameBegin(path));
}

// "model-00001-of-00002" without what numbers it.
std::string_view WithoutNumber(std::string_view name) {
  const auto strip = [&](std::string_view before) {
    std::size_t end = name.size();
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
    if (end == name.size() || !name.substr(0, end).ends_with(before)) return false;
    name = name.substr(0, end - before.size());
    return true;
  };
  const std::string_view whole = name;
  return strip("-of-") && strip("-") ? name : whole;
}

// The result is empty if there is none.
std::string IndexPath(const std::string& path) {
  if (files::IsDirectory(path)) return {};
  const std::string directory = DirectoryOf(path);
  std::string_view name = std::string_view(path).substr(directory.size());
  if (formats::HasEnding(name, kTorchEnding)) {
    name.remove_suffix(kTorchEnding.size());
    const std::string index =
        directory + std::string(WithoutNumber(name)).append(kTorchEnding) + ".index.json";
    return files::IsFile(index) ? index : std::string();
  }
  if (!formats::HasEnding(name, kSafetensorsEnding)) return {};
  name.remove_suffix(kSafetensorsEnding.size());
  const std::string stem(WithoutNumber(name));
  // The index of the variant "model.fp8" is "model.safetensors.index.fp8.json" to transformers.
  const std::size_t dot = std::min(stem.rfind('.'), stem.size());
  const std::string variant = dot < stem.size()
                                  ? stem.substr(0, dot) + std::string(kSafetensorsEnding) +
                                        ".index" + stem.substr(dot) + ".json"
                                  : std::string();
  for (const std::string& index :
       {stem + ".safetensors.index.json", variant, std::string("model.safetensors.index.json")}) {
    if (!index.empty() && files::IsFile(directory + index)) return directory + index;
  }
  return {};
}

// Takes the members of "weight_map" as the parser comes by them.
class IndexHandler final : public nlohmann::json_sax<Json> {
 public:
  explicit IndexHandler(const std::function<void(std::string_view, std::string_view)>& take)
      : take_(take) {}

  bool has_map() const { return has_map_; }
  const std::string& wrong() const { return wrong_; }  // what of the map is no string
  std::size_t position() const { return position_; }   // of a parse error, from 1 on

  bool null() override { return Value(nullptr); }
  bool boolean(bool) override { return Value(nullptr); }
  bool number_integer(std::int64_t) override { return Value(nullptr); }
  bool number_unsigned(std::uint64_t) override { return Value(nullptr); }
  bool number_float(double, const std::string&) override { return Value(nullptr); }
  bool binary(Json::binary_t&) override { return Value(nullptr); }
  bool string(std::string& text) override { return Value(&text); }
  bool start_object(std::size_t) override { return Open(true); }
  bool start_array(std::size_t) override { return Open(false); }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool end_array() override { return end_object(); }
  bool key(std::string& name) override {
    if (depth_ == 1) top_ = name;
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    position_ = position;
    return false;
  }

 private:
  bool InMap() const { return depth_ == 2 && top_ == "weight_map"; }
  // A value that is neither object nor array; `text` if it is a string. False ends the parsing.
  bool Value(const std::string* text) {
    if (!InMap()) return true;
    if (text == nullptr) return Refuse();
    take_(key_, *text);
    return true;
  }
  bool Open(bool is_object) {
    if (depth_ == 1 && top_ == "weight_map") has_map_ = is_object;
    const bool goes_on = InMap() ? Refuse() : true;
    ++depth_;
    return goes_on;
  }
  bool Refuse() {
    wrong_ = key_;
    has_map_ = false;
    return false;
  }

  const std::function<void(std::string_view, std::string_view)>& take_;
  int depth_ = 0;  // 1: in the top object
  std::size_t position_ = 0;
  std::string top_;  // the key in the top object
  std::string key_;  // the last one
  bool has_map_ = false;
  std::string wrong_;
};

}  // namespace

std::string ReadText(const files::ByteSource& source, std::uint64_t most) {
  if (source.size() > most) {
    throw Error(ErrorKind::kContents,
                words::PathText(source.path()) + ": has " + std::to_string(source.size()) +
                    " bytes; at most " + std::to_string(most) + " are read",
                source.path());
  }
  std::string text(static_cast<std::size_t>(source.size()), '\0');
  source.Read(0, std::as_writable_bytes(std::span(text)));
  source.CheckUnchanged();
  return text;
}

void ReadIndex(const files::ByteSource& index, const std::string& advice,
               const std::function<void(std::string_view tensor, std::string_view file)>& take) {
  const std::string text = ReadText(index, kMostIndexBytes);
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kContents, words::PathText(index.path()) + ": " + why + "; " + advice,
                index.path());
  };
  IndexHandler handler(take);
  // The parser takes a NUL for the end of its input; no JSON holds one.
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos) {
    fail("is not JSON: a NUL byte at offset " + std::to_string(nul));
  }
  if (!Json::sax_parse(text, &handler)) {
    if (handler.position() == 0) {
      fail("gives " + words::Quoted(handler.wrong()) +
           " a value in \"weight_map\" that is not a file name");
    }
    fail("is not JSON at offset " + std::to_string(handler.position() - 1));
  }
  if (!handler.has_map()) fail("has no object \"weight_map\"");
}

void ForEachInIndex(
    const std::string& path,
    const std::function<void(std::string_view tensor, std::string_view file)>& take) {
  const std::string index = IndexPath(path);
  if (index.empty()) return;
  ReadIndex(
      *files::OpenFile(index),
      "it says where the scales of " + words::PathText(path) + " are: mend it, or move it away",
      take);
}

bool IsQuantisationKey(std::string_view key) {
  constexpr std::array<std::string_view, 3> kKeys = {"quantization_config", "compression_config",
                                                     "quantization"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

}  // namespace tensorcast::checkpoint

// DeepSeek: float8 weights with a float32 scale for each block of 128 x 128, under "_scale_inv";
// transformers' FineGrainedFP8Config. V4 keeps scales as powers of two, under ".scale".
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/layer_lists.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;

constexpr Layout kDeepSeekLayouts[] = {
    {"", "", "_scale_inv"},
    {.codes = "", .plain = "", .scale = "_scale_inv", .scale_type = ScaleType::kE8M0},
};
constexpr Layout V4Layout(std::string_view weight, ScaleType scales, std::string_view writer) {
  return {
      .codes = weight, .plain = weight, .scale = ".scale", .scale_type = scales, .writer = writer};
}
constexpr Layout kDeepSeekV4Layouts[] = {
    V4Layout(".weight", ScaleType::kFloat, "DeepSeek"),
    V4Layout(".weight", ScaleType::kE8M0, {}),
    V4Layout("", ScaleType::kFloat, "DeepSeek"),
    V4Layout("", ScaleType::kE8M0, {}),
    {.codes = ".weight",
     .plain = ".weight",
     .scale = ".scale",
     .storage = Storage::kPackedBytes,
     .element = DataType::kFloat4E2M1,
     .scale_type = ScaleType::kE8M0,
     .group = 32},
};

constexpr WrittenLayout kDeepSeekWritten[] = {{"fp8-block", "", "_scale_inv"}};

constexpr std::string_view kFp8Methods[] = {"fp8"};

WrittenConfig WriteFp8(const QuantisedModules& modules) {
  const ScaledFormat& format = *modules.written.front().form.format;
  Json json = Json::object();
  json["quant_method"] = "fp8";
  json["fmt"] = "e4m3";
  json["activation_scheme"] = "dynamic";
  json["weight_block_size"] = {format.block_rows, format.block_columns};
  json[kNotConverted] = IgnoredModules(LayerNames::kParts, modules);
  return {.quantization_config = ConfigText(json)};
}

// Those of `names` that stand somewhere in one of the modules. They are looked up by their lengths,
// which are few: there may be as many names as modules.
std::unordered_set<std::string_view> NamesIn(const std::vector<std::string>& modules,
                                             std::span<const std::string> names) {
  std::map<std::size_t, std::unordered_set<std::string_view>> by_length;
  for (const std::string& name : names) by_length[name.size()].insert(name);
  std::unordered_set<std::string_view> found;
  for (const std::string_view module : modules) {
    for (const auto& [length, some] : by_length) {
      for (std::size_t begin = 0; begin + length <= module.size(); ++begin) {
        const auto name = some.find(module.substr(begin, length));
        if (name != some.end()) found.insert(*name);
      }
    }
  }
  return found;
}

// It says the size of all blocks; a layer is scaled unless its name is in the list. What of the old
// list may match a layer that is scaled now goes: all plain layers are named.
std::optional<WrittenConfig> JoinFp8(const QuantisedModules& modules,
                                     const QuantizationConfig& config, std::string*) {
  const ScaledFormat& format = *modules.written.front().form.format;
  const auto& schemes = config.schemes;
  Json json = *config.json;
  if (schemes.size() != 1 || schemes.front().block_rows != format.block_rows ||
      schemes.front().block_columns != format.block_columns ||
      json.value("activation_scheme", Json("dynamic")) != "dynamic") {
    return std::nullopt;
  }
  std::vector<std::string> entries;
  for (std::string& name : Texts(Member(json, kNotConverted))) {
    if (name.find_first_of("*+?[](){}|\\^$") == std::string::npos) {
      entries.push_back(std::move(name));
    }
  }
  const auto matching = NamesIn(modules.written.front().modules, entries);
  Json list = Json::array();
  for (const std::string& name : entries) {
    if (!matching.contains(name)) list.push_back(name);
  }
  AddNames(list, IgnoredModules(LayerNames::kParts, modules));
  json[kNotConverted] = std::move(list);
  return WrittenConfig{.quantization_config = ConfigText(json)};
}

constexpr ReaderNote kDeepSeekNotes[] = {
    {"stacked weight",
     "transformers takes experts in fp8 for [experts, outputs, inputs], and these are [experts, "
     "inputs, outputs]",
     [](const MadeWeight& one) { return one.is_transposed; }},
    kRaggedBlocksNote,
};

}  // namespace

extern const Dialect kDeepSeek;
constinit const Dialect kDeepSeek = {
    .name = "DeepSeek",
    .layouts = kDeepSeekLayouts,
    .methods = kFp8Methods,
    .read_config = ReadFp8,
    .exceptions = kNotConvertedLists,
    .layer_names = LayerNames::kParts,
    .layout = "deepseek",
    .written = kDeepSeekWritten,
    .write_config = WriteFp8,
    .edit_config = AddNotConverted,
    .join_config = JoinFp8,
    .reader_notes = kDeepSeekNotes,
    .is_read_by_transformers = true,
    .reads_conv1d = true,
};

extern const Dialect kDeepSeekV4;
constinit const Dialect kDeepSeekV4 = {.name = "DeepSeek V4", .layouts = kDeepSeekV4Layouts};

}  // namespace tensorcast::scale

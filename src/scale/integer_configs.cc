// Each as its library writes it.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/integer_configs.h"

#include <algorithm>

#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/layer_lists.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;

const WrittenGroup& MostOf(const QuantisedModules& modules) {
  return *std::ranges::max_element(
      modules.written, {}, [](const WrittenGroup& group) { return group.modules.size(); });
}

// -1: a group is a row.
Json GroupSize(const IntegerForm& form) {
  return form.group == 0 ? Json(-1) : Json(form.group);
}

}  // namespace

std::string GptqPattern(std::string_view mark, std::string_view module) {
  std::string pattern = std::string(mark) + "^";
  for (const char c : module) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "$";
}

WrittenConfig WriteGptqIntegers(const QuantisedModules& modules) {
  const WrittenGroup& most = MostOf(modules);
  const IntegerForm& usual = most.form.integers;
  // Of zero points that are written as they are this says no more than what was asked for once.
  const bool is_symmetric = std::ranges::all_of(
      modules.written, [](const WrittenGroup& one) { return one.form.integers.is_symmetric; });
  const bool has_order = std::ranges::any_of(
      modules.written, [](const WrittenGroup& one) { return one.form.integers.has_order; });
  Json json = Json::object();
  json["quant_method"] = "gptq";
  json["checkpoint_format"] = "gptq_v2";
  json["bits"] = usual.bits;
  json["group_size"] = GroupSize(usual);
  json["desc_act"] = has_order;
  json["sym"] = is_symmetric;
  json["lm_head"] = false;
  json["pack_dtype"] = "int32";
  Json dynamic = Json::object();
  for (const WrittenGroup& group : modules.written) {
    const IntegerForm& form = group.form.integers;
    for (const std::string& module : group.modules) {
      if (module == "lm_head") json["lm_head"] = true;
      if (form.bits == usual.bits && form.group == usual.group) continue;
      dynamic[GptqPattern("+:", module)] = {{"bits", form.bits}, {"group_size", GroupSize(form)}};
    }
  }
  for (const std::string& module : modules.plain) {
    dynamic[GptqPattern("-:", module)] = Json::object();
  }
  if (!dynamic.empty()) json["dynamic"] = std::move(dynamic);
  return {.quantization_config = ConfigText(json)};
}

WrittenConfig WriteAwqIntegers(const QuantisedModules& modules) {
  Json json = Json::object();
  json["quant_method"] = "awq";
  json["version"] = "gemm";
  json["bits"] = modules.written.front().form.integers.bits;
  json["group_size"] = GroupSize(modules.written.front().form.integers);
  json["zero_point"] = true;
  json[kNotConverted] = IgnoredModules(LayerNames::kParts, modules);
  return {.quantization_config = ConfigText(json)};
}

}  // namespace tensorcast::scale

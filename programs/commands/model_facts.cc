// Counts by what each tensor is; the rest config.json says.
//
// SPDX-License-Identifier: Apache-2.0
#include "commands/model_facts.h"

#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "display/quantities.h"
#include "files/error.h"

namespace tensorcast::tool {
namespace {

// Tensors that are no plain values: what serves others, and what others serve.
enum class Part : std::uint8_t { kPlain, kServes, kWeight, kPacked };

std::optional<double> BitsPerWeight(const ModelFacts& facts) {
  if (facts.parameters == 0 || facts.packed != 0) return std::nullopt;
  return 8.0 * static_cast<double>(facts.bytes) / static_cast<double>(facts.parameters);
}

std::string ParametersText(std::uint64_t parameters) {
  constexpr double kBillion = 1e9;
  const auto count = static_cast<double>(parameters);
  return count < kBillion ? RoundedCount(parameters) : fmt::format("{:.2f} B", count / kBillion);
}

}  // namespace

ModelFacts FindModelFacts(const convert::Survey& survey) {
  const std::vector<io::TensorInfo>& tensors = survey.tensors();
  const convert::InputScales& scales = survey.scales;
  std::vector<Part> parts(tensors.size(), Part::kPlain);
  for (const scale::ScaledTensor& one : scales.companions.scaled) parts[one.tensor] = Part::kPacked;
  for (const scale::OpaqueTensor& one : scales.weights.opaque) parts[one.tensor] = Part::kPacked;
  for (const scale::Companion& one : scales.companions.companions)
    parts[one.tensor] = Part::kServes;
  ModelFacts facts;
  for (const scale::ScaledWeight& one : scales.weights.weights) {
    parts[one.codes] = Part::kWeight;
    std::uint64_t values = 1;
    for (const std::uint64_t dim : one.shape) values *= dim;
    facts.parameters += values;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TypeInfo* const type = FindType(tensors[i].type);
    if (parts[i] == Part::kPlain) {
      if (type == nullptr || !type->is_float() || !type->has_zero) continue;
      facts.parameters += tensors[i].elements;
    }
    facts.packed += parts[i] == Part::kPacked ? 1 : 0;
    facts.bytes += tensors[i].bytes;
  }
  facts.architecture = scales.weights.config.architecture;
  facts.dtype = scales.weights.config.dtype;
  return facts;
}

std::string FactsText(const ModelFacts& facts) {
  std::string text;
  const auto add = [&](const std::string& fact) {
    if (!fact.empty()) text.append(text.empty() ? "" : "   ").append(fact);
  };
  add(io::Escape(facts.architecture));
  add(io::Escape(facts.dtype));
  std::string parameters = ParametersText(facts.parameters) + " parameters";
  if (facts.packed != 0) {
    parameters +=
        fmt::format(" and those of {} packed tensor{}", facts.packed, facts.packed == 1 ? "" : "s");
  }
  add(parameters);
  if (const std::optional<double> bits = BitsPerWeight(facts)) {
    add(fmt::format("{:.4g} bits per weight", *bits));
  }
  return text;
}

Json FactsJson(const ModelFacts& facts) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  const std::optional<double> bits = BitsPerWeight(facts);
  return {{"architecture", text_or_null(facts.architecture)},
          {"dtype", text_or_null(facts.dtype)},
          {"parameters", facts.parameters},
          {"packed_tensors", facts.packed},
          {"bits_per_weight", bits ? Json(*bits) : Json()}};
}

}  // namespace tensorcast::tool

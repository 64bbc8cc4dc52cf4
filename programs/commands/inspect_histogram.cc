// Finds the tensors, counts their exponents and prints them.
//
// SPDX-License-Identifier: Apache-2.0
#include "commands/inspect_histogram.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "convert/exponents.h"
#include "convert/scaled_tensors.h"
#include "display/exponent_histogram.h"
#include "display/quantities.h"
#include "display/tensor_text.h"
#include "display/tool_json.h"
#include "files/error.h"
#include "shell/streams.h"
#include "shell/terminal.h"
#include "words/nearest_names.h"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

// The tensor that has a name in the file, or as the weight that its scales make of it.
std::size_t TensorNamed(const convert::Survey& survey,
                        const std::vector<formats::TensorInfo>& values, const std::string& name) {
  const std::vector<formats::TensorInfo>& tensors = survey.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (values[i].name == name || tensors[i].name == name) return i;
  }
  std::vector<std::string> names;
  for (const formats::TensorInfo& info : values) names.push_back(info.name);
  const std::string meant = words::DidYouMean(names, name);
  throw Error(ErrorKind::kArguments,
              fmt::format("--histogram {}: {} has no tensor of this name{}",
                          words::EscapeName(name), words::PathText(survey.path),
                          meant.empty() ? "; 'tensorcast inspect' lists them" : meant),
              name);
}

// Refuses a tensor that has no exponents, or whose values would not be what it stands for.
void RequireNumbers(const convert::Survey& survey, std::size_t tensor,
                    const formats::TensorInfo& value) {
  const formats::TensorInfo& info = survey.tensors()[tensor];
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(survey.path) + ": " + words::EscapeName(info.name) + " " + why,
                info.name);
  };
  if (!info.why_not.empty()) refuse("(" + info.dtype + ") " + std::string(info.why_not));
  const auto is_it = [&](const auto& one) { return one.tensor == tensor; };
  const scale::ScaledWeights& weights = survey.scales.weights;
  if (const auto one = std::ranges::find_if(weights.unread, is_it);
      one != weights.unread.end() && one->is_known) {
    throw Error(one->kind, words::PathText(survey.path) + ": " + one->why, info.name);
  }
  if (const auto one = std::ranges::find_if(weights.opaque, is_it); one != weights.opaque.end()) {
    refuse("is packed as " + one->writer + " has it, which is not read: its codes are not values");
  }
  const std::vector<scale::ScaledTensor>& scaled = survey.scales.companions.scaled;
  if (const auto one = std::ranges::find_if(scaled, is_it);
      one != scaled.end() && !one->file.empty()) {
    refuse("has its scales in " + words::Escape(one->file) +
           ": give the directory, which has both");
  }
  if (value.type == DataType::kString) refuse("holds strings, which have no exponents");
  if (FindType(value.type) == nullptr) {
    refuse("is of type " + words::Escape(info.dtype) + ", which is not known");
  }
}

convert::ExponentCounts CountsOf(const formats::TensorReader& values, std::size_t tensor) {
  constexpr std::uint64_t kValuesAtOnce = std::uint64_t{1}
                                          << 20;  // values: whole bytes of every type
  const formats::TensorInfo& info = values.contents().tensors[tensor];
  const TypeInfo& type = *FindType(info.type);
  convert::ExponentCounts counts;
  std::vector<std::byte> piece;
  for (std::uint64_t first = 0; first < info.elements; first += kValuesAtOnce) {
    const std::uint64_t count = std::min(kValuesAtOnce, info.elements - first);
    piece.resize(static_cast<std::size_t>(*StorageBytes(info.type, count)));
    values.Read(tensor, *StorageBytes(info.type, first), piece);
    convert::CountExponents(type, piece, count, counts);
  }
  return counts;
}

std::string CountedText(const convert::ExponentCounts& counts) {
  std::string text = words::CountText(counts.sampled, "value");
  if (counts.zeros != 0) text += "   " + ShareText(counts.zeros, counts.sampled) + " are zero";
  if (counts.not_finite != 0) {
    text += "   " + RoundedCount(counts.not_finite) + " Inf or NaN";
  }
  return text;
}

Json TypesJson(const convert::ExponentCounts& counts) {
  Json types = Json::array();
  for (const DataType type : convert::kHistogramTypes) {
    const convert::ZoneCounts zones = convert::ZonesOf(type, counts);
    types.push_back({{"type", TypeName(type)},
                     {"to_zero", zones.to_zero},
                     {"to_subnormal", zones.to_subnormal},
                     {"beyond", zones.beyond}});
  }
  return types;
}

}  // namespace

void PrintHistograms(const convert::Survey& survey, const std::vector<std::string>& names,
                     bool json) {
  const convert::ValuesReader values = convert::ApplyScales(
      survey, [](std::size_t) { return std::optional(scale::Rounding::kNearest); });
  const std::vector<formats::TensorInfo>& tensors = values.reader->contents().tensors;
  std::vector<std::size_t> asked;
  for (const std::string& name : names) {
    asked.push_back(TensorNamed(survey, tensors, name));
    RequireNumbers(survey, asked.back(), tensors[asked.back()]);
  }
  const auto counts_of = [&](std::size_t tensor) { return CountsOf(*values.reader, tensor); };
  if (json) {
    JsonPrinter printer("inspect");
    printer.Member("file", survey.path);
    printer.Array("histograms", asked, [&](std::size_t tensor) {
      const convert::ExponentCounts counts = counts_of(tensor);
      Json entry = TensorJson(tensors[tensor]);
      entry["exponents"] = ExponentsJson(counts);
      entry["types"] = TypesJson(counts);
      return entry;
    });
    printer.End();
    return;
  }
  // Elsewhere than on a terminal as wide as running text.
  const std::size_t width = IsTerminal(stdout) ? Columns(stdout) : kReportColumns;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const formats::TensorInfo& info = tensors[asked[i]];
    const convert::ExponentCounts counts = counts_of(asked[i]);
    const std::string facts =
        fmt::format("{}   {}   {}", TypeText(info), ExtentsText(info.shape), CountedText(counts));
    const std::string drawing = ExponentHistogram(counts, width);
    Print(fmt::format("{}{}\n{}{}{}", i == 0 ? "" : "\n",
                      Shorten(words::EscapeName(info.name), Columns(stdout)),
                      Wrapped("", facts, width), drawing.empty() ? "" : "\n", drawing));
  }
}

}  // namespace tensorcast::tool

// The loss report for programs: every count and figure of docs/semantics.md, per tensor and in all.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/loss_json.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include "display/conversion_summary.h"
#include "display/element_text.h"
#include "display/json_printer.h"
#include "formats/element_index.h"
#include "json/ordered_json.h"
#include "shell/terminal.h"
#include "tensorcast/explain.hpp"
#include "text/utf8.h"

namespace tensorcast::tool {
namespace {

// The value of a code: a number, exact for 64-bit integers; null where it is not finite.
Json ElementJson(DataType type, std::uint64_t code) {
  const TypeInfo& row = *FindType(type);
  switch (row.type_class) {
    case TypeClass::kBool: return (code & 0xFF) != 0;
    case TypeClass::kUnsigned: return code;
    case TypeClass::kSigned: return SignedElement(type, code);
    case TypeClass::kFloat:
    case TypeClass::kString: break;
  }
  return ElementValue(type, code);
}

std::string CodeText(DataType type, std::uint64_t code) {
  return fmt::format("0x{:0{}x}", code, (FindType(type)->bits + 3) / 4);
}

// Of a code that has a scale "result" would be another number than that of the tensor.
Json ExampleJson(const io::TensorInfo& info, const LossReport& loss, const LossExample& example,
                 ResultIs result) {
  Json json = Json::object();
  json["index"] = io::ElementIndex(info, example.index);
  json["source"] = ElementJson(loss.from, example.source_code);
  json["source_code"] = CodeText(loss.from, example.source_code);
  json[result == ResultIs::kCodeOfScale ? "result_without_scale" : "result"] =
      ElementJson(loss.to, example.result_code);
  json["result_code"] = CodeText(loss.to, example.result_code);
  return json;
}

// Writes as \uNNNN what would do something to a terminal, or hide there: such characters stand
// inside strings alone, and readers of JSON get the same values. C0 controls are escaped already.
void EscapeDeceptive(std::string& text) {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) < 0x7F; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return;
  std::string escaped;
  escaped.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const text::Utf8Character c = text::DecodeUtf8(rest);
    if (c.point < 0x7F || !text::IsDeceptive(c.point)) {
      escaped.append(rest.substr(0, c.bytes));
    } else if (c.point < 0x10000) {
      escaped += fmt::format("\\u{:04x}", c.point);
    } else {  // two halves
      escaped +=
          fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (c.point >> 10), 0xDC00 + (c.point & 0x3FF));
    }
    rest.remove_prefix(c.bytes);
  }
  text = std::move(escaped);
}

}  // namespace

Json CrossedJson(const CrossedLimit& crossed) {
  Json json = {
      {"kind", LimitName(crossed.limit)}, {"limit", crossed.limit.limit}, {"value", crossed.value}};
  if (crossed.limit.is_percent) json["unit"] = "%";
  if (!crossed.tensor.empty()) json["tensor"] = crossed.tensor;
  if (!crossed.reason.empty()) json["reason"] = crossed.reason;
  return json;
}

Json SnrJson(const LossReport& loss) { return loss.compared > 0 ? Json(loss.snr_db) : Json(); }

Json FiguresJson(const LossReport& loss) {
  Json json = Json::object();
  json["elements"] = loss.elements;
  json["counts"] = Json::object();
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    json["counts"][std::string(LossName(static_cast<Loss>(i)))] = loss.counts[i];
  }
  json["compared"] = loss.compared;
  // nlohmann writes what is not finite as null.
  json["max_abs_error"] = loss.compared > 0 ? Json(loss.max_abs_error) : Json();
  json["max_rel_error"] = loss.compared_nonzero > 0 ? Json(loss.max_rel_error) : Json();
  json["rmse"] = loss.compared > 0 ? Json(loss.rmse) : Json();
  json["snr_db"] = SnrJson(loss);
  json["amax"] = loss.finite > 0 ? Json(loss.amax) : Json();
  json["smallest_nonzero"] = loss.smallest_nonzero > 0 ? Json(loss.smallest_nonzero) : Json();
  return json;
}

Json LossOfTensorJson(const io::TensorInfo& info, const LossReport& loss, ResultIs result) {
  Json json = FiguresJson(loss);
  if (loss.compared > 0) {
    json["max_abs_example"] = ExampleJson(info, loss, loss.max_abs_example, result);
  }
  if (loss.compared_nonzero > 0) {
    json["max_rel_example"] = ExampleJson(info, loss, loss.max_rel_example, result);
  }
  Json first = Json::object();
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    if (loss.counts[i] == 0) continue;
    first[std::string(LossName(static_cast<Loss>(i)))] =
        ExampleJson(info, loss, loss.first[i], result);
  }
  json["first"] = std::move(first);
  return json;
}

Json TensorJson(const io::TensorInfo& info) {
  Json json = Json::object();
  json["name"] = info.name;
  json["dtype"] = info.dtype;
  json["type"] = FindType(info.type) ? Json(TypeName(info.type)) : Json();
  json["shape"] = info.shape;
  json["elements"] = info.elements;
  json["bytes"] = info.bytes;
  if (info.fortran_order) json["fortran_order"] = true;
  if (!info.stored_as.empty()) {
    json["layout"] = info.stored_as;
    json["bytes"] = info.stored_bytes;
  }
  return json;
}

Json TypeJson(DataType type) {
  return type == DataType::kUndefined ? Json() : Json(TypeName(type));
}

std::string JsonText(const Json& json) {
  // Names may be any bytes (an npy's name is its file's): what is not UTF-8 becomes U+FFFD.
  std::string text = io::Dumped(json, 2) + "\n";
  EscapeDeceptive(text);
  return text;
}

std::string IndentedJson(std::string_view json) { return JsonText(io::JsonOrNull(json)); }

void PrintLossJson(const ConversionSummary& summary) {
  JsonPrinter json;
  json.Member("schema_version", kJsonSchemaVersion);
  json.Member("command", "convert");
  json.Member("input", summary.input);
  json.Member("output", summary.output);
  json.Member("input_bytes", summary.input_bytes);
  json.Member("output_bytes", summary.output_bytes);
  json.Member("options", OptionsJson(summary.options));
  Json totals = Json::object();
  totals["tensors_cast"] = summary.cast.size() + summary.texts.size();
  totals["tensors_left_alone"] = summary.left_alone.size();
  totals["elements"] = summary.Values();
  totals["counts"] = Json::object();
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    const auto kind = static_cast<Loss>(i);
    totals["counts"][std::string(LossName(kind))] = summary.Count(kind);
  }
  const LossSum& sum = summary.cast.sum();
  totals["worst_snr_db"] = SnrJson(sum.worst_loss);
  totals["worst_tensor"] = sum.worst ? Json(*sum.worst) : Json();
  json.Member("totals", totals);
  json.BeginArray("tensors");
  const auto entry_of = [](const auto& tensor) {
    Json entry = TensorJson(*tensor.info);
    entry["to"] = TypeName(tensor.to);
    entry["taken_by"] = tensor.taken_by;
    return entry;
  };
  for (const report::CastTensor& tensor : summary.cast) {
    Json entry = entry_of(tensor);
    if (tensor.scaled) {
      entry["to"] = tensor.scaled.format->name;
      entry["to_layout"] = tensor.scaled.dialect->layout;
      entry["to_scale_rule"] = scale::RuleName(*tensor.scaled.format, tensor.scaled.rule);
      entry["codes"] = TypeName(tensor.to);
    }
    entry["loss"] = LossOfTensorJson(*tensor.info, tensor.loss,
                                     tensor.scaled ? ResultIs::kCodeOfScale : ResultIs::kValue);
    json.Element(entry);
  }
  for (const CastText& text : summary.texts) {
    Json entry = entry_of(text);
    entry["loss"] = Json();
    json.Element(entry);
  }
  json.EndArray();
  json.BeginArray("left_alone");
  for (const LeftAlone& left : summary.left_alone) {
    Json entry = TensorJson(*left.info);
    entry["reason"] = left.reason;
    json.Element(entry);
  }
  json.EndArray();
  json.Member("advice", AdviceTexts(summary, kUnlimitedColumns));
  json.Member("reading_hint", summary.reading_hint.empty() ? Json() : Json(summary.reading_hint));
  json.Member("reading_code", summary.reading_code.empty() ? Json() : Json(summary.reading_code));
  if (!summary.quantization_config.empty()) {
    json.Member("quantization_config", io::JsonOrNull(summary.quantization_config));
  }
  Json crossed = Json::array();
  for (const CrossedLimit& limit : summary.crossed) {
    crossed.push_back(CrossedJson(limit));
  }
  json.Member("limits_crossed", crossed);
  json.End();
}

}  // namespace tensorcast::tool

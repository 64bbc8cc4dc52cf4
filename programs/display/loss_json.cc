// The loss report for programs: every count and figure of docs/semantics.md, per tensor and in all.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/conversion_summary.h"
#include "display/tool_json.h"
#include "shell/terminal.h"

namespace tensorcast::tool {

void PrintLossJson(const ConversionSummary& summary, const TakeText& print) {
  JsonPrinter json("convert", print);
  json.Member("input", summary.input);
  json.Member("output", summary.output);
  json.Member("input_bytes", summary.input_bytes);
  json.Member("output_bytes", summary.output_bytes);
  json.Member("options", OptionsJson(summary.options));
  Json totals = Json::object();
  totals["tensors_cast"] = summary.cast.size() + summary.texts.size();
  if (!summary.repacked.empty()) totals["tensors_repacked"] = summary.repacked.size();
  totals["tensors_left_alone"] = summary.left_alone.size();
  totals["elements"] = summary.Values();
  const LossSum& sum = summary.cast.sum();
  totals["counts"] = CountsJson(sum.counts);
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
  for (std::size_t i = 0; i < summary.cast.size(); ++i) {
    const report::CastTensor tensor = summary.cast[i];
    Json entry = entry_of(tensor);
    if (tensor.scaled) {
      entry["to"] = tensor.scaled.format->name;
      entry["to_layout"] = tensor.scaled.dialect->layout;
      entry["to_scale_rule"] = scale::RuleName(*tensor.scaled.format, tensor.scaled.rule);
      // Of a search; what is not finite is written as null.
      if (tensor.gain_db) entry["gain_over_plain_db"] = *tensor.gain_db;
      entry["codes"] = TypeName(tensor.to);
    }
    entry["loss"] = LossOfTensorJson(*tensor.info, tensor.loss,
                                     tensor.scaled ? ResultIs::kCodeOfScale : ResultIs::kValue);
    if (!summary.exponents.empty()) entry["exponents"] = ExponentsJson(summary.exponents[i]);
    json.Element(entry);
  }
  for (const CastText& text : summary.texts) {
    Json entry = entry_of(text);
    entry["loss"] = Json();
    json.Element(entry);
  }
  json.EndArray();
  if (const auto components = ComponentsOf(summary); !components.empty()) {
    json.Array("components", components, [](const ComponentSummary& one) {
      Json entry = Json::object();
      entry["component"] = one.name;
      entry["tensors_cast"] = one.cast;
      entry["tensors_left_alone"] = one.left_alone;
      entry["elements"] = one.sum.elements;
      entry["counts"] = CountsJson(one.sum.counts);
      entry["worst_snr_db"] = one.sum.worst ? SnrJson(one.sum.worst_loss) : Json();
      entry["worst_tensor"] = one.sum.worst ? Json(*one.sum.worst) : Json();
      return entry;
    });
  }
  if (!summary.repacked.empty()) {
    json.Array("repacked", summary.repacked, [](const RepackedWeight& weight) {
      const scale::Repacking& repacked = *weight.repacked;
      Json entry = TensorJson(*weight.info);
      entry["from_layout"] = weight.from;
      entry["name"] = repacked.name();
      entry["to"] = repacked.FormatText();
      entry["to_layout"] = repacked.form().dialect->layout;
      entry["change"] = repacked.change();
      return entry;
    });
  }
  json.Array("left_alone", summary.left_alone, [](const LeftAlone& left) {
    Json entry = TensorJson(*left.info);
    entry["reason"] = left.reason;
    return entry;
  });
  json.Array("advice", AdviceLines(summary, kUnlimitedColumns),
             [](const AdviceLine& line) { return Json(line.text); });
  json.Member("reading_hint", TextOrNull(summary.reading_hint));
  json.Member("reading_code", TextOrNull(summary.reading_code));
  if (!summary.quantization_config.empty()) {
    json.Member("quantization_config", json::JsonOrNull(summary.quantization_config));
  }
  PrintNotices(summary.notices, json);
  json.Array("limits_crossed", summary.crossed, CrossedJson);
  json.End();
}

}  // namespace tensorcast::tool

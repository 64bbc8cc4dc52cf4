// AWQ: integers of 4 bits in groups. "gemm" packs them along the columns of a transposed matrix,
// eight in an order of their own; "gemv" along the rows, with scales that may be padded.
//
// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/dialects/gptq.h"
#include "scale/grouped_integers.h"
#include "scale/layer_lists.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {
namespace {

constexpr int kAwqBits = 4;

constexpr std::string_view kAwqMethods[] = {"awq"};

PackedReading ReadAwqTensors(const PackedTensors& tensors) {
  const QweightSettings settings = SettingsOf(tensors.config);
  PackedReading reading = ReadAwq(tensors, settings);
  if (reading.Fits()) return reading;
  return RefuseQweight(tensors, settings, IsAmong(kAwqMethods, tensors.config.method));
}

// Where the parts of a weight stand, and its shape; nothing where the shapes do not fit.
std::optional<IntegerGroups> GemmOf(const PackedTensors& tensors, const QweightTensors& found) {
  const std::uint64_t columns = found.words->shape[0], rows = found.scale_columns;
  const WordShape zeros = WordsOf(CodeOrder::kShuffledColumns, rows, found.groups, kAwqBits);
  if (rows % 8 != 0 || found.words->shape[1] != rows / 8 || !found.zeros ||
      !AreWords(tensors.Info(*found.zeros), zeros.rows, zeros.columns)) {
    return std::nullopt;
  }
  IntegerGroups made;
  made.codes = {tensors.codes, CodeOrder::kShuffledColumns, rows, columns, kAwqBits, columns,
                rows / 8};
  made.scales = {found.scales, found.scale_type, true, rows};
  made.zeros = CodeMatrix{
      *found.zeros, CodeOrder::kShuffledColumns, rows, found.groups, kAwqBits, zeros.rows,
      zeros.columns};
  return made;
}

std::optional<IntegerGroups> GemvOf(const PackedTensors& tensors, const QweightTensors& found,
                                    std::uint64_t group) {
  const std::uint64_t rows = found.words->shape[0], columns = found.words->shape[1] * 8;
  // Their shape is [rows, groups].
  if (!found.zeros || found.groups != rows || found.scale_columns % 8 != 0 || group == 0 ||
      (columns + group - 1) / group > found.scale_columns ||
      !AreWords(tensors.Info(*found.zeros), rows, found.scale_columns / 8)) {
    return std::nullopt;
  }
  IntegerGroups made;
  made.codes = {tensors.codes, CodeOrder::kRows, rows, columns, kAwqBits, rows, columns / 8};
  made.scales = {found.scales, found.scale_type, false, found.scale_columns};
  made.zeros = CodeMatrix{
      *found.zeros, CodeOrder::kRows,       rows, (columns + group - 1) / group, kAwqBits,
      rows,         found.scale_columns / 8};
  return made;
}

}  // namespace

PackedReading ReadAwq(const PackedTensors& tensors, const QweightSettings& settings) {
  PackedReading reading;
  if (!IsAmong(kAwqFormats, settings.format)) {
    if (IsAmong(kGptqFormats, settings.format)) return reading;
    reading.opaque = "AWQ in the version " + words::Quoted(settings.format);
    return reading;
  }
  const std::optional<QweightTensors> found = QweightTensorsOf(tensors);
  if (!found || found->order) return reading;
  const auto refuse = [&](std::string why) {
    reading.why_not = std::move(why);
    return std::move(reading);
  };
  if (std::string why = WrongQweightType(tensors, *found); !why.empty()) {
    return refuse(std::move(why));
  }
  const std::uint64_t all = found->words->shape[1] * 8;  // columns, where rows are in order
  const std::uint64_t said = settings.group.value_or(0);
  std::optional<IntegerGroups> made;
  if (settings.format != "gemv") made = GemmOf(tensors, *found);
  const bool is_gemm = made.has_value();
  if (!made && settings.format != "gemm") {
    made = GemvOf(tensors, *found, settings.group ? (said == 0 ? all : said) : 0);
  }
  if (!made && settings.format != "gemm" && !settings.group && GemvOf(tensors, *found, all)) {
    return refuse(
        "may be AWQ's of the version gemv, but nothing says the size of its groups; config.json "
        "beside it can, as {\"quantization_config\": {\"quant_method\": \"awq\", \"version\": "
        "\"gemv\", \"bits\": 4, \"group_size\": 128}}");
  }
  if (!made) return reading;
  if (ContradictsWords(settings)) return RefuseQweight(tensors, settings, true);
  if (!settings.misread.empty()) {
    return refuse("cannot be understood: " + tensors.config.file + " " + settings.misread);
  }
  if (settings.bits != 0 && settings.bits != kAwqBits) {
    return refuse("has codes of 4 bits, and " + tensors.config.file + " says " +
                  std::to_string(settings.bits));
  }
  const std::uint64_t columns = made->codes.columns;
  made->group = said == 0 ? columns : said;
  if (is_gemm && made->groups() != found->groups) {
    if (settings.group) {
      return refuse("has " + words::CountText(found->groups, "group") + " of " +
                    std::to_string(columns) + " columns, and " + tensors.config.file + " says " +
                    settings.Text());
    }
    if (columns % found->groups != 0) {
      return refuse("has " + std::to_string(columns) + " columns in " +
                    words::CountText(found->groups, "group") + ", and nothing says their size");
    }
    made->group = columns / found->groups;
  }
  reading.name = tensors.Stem(".qweight") + ".weight";
  reading.shape = {made->codes.rows, columns};
  reading.said = settings.Text();
  reading.weight = MakeGroupedIntegers(*std::move(made));
  return reading;
}

namespace {

constexpr WrittenLayout kAwqWritten[] = {{.format = "int4-group",
                                          .codes = ".qweight",
                                          .scale = ".scales",
                                          .plain = ".weight",
                                          .groups = GroupPlacing::kAwq,
                                          .zeros = ".qzeros"}};

WrittenConfig WriteAwq(const QuantisedModules& modules) {
  const IntegerForm form = modules.written.front().form.Integers();
  json::OrderedJson json = json::OrderedJson::object();
  json["quant_method"] = kAwqMethods[0];
  json["bits"] = form.bits;
  json["group_size"] = form.group != 0 ? json::OrderedJson(form.group) : json::OrderedJson(-1);
  json["zero_point"] = true;  // there are zero points, if all alike
  json["version"] = "gemm";
  json["modules_to_not_convert"] = IgnoredModules(LayerNames::kParts, modules);
  return {.quantization_config = ConfigText(json)};
}

}  // namespace

extern const Dialect kAwq;
constinit const Dialect kAwq = {
    .name = "AWQ",
    .names = kQweightNames,
    .read_packed = ReadAwqTensors,
    .methods = kAwqMethods,
    .read_config = ReadQweightConfig,
    .file = {.name = "quant_config.json"},
    .layer_names = LayerNames::kParts,
    .layout = "awq",
    .written = kAwqWritten,
    .write_config = WriteAwq,
    .edit_config = AddNotConverted,
    .is_read_by_transformers = true,
};

}  // namespace tensorcast::scale

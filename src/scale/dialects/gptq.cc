// GPTQ: integers of 2, 3, 4 or 8 bits, packed down the columns of a transposed matrix, in groups
// that may have an order of their own; and what its configuration has in common with AWQ's and
// auto-round's.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/gptq.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/grouped_integers.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;
using formats::TensorInfo;

constexpr std::array<int, 4> kGptqBits = {4, 8, 2, 3};

// The integer that a configuration says under one of two names; what is none, or not within
// [least, most], is noted.
std::optional<std::int64_t> Integer(const Json& json, std::array<const char*, 2> names,
                                    std::int64_t least, std::int64_t most, std::string& misread) {
  const char* const name = Member(json, names[0]).is_null() ? names[1] : names[0];
  const Json& said = Member(json, name);
  if (said.is_null()) return std::nullopt;
  const std::int64_t value = said.is_number_integer() ? said.get<std::int64_t>() : least - 1;
  if (value >= least && value <= most) return value;
  misread = "says \"" + std::string(name) + "\" " + json::Dumped(said).substr(0, 40);
  return std::nullopt;
}

// How a zero point is stored.
enum class GptqZeros : std::uint8_t { kUnknown, kLessOne, kAsTheyAre };

// By the word that a symmetric weight repeats, 2^(b-1) or that less 1: all of the first group's.
GptqZeros ZerosByWords(const PackedTensors& tensors, std::size_t zeros, int bits) {
  constexpr std::uint64_t kMostWords = 4096;
  const TensorInfo& info = tensors.Info(zeros);
  std::vector<std::uint32_t> words(
      static_cast<std::size_t>(std::min(kMostWords, info.shape.back())));
  tensors.reader.Read(zeros, 0, std::as_writable_bytes(std::span(words)));
  // Whole codes only: the words of 3 bits repeat after three of them.
  const auto is_all = [&](std::uint64_t zero) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::uint32_t expected = 0;
      for (unsigned bit = 0; bit < 32; ++bit) {
        const std::uint64_t of_code = (i * 32 + bit) % static_cast<unsigned>(bits);
        expected |= static_cast<std::uint32_t>(zero >> of_code & 1) << bit;
      }
      if (words[i] != expected) return false;
    }
    return true;
  };
  const std::uint64_t middle = std::uint64_t{1} << (bits - 1);
  if (is_all(middle - 1)) return GptqZeros::kLessOne;
  if (is_all(middle)) return GptqZeros::kAsTheyAre;
  return GptqZeros::kUnknown;
}

// Whether words and scales are those of a weight with codes of so many bits.
bool HasGptqBits(const PackedTensors& tensors, const QweightTensors& found, int bits) {
  const auto b = static_cast<std::uint64_t>(bits);
  const std::uint64_t rows = found.words->shape[1], height = found.words->shape[0];
  if (found.scale_columns != rows || height > UINT64_MAX / 32 || height * 32 % b != 0) {
    return false;
  }
  const WordShape zeros = WordsOf(CodeOrder::kColumns, rows, found.groups, bits);
  return !found.zeros || AreWords(tensors.Info(*found.zeros), zeros.rows, zeros.columns);
}

constexpr std::string_view kGptqMethods[] = {"gptq"};

PackedReading ReadGptqTensors(const PackedTensors& tensors) {
  const QweightSettings settings = SettingsOf(tensors.config);
  PackedReading reading = ReadGptq(tensors, settings);
  // Of what nothing describes AWQ's reader, which is asked after this one, says why.
  const bool is_said = IsAmong(kGptqMethods, tensors.config.method);
  return reading.Fits() || !is_said ? std::move(reading) : RefuseQweight(tensors, settings, false);
}

// A module by a regular expression behind a mark: "-:" leaves it alone, "+:" says it is otherwise.
// Its readers take the first that a name matches.
std::string ModulePattern(std::string_view mark, std::string_view module) {
  std::string pattern = std::string(mark) + "^";
  for (const char c : module) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "$";
}

Json LeftAlone(std::span<const std::string> modules) {
  Json dynamic = Json::object();
  for (const std::string& module : modules) dynamic[ModulePattern("-:", module)] = Json::object();
  return dynamic;
}

WrittenConfig EditGptq(const QuantisedModules& modules, const QuantizationConfig& config) {
  Json json = *config.json;
  Json dynamic = LeftAlone(modules.freed);
  const Json& old = Member(json, "dynamic");
  if (old.is_object()) {
    for (const auto& [pattern, said] : old.items()) {
      if (!dynamic.contains(pattern)) dynamic[pattern] = said;
    }
  }
  json["dynamic"] = std::move(dynamic);
  return {.quantization_config = ConfigText(json)};
}

constexpr std::string_view kGptqFile = "quantize_config.json";

constexpr WrittenLayout WrittenQweight(std::string_view format) {
  return {.format = format,
          .codes = ".qweight",
          .scale = ".scales",
          .plain = ".weight",
          .groups = GroupPlacing::kGptq,
          .zeros = ".qzeros",
          .order = ".g_idx"};
}
constexpr WrittenLayout kGptqWritten[] = {WrittenQweight("int4-group"),
                                          WrittenQweight("int8-group")};

// Version 2 of the format, in which zero points stand as they are. A head outside of the layers is
// left alone by its readers unless it is said to be quantised.
WrittenConfig WriteGptq(const QuantisedModules& modules) {
  const auto integers = [](const WrittenGroup& group) { return group.form.Integers(); };
  const auto size = [](const IntegerForm& form) {
    return form.group != 0 ? Json(form.group) : Json(-1);
  };
  const IntegerForm usual = integers(*std::ranges::max_element(
      modules.written, {}, [](const WrittenGroup& group) { return group.modules.size(); }));
  std::vector<std::string> plain = modules.plain;
  std::erase(plain, "lm_head");
  Json dynamic = LeftAlone(plain);
  bool has_head = false;
  for (const WrittenGroup& group : modules.written) {
    const IntegerForm form = integers(group);
    has_head = has_head || std::ranges::count(group.modules, "lm_head") != 0;
    if (form.bits == usual.bits && form.group == usual.group) continue;
    for (const std::string& module : group.modules) {
      dynamic[ModulePattern("+:", module)] = {{"bits", form.bits}, {"group_size", size(form)}};
    }
  }
  Json json = Json::object();
  json["quant_method"] = kGptqMethods[0];
  json["bits"] = usual.bits;
  json["group_size"] = size(usual);
  json["desc_act"] = std::ranges::any_of(
      modules.written, [&](const WrittenGroup& group) { return integers(group).has_order; });
  // As all are: zero points stand there either way.
  json["sym"] = std::ranges::all_of(
      modules.written, [&](const WrittenGroup& group) { return integers(group).is_symmetric; });
  json["lm_head"] = has_head;
  json["pack_dtype"] = "int32";
  json["checkpoint_format"] = "gptq_v2";
  json["dynamic"] = std::move(dynamic);
  json["meta"] = {{"quantizer", {std::string("tensorcast:") + TENSORCAST_VERSION}}};
  const std::string text = ConfigText(json);
  return {.quantization_config = text, .files = {{std::string(kGptqFile), text + "\n"}}};
}

}  // namespace

std::string QweightSettings::Text() const {
  if (!is_said || bits == 0) return {};
  std::string text = std::to_string(bits) + "-bit integers";
  if (group)
    text += *group == 0 ? ", one scale for a row" : ", groups of " + std::to_string(*group);
  return text;
}

namespace {

// The word for the format, in lower case.
std::string FormatOf(const Json& json, const char* key, std::string& misread) {
  const Json& said = Member(json, key);
  if (!said.is_null() && !said.is_string()) {
    misread = "says \"" + std::string(key) + "\" " + json::Dumped(said).substr(0, 40);
  }
  std::string format = Text(said);
  std::ranges::transform(format, format.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return format;
}

QweightSettings SettingsOfJson(const Json& json) {
  QweightSettings settings;
  settings.is_said = true;
  if (const auto bits = Integer(json, {"bits", "w_bit"}, 1, 8, settings.misread)) {
    settings.bits = static_cast<int>(*bits);
  }
  if (const auto group =
          Integer(json, {"group_size", "q_group_size"}, -1, INT64_MAX, settings.misread)) {
    settings.group = static_cast<std::uint64_t>(std::max<std::int64_t>(*group, 0));
  }
  const Json& dynamic = Member(json, "dynamic");
  const Json& extra = Member(json, "extra_config");
  settings.has_exceptions =
      (dynamic.is_object() && !dynamic.empty()) || (extra.is_object() && !extra.empty());
  settings.is_symmetric = Member(json, "sym") != false;
  settings.says_symmetric = Member(json, "sym") == true;
  settings.words = Text(Member(json, "pack_dtype"));
  if (settings.words.starts_with("torch.")) settings.words.erase(0, 6);
  settings.is_ordered = Member(json, "desc_act") == true;
  // GPTQModel's older word and its new one.
  const std::string old = FormatOf(json, "format", settings.misread);
  settings.format = FormatOf(json, "checkpoint_format", settings.misread);
  if (IsAmong(kGptqFormats, old) && IsAmong(kGptqFormats, settings.format) && !old.empty() &&
      !settings.format.empty() && old != settings.format) {
    settings.misread = "says \"checkpoint_format\" " + words::Quoted(settings.format) +
                       " and \"format\" " + words::Quoted(old);
  }
  if (settings.format.empty()) settings.format = old;
  if (settings.format.empty()) settings.format = Text(Member(json, "version"));
  if (std::string format = FormatOf(json, "packing_format", settings.misread); !format.empty()) {
    settings.format = std::move(format);
  }
  std::ranges::transform(settings.format, settings.format.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  if (Member(json, "is_marlin_format") == true) settings.format = "marlin";
  if (Text(Member(json, "backend")) == "llm-awq") settings.format = "llm-awq";
  return settings;
}

// Which member two files say differently; empty: none.
std::string Contradiction(const QweightSettings& a, const QweightSettings& b) {
  if (a.bits != 0 && b.bits != 0 && a.bits != b.bits) return "bits";
  if (a.group && b.group && a.group != b.group) return "group_size";
  if (a.says_symmetric && !b.is_symmetric) return "sym";
  if (b.says_symmetric && !a.is_symmetric) return "sym";
  if (!a.format.empty() && !b.format.empty() && a.format != b.format) return "checkpoint_format";
  return {};
}

}  // namespace

QweightSettings SettingsOf(const QuantizationConfig& config) {
  if (config.json == nullptr) return {};
  QweightSettings settings = SettingsOfJson(*config.json);
  if (config.copy == nullptr) return settings;
  const QweightSettings copy = SettingsOfJson(*config.copy);
  if (const std::string member = Contradiction(settings, copy); !member.empty()) {
    settings.misread =
        "and " + config.copy_file + " say different things of " + words::Quoted(member);
  } else if (settings.misread.empty() && !copy.misread.empty()) {
    settings.misread = "stands beside " + config.copy_file + ", which " + copy.misread;
  }
  if (settings.bits == 0) settings.bits = copy.bits;
  if (!settings.group) settings.group = copy.group;
  if (settings.format.empty()) settings.format = copy.format;
  settings.is_symmetric = settings.is_symmetric && copy.is_symmetric;
  settings.says_symmetric = settings.says_symmetric || copy.says_symmetric;
  settings.is_ordered = settings.is_ordered || copy.is_ordered;
  settings.has_exceptions = settings.has_exceptions || copy.has_exceptions;
  return settings;
}

constexpr const char* kOnlineRotations[] = {"rotation_config", "spinquant_config"};  // auto-round's

void ReadQweightConfig(const Json& json, QuantizationConfig& config) {
  const Json& type = Member(json, "data_type");  // auto-round's
  if (!type.is_null() && Text(type) != "int") return;
  QuantizationConfig alone;
  alone.json = std::make_shared<const Json>(json);
  const QweightSettings settings = SettingsOf(alone);
  RefuseRotated(json, kOnlineRotations, config);
  config.is_complete = true;
  if (settings.bits == 0) return;
  WeightScheme& scheme = config.schemes.emplace_back();
  scheme.bits = settings.bits;
  scheme.is_integer = true;
  scheme.strategy = settings.group && *settings.group == 0 ? "channel" : "group";
  scheme.group = settings.group.value_or(0);
}

bool AreWords(const TensorInfo& info, std::uint64_t rows, std::uint64_t columns) {
  return IsWord(info.type) && info.shape == std::vector{rows, columns};
}

std::optional<QweightTensors> QweightTensorsOf(const PackedTensors& tensors) {
  QweightTensors found;
  const std::optional<std::size_t> scales = tensors.Find(".scales");
  if (!scales) return std::nullopt;
  found.words = &tensors.Info(tensors.codes);
  const TensorInfo& scale = tensors.Info(*scales);
  if (found.words->shape.size() != 2 || scale.shape.size() != 2 || found.words->elements == 0 ||
      !AreWords(*found.words, found.words->shape[0], found.words->shape[1]) ||
      (scale.type != DataType::kFloat16 && scale.type != DataType::kBfloat16 &&
       scale.type != DataType::kFloat32)) {
    return std::nullopt;
  }
  found.scales = *scales;
  found.scale_type = scale.type;
  found.groups = scale.shape[0];
  found.scale_columns = scale.shape[1];
  found.zeros = tensors.Find(".qzeros");
  found.order = tensors.Find(".g_idx");
  return found;
}

std::string WrongQweightType(const PackedTensors& tensors, const QweightTensors& found) {
  if (found.zeros) {
    const TensorInfo& zeros = tensors.Info(*found.zeros);
    if (!IsWord(zeros.type)) return WrongType("zero points", zeros, "int32");
  }
  if (found.order && tensors.Info(*found.order).type != DataType::kInt32) {
    return WrongType("the order of its groups", tensors.Info(*found.order), "int32");
  }
  return {};
}

bool ContradictsWords(const QweightSettings& settings) {
  return !settings.words.empty() && settings.words != "int32" && settings.words != "uint32";
}

std::string TypedName(const TensorInfo& info) {
  return words::EscapeName(info.name) + " " + words::ShapeText(info.shape) + " (" +
         std::string(TypeName(info.type)) + ")";
}

PackedReading RefuseQweight(const PackedTensors& tensors, const QweightSettings& settings,
                            bool is_awq) {
  PackedReading reading;
  const auto refuse = [&](std::string why) {
    reading.why_not = std::move(why);
    return std::move(reading);
  };
  const std::optional<std::size_t> scales = tensors.Find(".scales");
  if (!scales) return reading;
  const TensorInfo& words = tensors.Info(tensors.codes);
  const TensorInfo& scale = tensors.Info(*scales);
  const std::string type(TypeName(words.type));
  const std::string file = tensors.config.file;
  if (!IsWord(words.type)) {
    reading.kind = core::ErrorKind::kUnsupported;
    return refuse("has its codes in " + type + " (\"pack_dtype\"), and only int32 is read");
  }
  if (ContradictsWords(settings)) {
    return refuse("has its codes in " + type + ", and " + file + " says \"pack_dtype\" " +
                  words::Quoted(settings.words));
  }
  const bool is_number = scale.type == DataType::kFloat16 || scale.type == DataType::kBfloat16 ||
                         scale.type == DataType::kFloat32;
  if (words.shape.size() != 2 || scale.shape.size() != 2 || !is_number) {
    return refuse("has the scales " + TypedName(scale) +
                  "; both are matrices, and scales float16, bfloat16 or float32");
  }
  const std::optional<std::size_t> zeros = tensors.Find(".qzeros");
  if (!zeros) {
    return refuse("has no zero points: a tensor called " +
                  words::EscapeName(tensors.Stem(".qweight")) + ".qzeros is missing");
  }
  const TensorInfo& zero = tensors.Info(*zeros);
  const std::string both =
      "has the scales " + TypedName(scale) + " and the zero points " + TypedName(zero);
  const int bits = is_awq ? 4 : settings.bits;
  if (bits == 0) return refuse(both + ", which fit neither GPTQ nor AWQ");
  if (!IsAmong(is_awq ? std::span(kAwqFormats) : std::span(kGptqFormats), settings.format)) {
    return refuse("cannot be understood: " + file + " says the format " +
                  words::Quoted(settings.format) + " of " + words::Quoted(tensors.config.method));
  }
  if (const std::optional<std::size_t> order = tensors.Find(".g_idx"); is_awq && order) {
    return refuse("has " + words::EscapeName(tensors.Info(*order).name) +
                  ", and AWQ has no order of groups; " + file + " says " +
                  words::Quoted(tensors.config.method));
  }
  const bool is_gemv = is_awq && settings.format == "gemv";
  const std::uint64_t rows = is_gemv  ? words.shape[0]
                             : is_awq ? words.shape[1] * 8
                                      : words.shape[1];
  const std::string form = (is_gemv  ? "\"gemv\""
                            : is_awq ? "\"gemm\""
                                     : "GPTQ") +
                           std::string(" of ") + std::to_string(rows) + " rows";
  if (scale.shape[is_gemv ? 0 : 1] != rows) {
    return refuse(both + "; " + form + " has scales " +
                  (is_gemv ? "[rows, groups]" : "[groups, rows]"));
  }
  const WordShape fit = is_gemv ? WordShape{rows, scale.shape[1] / 8}
                                : WordsOf(CodeOrder::kColumns, rows, scale.shape[0], bits);
  if (!AreWords(zero, fit.rows, fit.columns)) {
    return refuse("has the zero points " + TypedName(zero) + ", and int32 " +
                  words::ShapeText(std::vector{fit.rows, fit.columns}) + " fits the scales " +
                  TypedName(scale) + " and " + std::to_string(bits) + " bits");
  }
  return refuse(both + ", which do not fit it");
}

PackedReading ReadGptq(const PackedTensors& tensors, const QweightSettings& settings) {
  PackedReading reading;
  if (!IsAmong(kGptqFormats, settings.format)) {
    if (IsAmong(kAwqFormats, settings.format)) return reading;
    reading.opaque = "GPTQ in the format " + words::Quoted(settings.format);
    return reading;
  }
  const std::optional<QweightTensors> found = QweightTensorsOf(tensors);
  if (!found) return reading;
  const auto refuse = [&](std::string why) {
    reading.why_not = std::move(why);
    return std::move(reading);
  };
  if (std::string why = WrongQweightType(tensors, *found); !why.empty()) {
    return refuse(std::move(why));
  }
  int bits = 0;
  for (const int one : kGptqBits) {
    if (bits == 0 && HasGptqBits(tensors, *found, one)) bits = one;
  }
  if (settings.bits != 0 && HasGptqBits(tensors, *found, settings.bits)) bits = settings.bits;
  if (bits == 0) return reading;
  if (ContradictsWords(settings)) return RefuseQweight(tensors, settings, false);
  if (!settings.misread.empty()) {
    return refuse("cannot be understood: " + tensors.config.file + " " + settings.misread);
  }
  if (settings.bits != 0 && settings.bits != bits && !settings.has_exceptions) {
    return refuse("has codes of " + std::to_string(bits) + " bits, and " + tensors.config.file +
                  " says " + std::to_string(settings.bits));
  }
  if (!found->zeros) return refuse("has no zero points: a tensor called .qzeros is missing");
  const std::uint64_t rows = found->words->shape[1];
  const std::uint64_t columns = found->words->shape[0] * 32 / static_cast<std::uint64_t>(bits);
  const auto groups_of = [&](std::uint64_t group) { return (columns + group - 1) / group; };
  std::uint64_t group = settings.group.value_or(0) == 0 ? columns : *settings.group;
  if (groups_of(group) != found->groups) {
    if (settings.group && !settings.has_exceptions) {
      return refuse("has " + words::CountText(found->groups, "group") + " of " +
                    std::to_string(columns) + " columns, and " + tensors.config.file + " says " +
                    settings.Text());
    }
    if (columns % found->groups != 0) {
      return refuse("has " + std::to_string(columns) + " columns in " +
                    words::CountText(found->groups, "group") + ", and nothing says their size");
    }
    group = columns / found->groups;
  }

  if (found->order) {
    const TensorInfo& order = tensors.Info(*found->order);
    if (order.shape != std::vector{columns}) {
      return refuse("has the order of its groups in " + words::EscapeName(order.name) + " " +
                    words::ShapeText(order.shape) + ", and an int32 for each of " +
                    std::to_string(columns) + " columns is needed");
    }
  }
  if (settings.is_ordered && !found->order && found->groups > 1) {
    return refuse("has no order of its groups, which " + tensors.config.file +
                  " says it has (\"desc_act\"): a tensor called .g_idx is missing");
  }

  // Version 1 stores zero points less 1, version 2 as they are.
  GptqZeros said = GptqZeros::kUnknown;
  if (settings.format == "gptq_v2") {
    said = GptqZeros::kAsTheyAre;
  } else if (settings.is_said) {
    said = GptqZeros::kLessOne;
  }
  const GptqZeros seen = ZerosByWords(tensors, *found->zeros, bits);
  if (said != GptqZeros::kUnknown && seen != GptqZeros::kUnknown && said != seen &&
      settings.is_symmetric) {
    const bool is_second = seen == GptqZeros::kAsTheyAre;
    return refuse("has the zero points of a symmetric weight as version " +
                  std::string(is_second ? "2" : "1") + " of the format stores them, and " +
                  tensors.config.file + " says version " + (is_second ? "1" : "2"));
  }
  const int middle = 1 << (bits - 1);
  if (seen == GptqZeros::kUnknown && settings.says_symmetric && !settings.has_exceptions) {
    return refuse("has zero points that are not those of a symmetric weight (" +
                  std::to_string(middle - 1) + " or " + std::to_string(middle) +
                  " in all places), and " + tensors.config.file + " says that it is one");
  }
  const GptqZeros zeros = said != GptqZeros::kUnknown ? said : seen;
  if (zeros == GptqZeros::kUnknown) {
    return refuse(
        "has zero points that are not a symmetric weight's, and no configuration says whether "
        "they are stored less 1 (\"checkpoint_format\": \"gptq\") or as they are (\"gptq_v2\"); "
        "put the config.json or quantize_config.json beside it that it was published with");
  }

  IntegerGroups made;
  made.group = group;
  made.codes = {tensors.codes, CodeOrder::kWordRows,   rows, columns,
                bits,          found->words->shape[0], rows};
  made.scales = {found->scales, found->scale_type, true, rows};
  const WordShape words = WordsOf(CodeOrder::kColumns, rows, found->groups, bits);
  made.zeros = CodeMatrix{*found->zeros, CodeOrder::kColumns, rows,         found->groups,
                          bits,          words.rows,          words.columns};
  if (zeros == GptqZeros::kLessOne) {
    made.zero = 1;
    made.refused_zero = (1 << bits) - 1;
    made.why_refused = "which some readers of version 1 of the format take for 0 and others for " +
                       std::to_string(1 << bits);
  }
  made.order = found->order;
  reading.weight = MakeGroupedIntegers(std::move(made));
  reading.name = tensors.Stem(".qweight") + ".weight";
  reading.shape = {rows, columns};
  reading.said = settings.Text();
  return reading;
}

extern const Dialect kGptq;
constinit const Dialect kGptq = {
    .name = "GPTQ",
    .names = kQweightNames,
    .read_packed = ReadGptqTensors,
    .methods = kGptqMethods,
    .read_config = ReadQweightConfig,
    .file = {.name = kGptqFile},
    .layout = "gptq",
    .written = kGptqWritten,
    .write_config = WriteGptq,
    .edit_config = EditGptq,
    .says_several_formats = true,
    .is_read_by_transformers = true,
};

}  // namespace tensorcast::scale

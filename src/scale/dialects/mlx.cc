// MLX: integers of 2 to 8 bits in words of 32, q * s + b in groups, or float4 and float8 with
// scales of a byte; stacked experts too. The configuration may say otherwise of single modules.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "json/ordered_json.h"
#include "scale/block_codes.h"
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/grouped_integers.h"
#include "scale/packed_tensors.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;
using formats::TensorInfo;
using enum CompanionRole;

constexpr CompanionName kMlxNames[] = {
    {.tensor = ".weight",
     .companion = ".scales",
     .role = kScale,
     .codes = Codes::kWords,
     .is_needed = true},
    {".weight", ".biases", kZeroPoint, Codes::kWords, false},
};

// How codes and scales of a mode stand, and what its quantiser does where nothing else is said.
struct MlxMode {
  std::string_view name;
  std::uint64_t bits, group;
  DataType element = DataType::kUndefined;  // of codes that are floats
  DataType scale = DataType::kUndefined;    // of scales that are bytes
};
constexpr MlxMode kMlxModes[] = {
    {"affine", 4, 64},
    {"mxfp4", 4, 32, DataType::kFloat4E2M1, DataType::kFloat8E8M0},
    {"mxfp8", 8, 32, DataType::kFloat8E4M3FN, DataType::kFloat8E8M0},
    {"nvfp4", 4, 16, DataType::kFloat4E2M1, DataType::kFloat8E4M3FN},
};
constexpr const MlxMode& kAffine = kMlxModes[0];
constexpr std::array<std::uint64_t, 6> kAffineBits = {2, 3, 4, 5, 6, 8};
constexpr std::array<std::uint64_t, 3> kAffineGroups = {32, 64, 128};

// What the configuration says of a module.
struct MlxSettings {
  const MlxMode* mode = nullptr;
  std::uint64_t bits = 0, group = 0;

  std::string Text() const {
    const std::string groups = ", groups of " + std::to_string(group);
    return mode == &kAffine ? std::to_string(bits) + "-bit integers" + groups
                            : std::string(mode->name) + groups;
  }
};

bool IsMlxConfig(const Json& json) {
  return Text(Member(json, "quant_method")).empty() && Member(json, "bits").is_number_unsigned() &&
         Member(json, "group_size").is_number_unsigned();
}

// Of an object that says "bits", "group_size" and "mode", or some of them; `why_not` goes on from
// the file's name.
std::optional<MlxSettings> MlxSettingsOf(const Json& json, std::string& why_not) {
  MlxSettings settings;
  const Json& mode = Member(json, "mode");
  const std::string name = mode.is_null() ? std::string(kAffine.name) : Text(mode);
  const auto* const found = std::ranges::find(kMlxModes, name, &MlxMode::name);
  if (found == std::end(kMlxModes)) {
    why_not = "says the mode " +
              (mode.is_string() ? words::Quoted(name) : json::Dumped(mode).substr(0, 40)) +
              ", which is not read here";
    return std::nullopt;
  }
  settings.mode = found;
  settings.bits = found->bits;
  settings.group = found->group;
  for (const auto& [key, value] :
       {std::pair("bits", &settings.bits), std::pair("group_size", &settings.group)}) {
    const Json& said = Member(json, key);
    if (said.is_null()) continue;
    if (!said.is_number_unsigned()) {
      why_not = "says \"" + std::string(key) + "\" " + json::Dumped(said).substr(0, 40);
      return std::nullopt;
    }
    *value = said.get<std::uint64_t>();
  }
  const bool fits = found == &kAffine
                        ? std::ranges::count(kAffineBits, settings.bits) != 0 && settings.group != 0
                        : settings.bits == found->bits && settings.group == found->group;
  if (fits) return settings;
  why_not = "says " + settings.Text() + ", which MLX does not have" +
            (found == &kAffine ? "" : ": they are of " + std::to_string(found->group));
  return std::nullopt;
}

// One weight's tensors, of types and ranks that fit.
class MlxWeight {
 public:
  static std::optional<MlxWeight> Of(const PackedTensors& tensors) {
    const std::optional<std::size_t> scales = tensors.Find(".scales");
    if (!scales) return std::nullopt;
    MlxWeight one(tensors, *scales);
    const std::vector<std::uint64_t>&words = one.codes_.shape, &groups = one.scale_.shape;
    const bool fits = one.codes_.type == DataType::kUint32 && words.size() >= 2 &&
                      groups.size() == words.size() && one.scale_.elements != 0 &&
                      std::equal(words.begin(), words.end() - 1, groups.begin()) &&
                      words.back() <= UINT64_MAX / 32;
    return fits ? std::optional(one) : std::nullopt;
  }

  PackedReading Read() {
    const QuantizationConfig& config = tensors_.config;
    if (biases_ && !IsNumber(tensors_.Info(*biases_).type)) {
      return Refuse(WrongType("biases", tensors_.Info(*biases_), "float16, bfloat16 or float32"));
    }
    const std::string module = tensors_.Stem(".weight");
    const bool is_said = config.json != nullptr && IsMlxConfig(*config.json);
    if (!is_said) return ReadAlone();
    const Json& own = Member(*config.json, module.c_str());
    if (own == false) {
      return Refuse("has scales, and " + config.file + " says that " + words::EscapeName(module) +
                    " is not quantised");
    }
    std::string why_not;
    const std::optional<MlxSettings> settings =
        MlxSettingsOf(own.is_object() ? own : *config.json, why_not);
    if (!settings) return Refuse("cannot be understood: " + config.file + " " + why_not);
    if (const std::string other = CopyText(module, *settings); !other.empty()) {
      return Refuse("cannot be understood: " + config.file + " says " + settings->Text() +
                    " in \"quantization\", and " + other + " in \"quantization_config\"");
    }
    reading_.said = settings->Text();
    if (Fits(*settings)) return Make(*settings);
    return Refuse("with " + words::EscapeName(scale_.name) + " " + words::ShapeText(scale_.shape) +
                  " (" + std::string(TypeName(scale_.type)) + ") " + (biases_ ? "and" : "without") +
                  " biases is not what " + config.file + " says: " + settings->Text());
  }

 private:
  MlxWeight(const PackedTensors& tensors, std::size_t scales)
      : tensors_(tensors),
        codes_(tensors.Info(tensors.codes)),
        scale_(tensors.Info(scales)),
        scales_(scales),
        biases_(tensors.Find(".biases")) {}

  PackedReading Refuse(std::string why) {
    reading_.why_not = std::move(why);
    return std::move(reading_);
  }

  // What the configuration's copy says of the module, where that is something else. Where it does
  // not name the module it says what it says of all, and that is held against the same.
  std::string CopyText(const std::string& module, const MlxSettings& settings) const {
    if (tensors_.config.copy == nullptr) return {};
    const Json& copy = *tensors_.config.copy;
    const Json& own = Member(copy, module.c_str());
    if (own == false) return "that " + words::EscapeName(module) + " is not quantised";
    std::string why_not;
    const std::optional<MlxSettings> ours =
        own.is_object() ? settings : MlxSettingsOf(*tensors_.config.json, why_not);
    const std::optional<MlxSettings> other = MlxSettingsOf(own.is_object() ? own : copy, why_not);
    if (!ours || !other || other->Text() == ours->Text()) return {};
    return other->Text();
  }

  // Without a configuration: sizes tell the floats, and some of the integers.
  PackedReading ReadAlone() {
    std::vector<MlxSettings> fit;
    for (const MlxMode& mode : kMlxModes) {
      if (&mode == &kAffine) continue;
      const MlxSettings settings = {&mode, mode.bits, mode.group};
      if (Fits(settings)) fit.push_back(settings);
    }
    for (const std::uint64_t bits : kAffineBits) {
      for (const std::uint64_t group : kAffineGroups) {
        const MlxSettings settings = {&kAffine, bits, group};
        if (Fits(settings)) fit.push_back(settings);
      }
    }
    if (fit.size() == 1) return Make(fit.front());
    if (fit.empty()) {
      return biases_ || IsByte()
                 ? Refuse("with " + words::EscapeName(scale_.name) + " " +
                          words::ShapeText(scale_.shape) + " fits no bits and groups that MLX has")
                 : std::move(reading_);
    }
    std::string all;
    for (const MlxSettings& one : fit) {
      all += (all.empty() ? "" : &one == &fit.back() ? "; or " : "; ") + one.Text();
    }
    // The usual group, where it is among them.
    const auto usual = std::ranges::find(fit, kAffine.group, &MlxSettings::group);
    const MlxSettings& one = usual != fit.end() ? *usual : fit.front();
    return Refuse("may be of " + all +
                  "; config.json beside it can say which, as {\"quantization\": {\"group_size\": " +
                  std::to_string(one.group) + ", \"bits\": " + std::to_string(one.bits) + "}}");
  }

  bool IsByte() const {
    return scale_.type == DataType::kUint8 || scale_.type == DataType::kFloat8E8M0 ||
           scale_.type == DataType::kFloat8E4M3FN;
  }
  static bool IsNumber(DataType type) {
    return type == DataType::kFloat16 || type == DataType::kBfloat16 || type == DataType::kFloat32;
  }

  bool Fits(const MlxSettings& settings) const {
    const std::uint64_t bits = codes_.shape.back() * 32, groups = scale_.shape.back();
    if (bits % settings.bits != 0 || bits / settings.bits % settings.group != 0 ||
        bits / settings.bits / settings.group != groups ||
        !core::CheckedProduct(ShapeOf(settings))) {
      return false;
    }
    if (settings.mode != &kAffine) {
      return !biases_ && (scale_.type == DataType::kUint8 || scale_.type == settings.mode->scale);
    }
    const TensorInfo* const bias = biases_ ? &tensors_.Info(*biases_) : nullptr;
    return bias != nullptr && IsNumber(scale_.type) && IsNumber(bias->type) &&
           bias->shape == scale_.shape;
  }

  std::vector<std::uint64_t> ShapeOf(const MlxSettings& settings) const {
    std::vector<std::uint64_t> shape = codes_.shape;
    shape.back() = shape.back() * 32 / settings.bits;
    return shape;
  }

  PackedReading Make(const MlxSettings& settings) {
    reading_.name = codes_.name;
    reading_.shape = ShapeOf(settings);
    reading_.weight = settings.mode == &kAffine ? MakeAffine(settings) : MakeFloats(settings);
    return std::move(reading_);
  }

  std::shared_ptr<const PackedWeight> MakeAffine(const MlxSettings& settings) const {
    const std::uint64_t rows = codes_.shape.end()[-2], width = codes_.shape.back();
    const std::uint64_t groups = scale_.shape.back();
    IntegerGroups made;
    made.batches = codes_.elements / (rows * width);
    made.group = settings.group;
    made.codes = {tensors_.codes,
                  CodeOrder::kRows,
                  rows,
                  reading_.shape.back(),
                  static_cast<int>(settings.bits),
                  rows,
                  width};
    made.scales = {scales_, scale_.type, false, groups};
    made.biases = GroupNumbers{*biases_, tensors_.Info(*biases_).type, false, groups};
    return MakeGroupedIntegers(std::move(made));
  }

  // A row has whole groups, so that they are blocks of the flattened weight.
  std::shared_ptr<const PackedWeight> MakeFloats(const MlxSettings& settings) const {
    BlockCodes made;
    made.form.name = settings.mode->name;
    made.form.cells = "groups of " + std::to_string(settings.group);
    made.form.bits = static_cast<int>(settings.bits);
    made.form.group = settings.group;
    made.tensor = tensors_.codes;
    made.elements = *core::CheckedProduct(reading_.shape);
    if (made.elements != 0) {
      made.rows = reading_.shape.end()[-2];
      made.columns = reading_.shape.back();
    }
    made.block = settings.group;
    made.element = settings.mode->element;
    made.scales = {.tensor = scales_, .type = settings.mode->scale};
    return MakeBlockCodes(std::move(made));
  }

  const PackedTensors& tensors_;
  const TensorInfo& codes_;
  const TensorInfo& scale_;
  const std::size_t scales_;
  const std::optional<std::size_t> biases_;
  PackedReading reading_;
};

PackedReading ReadMlx(const PackedTensors& tensors) {
  std::optional<MlxWeight> weight = MlxWeight::Of(tensors);
  return weight ? weight->Read() : PackedReading();
}

// What it says is of single weights, and held against each.
void ReadMlxConfig(const Json& json, QuantizationConfig& config) {
  for (const auto& [module, said] : json.items()) {
    if (said == false) config.ignored.push_back(module);
  }
}

// ------------------------------------------------------------------------------- writing

constexpr WrittenLayout MlxWritten(std::string_view format) {
  return {.format = format,
          .codes = ".weight",
          .scale = ".scales",
          .plain = ".weight",
          .packs_codes = true,
          .packed = DataType::kUint32,
          .has_scale_bytes = true};
}
constexpr WrittenLayout MlxAffine(std::string_view format) {
  return {.format = format,
          .codes = ".weight",
          .scale = ".scales",
          .plain = ".weight",
          .groups = GroupPlacing::kMlx,
          .biases = ".biases"};
}
constexpr WrittenLayout kMlxWritten[] = {MlxWritten("mxfp4"), MlxWritten("mxfp8"),
                                         MlxWritten("nvfp4"), MlxAffine("int4-group"),
                                         MlxAffine("int8-group")};

// What a module of a form is, as `quantization` says it.
Json SettingsJson(const WrittenForm& form) {
  Json json = Json::object();
  if (const IntegerForm integers = form.Integers(); integers.bits != 0) {
    json["group_size"] = integers.group;
    json["bits"] = integers.bits;
    json["mode"] = kAffine.name;
    return json;
  }
  json["group_size"] = form.format->block_columns;
  json["bits"] = FindType(form.format->scaling.element)->bits;
  json["mode"] = form.format->name;
  return json;
}

void AddModules(const QuantisedModules& modules, const Json& usual, Json& json) {
  for (const WrittenGroup& group : modules.written) {
    const Json settings = SettingsJson(group.form);
    for (const std::string& module : group.modules) {
      if (settings != usual) {
        json[module] = settings;
      } else {
        json.erase(module);  // what was said of it before
      }
    }
  }
}

// Its readers know a library's files by this.
WrittenConfig MlxConfig(const Json& json) {
  return {.quantization_config = ConfigText(json), .metadata = {{"format", "mlx"}}};
}

// The form of most modules is that of all; others are named, and so are those that stay.
WrittenConfig WriteMlx(const QuantisedModules& modules) {
  const auto most = std::ranges::max_element(
      modules.written, {}, [](const WrittenGroup& group) { return group.modules.size(); });
  const Json usual = SettingsJson(most->form);
  Json json = usual;
  AddModules(modules, usual, json);
  for (const std::string& module : modules.plain) json[module] = false;
  return MlxConfig(json);
}

std::optional<WrittenConfig> JoinMlx(const QuantisedModules& modules,
                                     const QuantizationConfig& config, std::string*) {
  Json json = *config.json;
  Json usual = Json::object();
  for (const char* const key : {"group_size", "bits", "mode"}) {
    if (json.contains(key)) usual[key] = json[key];
  }
  AddModules(modules, usual, json);
  for (const std::string& module : modules.plain) json[module] = false;
  return MlxConfig(json);
}

// Its readers look for a module's scales, but where the module is named.
WrittenConfig EditMlx(const QuantisedModules& modules, const QuantizationConfig& config) {
  Json json = *config.json;
  for (const std::string& module : modules.freed) json[module] = false;
  return {.quantization_config = ConfigText(json)};
}

}  // namespace

extern const Dialect kMlx;
constinit const Dialect kMlx = {
    .name = "MLX",
    .names = kMlxNames,
    .read_packed = ReadMlx,
    .has_config = IsMlxConfig,
    .read_config = ReadMlxConfig,
    .layout = "mlx",
    .written = kMlxWritten,
    .write_config = WriteMlx,
    .edit_config = EditMlx,
    .join_config = JoinMlx,
    .says_several_formats = true,
};

}  // namespace tensorcast::scale

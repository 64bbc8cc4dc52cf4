// ComfyUI: each layer says what it is, in a tensor of JSON beside its weight or in the file's
// metadata: one factor for float8; float4 and float8 whose scales stand as a matrix unit takes
// them; integers, whose rows may be rotated.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "files/error.h"
#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/grouped_integers.h"
#include "scale/layer_lists.h"
#include "scale/packed_tensors.h"
#include "scale/reordered_cells.h"
#include "scale/rotated_rows.h"
#include "scale/scale_companions.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;
using formats::TensorInfo;
using enum CompanionRole;

// Of a layer that is described: of a shape that no other library's has.
constexpr CompanionName Described(std::string_view tensor, std::string_view companion,
                                  CompanionRole role) {
  return {.tensor = tensor, .companion = companion, .role = role, .is_described = true};
}

constexpr CompanionName kComfyNames[] = {
    {".weight", ".scale_weight", kScale},
    {"", ".scale_weight", kScale},
    {".weight", ".scale_input", kActivationScale},
    {".weight", kLayerMark, kState},
    {.tensor = "", .companion = "_scale", .role = kScale, .is_described = true, .is_needed = true},
    Described(".weight", ".weight_zero", kZeroPoint),
    Described(".weight", ".weight_zeros", kZeroPoint),
    // Of formats that are not read.
    Described(".weight", ".weight_s_rel", kScale),
    Described(".weight", ".weight_s_channel", kSecondScale),
    Described(".weight", ".weight_correction", kState),
    Described(".weight", ".weight_codebook", kCodeMap),
    Described(".weight", ".weight_proj_down", kState),
    Described(".weight", ".weight_proj_up", kState),
    Described(".weight", ".weight_smooth_factor", kActivationScale),
};

constexpr Layout kComfyLayouts[] = {{"", "", "_scale"}};
constexpr Layout kComfyMarkedLayouts[] = {{".weight", ".weight", ".scale_weight"},
                                          {"", "", ".scale_weight"}};

// comfy-kitchen fills rows up to such multiples, and its matrix products ask for them.
std::string WhyNotWhole(std::span<const std::uint64_t> shape, std::uint64_t rows) {
  if (shape.size() != 2) return "ComfyUI has only matrices in this format";
  if (shape[0] % rows == 0) return {};
  return "its first dimension, " + std::to_string(shape[0]) + ", is not a multiple of " +
         std::to_string(rows) + ", as ComfyUI's have to be";
}

constexpr WrittenLayout kComfyWritten[] = {
    {.format = "fp8-tensor", .codes = "", .scale = "_scale", .one = OneShape::kScalar},
    {.format = "int8-row",
     .codes = ".weight",
     .scale = ".weight_scale",
     .plain = ".weight",
     .rotation = 256,
     .why_not = [](std::string_view,
                   std::span<const std::uint64_t> shape) { return WhyNotWhole(shape, 1); }},
    {.format = "mxfp8",
     .codes = ".weight",
     .scale = ".weight_scale",
     .plain = ".weight",
     .has_scale_bytes = true,
     .has_tiled_scales = true,
     .why_not = [](std::string_view,
                   std::span<const std::uint64_t> shape) { return WhyNotWhole(shape, 32); }},
    {.format = "nvfp4",
     .codes = ".weight",
     .scale = ".weight_scale",
     .global = ".weight_scale_2",
     .plain = ".weight",
     .global_use = Factor::kMultiplies,
     .one = OneShape::kScalar,
     .packs_codes = true,
     .is_high_first = true,
     .has_tiled_scales = true,
     .why_not = [](std::string_view, std::span<const std::uint64_t> shape) {
       return WhyNotWhole(shape, 16);
     }}};

// ------------------------------------------------------------------------------- descriptions

constexpr std::string_view kNvfp4Format = "nvfp4", kMxfp8Format = "mxfp8",
                           kInt8Format = "int8_tensorwise", kInt4Format = "convrot_w4a4",
                           kAwq4Format = "awq_w4a16";
struct Float8Format {
  std::string_view name;
  DataType codes;
};
constexpr Float8Format kFloat8Formats[] = {{"float8_e4m3fn", DataType::kFloat8E4M3FN},
                                           {"float8_e5m2", DataType::kFloat8E5M2}};
// What a description may say that the values do not depend on.
constexpr std::string_view kPassedOver[] = {"full_precision_matrix_mult", "orig_dtype",
                                            "quant_group_size", "linear_dtype"};

bool IsFloat8(std::string_view format) {
  return std::ranges::count(kFloat8Formats, format, &Float8Format::name) != 0;
}

struct Description {
  std::string format;
  bool is_rotated = false;
  std::uint64_t rotation = 256;
  std::optional<bool> is_per_row;
  std::optional<std::uint64_t> group;
  std::vector<std::uint64_t> shape;  // of the weight; empty: it is not said

  friend bool operator==(const Description&, const Description&) = default;
};

// Reads one; or says why not, in words that go on from its name.
std::string ReadDescription(const Json& json, Description& description) {
  if (!json.is_object()) return "which is not a description in JSON";
  bool is_integer = false;
  for (const auto& [key, value] : json.items()) {
    if (value.is_null() || IsAmong(kPassedOver, key)) continue;
    const bool is_number = value.is_number_unsigned();
    bool fits = false;
    if (key == "format") {
      fits = value.is_string();
      description.format = Text(value);
    } else if (key == "convrot" || key == "per_row") {
      fits = is_integer = value.is_boolean();
      if (fits && key == "convrot") description.is_rotated = value.get<bool>();
      if (fits && key == "per_row") description.is_per_row = value.get<bool>();
    } else if (key == "convrot_groupsize") {
      fits = is_number && std::ranges::count(kRotations, value.get<std::uint64_t>()) != 0;
      if (fits) description.rotation = value.get<std::uint64_t>();
    } else if (key == "group_size") {
      fits = is_number && value != 0u;
      if (fits) description.group = value.get<std::uint64_t>();
    } else if (key == "orig_shape") {
      fits = value.is_array() && value.size() <= core::kMostDimensions;
      for (std::size_t i = 0; fits && i < value.size(); ++i) {
        fits = value[i].is_number_unsigned() && value[i] != 0u;
        if (fits) description.shape.push_back(value[i].get<std::uint64_t>());
      }
      fits = fits && !description.shape.empty();
    } else {
      return "whose " + words::Quoted(key) + " is not understood here";
    }
    if (!fits) {
      return "whose " + words::Quoted(key) + " is " + json::Dumped(value).substr(0, 40) +
             ", which is not read here";
    }
  }
  // A library that has this format alone does not name it.
  if (description.format.empty() && is_integer) description.format = kInt8Format;
  if (description.format.empty()) return "which names no format";
  constexpr std::array kRead = {kNvfp4Format, kMxfp8Format, kInt8Format, kInt4Format, kAwq4Format};
  if (!IsAmong(kRead, description.format) && !IsFloat8(description.format)) {
    return "whose format " + words::Quoted(description.format) + " is not read here";
  }
  if (description.is_rotated && description.format != kInt8Format &&
      description.format != kInt4Format) {
    return "whose \"convrot\" is not understood here for " + words::Quoted(description.format);
  }
  return {};
}

// ------------------------------------------------------------------------------- weights

// One layer's tensors.
class ComfyLayer {
 public:
  explicit ComfyLayer(const PackedTensors& tensors)
      : tensors_(tensors), codes_(tensors.Info(tensors.codes)) {}

  // Nothing of float8, which is like that of others.
  PackedReading Read() {
    if (!Describe()) return std::move(reading_);
    if (IsFloat8(format())) return ReadFloat8();
    reading_.said = words::Quoted(format());
    reading_.name = codes_.name;
    if (!HasAll()) return std::move(reading_);
    if (format() == kNvfp4Format) return ReadNvfp4();
    if (format() == kMxfp8Format) return ReadMxfp8();
    if (format() == kAwq4Format) return ReadAwq4();
    return ReadRows();
  }

 private:
  const std::string& format() const { return description_.format; }

  std::string NameOf(std::size_t tensor) const {
    return words::EscapeName(tensors_.Info(tensor).name);
  }
  std::string TypedName(std::size_t tensor) const {
    const TensorInfo& info = tensors_.Info(tensor);
    return NameOf(tensor) + " " + words::ShapeText(info.shape) + " (" +
           std::string(TypeName(info.type)) + ")";
  }

  // Notes why it is not read.
  void Refuse(std::string why, core::ErrorKind kind = core::ErrorKind::kContents) {
    reading_.why_not = std::move(why);
    reading_.kind = kind;
  }
  // What contradicts the description.
  PackedReading Contradict(const std::string& what) {
    Refuse("(" + std::string(TypeName(codes_.type)) + ") is not what " + source_ + " says, " +
           words::Quoted(format()) + ": " + what);
    return std::move(reading_);
  }

  bool Describe() {
    const std::optional<std::size_t> mark = tensors_.Find(kLayerMark);
    const std::string metadata = "__metadata__[\"" + std::string(kMetadataMark) + "\"]";
    if (mark) {
      source_ = NameOf(*mark);
      reading_.said_by = kLayerMark.substr(1);
      if (const std::string why = ReadMark(*mark); !why.empty()) {
        Refuse("has " + NameOf(*mark) + ", " + why, core::ErrorKind::kUnsupported);
        return false;
      }
    }
    if (tensors_.description == nullptr) return mark.has_value();
    Description other;
    const std::string why = ReadDescription(*tensors_.description, other);
    if (!why.empty()) {
      Refuse("is in " + metadata + ", " + why, core::ErrorKind::kUnsupported);
      return false;
    }
    if (mark && other != description_) {
      Refuse("has " + NameOf(*mark) + ", and " + metadata + " describes it otherwise");
      return false;
    }
    if (!mark) source_ = reading_.said_by = metadata;
    description_ = std::move(other);
    return true;
  }

  std::string ReadMark(std::size_t mark) {
    constexpr std::uint64_t kMostBytes = 64 << 10;
    const TensorInfo& info = tensors_.Info(mark);
    if (info.type != DataType::kUint8) {
      return "which is not a text: it has the type " + std::string(TypeName(info.type));
    }
    if (info.bytes > kMostBytes) return "which is too long for a description";
    std::string text(static_cast<std::size_t>(info.bytes), '\0');
    tensors_.reader.Read(mark, 0, std::as_writable_bytes(std::span(text)));
    return ReadDescription(json::JsonOrNull(text), description_);
  }

  PackedReading ReadFloat8() {
    const auto* const said = std::ranges::find(kFloat8Formats, format(), &Float8Format::name);
    if (codes_.type != said->codes)
      return Contradict("codes have to be " + std::string(TypeName(said->codes)));
    return {};
  }

  // Whether what the format needs is there, and nothing that it does not have.
  bool HasAll() {
    scale_ = tensors_.Find("_scale");
    for (const Companion* const one : tensors_.companions) {
      const CompanionRole role = one->row->role;
      const bool is_expected = role == kActivationScale || one->row->companion == kLayerMark ||
                               one->tensor == scale_.value_or(tensors_.codes) ||
                               (role == kSecondScale && format() == kNvfp4Format) ||
                               (role == kZeroPoint && format() == kAwq4Format);
      if (!one->row->why_not.empty() || !is_expected) {
        Refuse("has " + NameOf(one->tensor) + ", " +
                   (is_expected ? std::string(one->row->why_not)
                                : "which is not understood beside " + words::Quoted(format())),
               core::ErrorKind::kUnsupported);
        return false;
      }
      if (role == kSecondScale) global_ = tensors_.Use(one->tensor);
      if (role == kZeroPoint) zero_ = tensors_.Use(one->tensor);
    }
    const auto lacks = [&](const std::optional<std::size_t>& tensor, std::string_view ending) {
      if (!tensor) {
        Refuse("has no tensor called " + words::EscapeName(codes_.name) + std::string(ending) +
               ", and " + source_ + " says " + words::Quoted(format()));
      }
      return !tensor;
    };
    return !lacks(scale_, "_scale") && !(format() == kNvfp4Format && lacks(global_, "_scale_2")) &&
           !(format() == kAwq4Format && lacks(zero_, "_zero"));
  }

  const TensorInfo& scale() const { return tensors_.Info(*scale_); }
  bool HasFloatScales() const {
    const DataType type = scale().type;
    return type == DataType::kFloat32 || type == DataType::kBfloat16 || type == DataType::kFloat16;
  }

  // The shape of a matrix of codes, `per_byte` in each; empty where the tensor is none.
  std::vector<std::uint64_t> MatrixShape(std::uint64_t per_byte) const {
    std::vector<std::uint64_t> shape = codes_.shape;
    if (shape.size() != 2 || shape.back() > UINT64_MAX / per_byte) return {};
    shape.back() *= per_byte;
    return core::CheckedProduct(shape) ? shape : std::vector<std::uint64_t>();
  }

  PackedReading ReadNvfp4() {
    const TensorInfo& global = tensors_.Info(*global_);
    if (global.type != DataType::kFloat32 || global.elements != 1) {
      return Contradict(TypedName(*global_) + " has to be one number of float32");
    }
    ReorderedCells made;
    made.form.name = kNvfp4Format;
    made.scaling = {.element = DataType::kFloat4E2M1,
                    .scale = DataType::kFloat8E4M3FN,
                    .global_use = Factor::kMultiplies};
    made.is_high_first = true;
    made.global = global_;
    if (codes_.type != DataType::kUint8) return Contradict("codes have to be uint8");
    return ReadTiled(std::move(made), MatrixShape(2), 16, 16);
  }

  PackedReading ReadMxfp8() {
    ReorderedCells made;
    made.form.name = kMxfp8Format;
    made.scaling = {.element = DataType::kFloat8E4M3FN, .scale = DataType::kFloat8E8M0};
    if (codes_.type != DataType::kFloat8E4M3FN) return Contradict("codes have to be float8e4m3fn");
    return ReadTiled(std::move(made), MatrixShape(1), 32, 32);
  }

  // Groups whose scales stand in tiles. `stored`: the shape of the codes, which may have been
  // filled up to multiples of `padding`.
  PackedReading ReadTiled(ReorderedCells made, const std::vector<std::uint64_t>& stored,
                          std::uint64_t group, std::uint64_t padding) {
    if (stored.empty() || stored[1] % group != 0) {
      return Contradict("codes have to be a matrix of whole groups of " + std::to_string(group));
    }
    if (description_.group.value_or(group) != group) {
      return Contradict("\"group_size\" has to be " + std::to_string(group));
    }
    const ScaleTiles tiles = ScaleTiles::Of(stored[1] / group);
    const std::uint64_t rows = stored[0] / ScaleTiles::kRows + (stored[0] % ScaleTiles::kRows != 0);
    const std::vector<std::uint64_t> wanted = {rows * ScaleTiles::kRows,
                                               tiles.columns * ScaleTiles::kColumns};
    const bool is_e8m0 = made.scaling.scale == DataType::kFloat8E8M0;
    const bool has_type =
        scale().type == made.scaling.scale || (is_e8m0 && scale().type == DataType::kUint8);
    const bool is_flat = scale().shape.size() == 1 && scale().elements == wanted[0] * wanted[1];
    if (!has_type || (scale().shape != wanted && !is_flat)) {
      return Contradict(TypedName(*scale_) + " has to be " + words::ShapeText(wanted) + " of " +
                        std::string(TypeName(made.scaling.scale)));
    }
    const std::vector<std::uint64_t>& shape =
        description_.shape.empty() ? stored : description_.shape;
    const auto is_filled = [&](std::uint64_t n, std::uint64_t to) {
      return n == to || (n < to && to - n < padding && to % padding == 0);
    };
    if (shape.size() != 2 || !is_filled(shape[0], stored[0]) || !is_filled(shape[1], stored[1])) {
      return Contradict("\"orig_shape\" is " + words::ShapeText(shape) + ", and the codes are " +
                        words::ShapeText(stored));
    }
    made.form.cells = "groups of " + std::to_string(group);
    made.form.bits = FindType(made.scaling.element)->bits;
    made.form.group = group;
    made.codes = tensors_.codes;
    made.scales = *scale_;
    made.stored_columns = stored[1];
    made.tiles = tiles;
    made.partition = Partition::OfBlocks(shape, 1, group);
    reading_.shape = shape;
    reading_.weight = MakeReorderedCells(std::move(made));
    return std::move(reading_);
  }

  // Integers with a scale for a row, or one.
  PackedReading ReadRows() {
    const bool is_wide = format() == kInt8Format;
    const bool is_rotated = description_.is_rotated || !is_wide;
    if (codes_.type != DataType::kInt8) return Contradict("codes have to be int8");
    const std::vector<std::uint64_t> shape =
        is_wide && !is_rotated ? codes_.shape : MatrixShape(is_wide ? 1 : 2);
    if (shape.size() < 2) return Contradict("codes have to be a matrix");
    if (!description_.shape.empty() && description_.shape != shape) {
      return Contradict("\"orig_shape\" is " + words::ShapeText(description_.shape));
    }
    const bool has_one = scale().elements == 1;
    const bool has_rows = scale().elements == shape[0] && scale().shape[0] == shape[0];
    if (!HasFloatScales() || (!has_one && !has_rows)) {
      return Contradict(TypedName(*scale_) + " has to be one scale, or one for a row");
    }
    if (description_.is_per_row && *description_.is_per_row == (has_one && shape[0] != 1)) {
      return Contradict(TypedName(*scale_) + (has_one ? " is one scale" : " is one for a row") +
                        ", and \"per_row\" " + (has_one ? "true" : "false"));
    }
    const std::uint64_t columns = *core::CheckedProduct(shape) / shape[0];
    if (is_rotated && columns % description_.rotation != 0) {
      return Contradict("rows have to be whole groups of " + std::to_string(description_.rotation));
    }
    PackedWeight::Form form;
    form.name = !is_wide ? GroupedFormat(4) : has_one ? "int8-tensor" : "int8-row";
    form.cells = has_one ? "one scale for the tensor" : "one scale for a row";
    if (is_rotated) form.rotation = description_.rotation;
    if (is_rotated) form.cells += ", rotated in groups of " + std::to_string(description_.rotation);
    form.bits = is_wide ? 8 : 4;
    form.is_integer = true;
    reading_.shape = shape;
    if (is_rotated) {
      reading_.weight = MakeRotatedRows({.form = std::move(form),
                                         .codes = tensors_.codes,
                                         .rows = shape[0],
                                         .columns = columns,
                                         .group = description_.rotation,
                                         .scales = *scale_,
                                         .scale = scale().type,
                                         .has_one_scale = has_one});
      return std::move(reading_);
    }
    ReorderedCells made;
    made.form = std::move(form);
    made.scaling = {.element = DataType::kInt8, .scale = scale().type};
    made.partition = {1, shape[0], columns, has_one ? shape[0] : 1, columns};
    made.codes = tensors_.codes;
    made.stored_columns = columns;
    made.scales = *scale_;
    reading_.weight = MakeReorderedCells(std::move(made));
    return std::move(reading_);
  }

  // Integers with a scale and a number that is added for each group of a row; both stand
  // transposed.
  PackedReading ReadAwq4() {
    const TensorInfo& zero = tensors_.Info(*zero_);
    const std::uint64_t group = description_.group.value_or(64);
    const std::vector<std::uint64_t> shape = MatrixShape(2);
    if (codes_.type != DataType::kInt8 || shape.empty() || shape[1] % 8 != 0 ||
        shape[1] % group != 0) {
      return Contradict("codes have to be a matrix of int8, of whole groups of " +
                        std::to_string(group));
    }
    if (!description_.shape.empty() && description_.shape != shape) {
      return Contradict("\"orig_shape\" is " + words::ShapeText(description_.shape));
    }
    const std::vector<std::uint64_t> wanted = {shape[1] / group, shape[0]};
    if (!HasFloatScales() || scale().shape != wanted || zero.shape != wanted ||
        zero.type != scale().type) {
      return Contradict(TypedName(*scale_) + " and " + TypedName(*zero_) + " have to be floats " +
                        words::ShapeText(wanted));
    }
    IntegerGroups made;
    made.group = group;
    made.codes = {tensors_.codes, CodeOrder::kRows, shape[0], shape[1], 4, shape[0], shape[1] / 8};
    made.scales = {*scale_, scale().type, true, shape[0]};
    made.biases = GroupNumbers{*zero_, zero.type, true, shape[0]};
    made.zero = 8;
    reading_.shape = shape;
    reading_.weight = MakeGroupedIntegers(std::move(made));
    return std::move(reading_);
  }

  const PackedTensors& tensors_;
  const TensorInfo& codes_;
  std::optional<std::size_t> scale_, global_, zero_;
  Description description_;
  std::string source_;  // what describes it, for messages
  PackedReading reading_;
};

PackedReading ReadComfy(const PackedTensors& tensors) { return ComfyLayer(tensors).Read(); }

// ------------------------------------------------------------------------------- configuration

Json DescriptionOf(const WrittenForm& form) {
  Json json = Json::object();
  const std::string_view format = form.format->name;
  if (format == "fp8-tensor") {
    json["format"] = kFloat8Formats[0].name;
  } else if (format != "int8-row") {
    json["format"] = format;  // both call it the same
  } else {
    json["format"] = kInt8Format;
    json["per_row"] = true;
    if (form.rotation != 0) {
      json["convrot"] = true;
      json["convrot_groupsize"] = form.rotation;
    }
  }
  return json;
}

WrittenConfig WriteComfy(const QuantisedModules& modules) {
  Json layers = Json::object();
  for (const WrittenGroup& group : modules.written) {
    for (const std::string& module : group.modules) layers[module] = DescriptionOf(group.form);
  }
  const Json json = {{"format_version", "1.0"}, {"layers", std::move(layers)}};
  WrittenConfig config;
  config.metadata[std::string(kMetadataMark)] = ConfigText(json, json::kOneLine);
  return config;
}

std::string EditMetadata(const std::string& old, const QuantisedModules& modules,
                         const std::string& made) {
  Json json = json::JsonOrNull(old);
  if (!Member(json, "layers").is_object()) return {};
  Json& layers = json["layers"];
  const std::size_t before = layers.size();
  Forget(layers, modules.freed);
  if (!made.empty()) layers.update(Member(json::JsonOrNull(made), "layers"));
  return layers.size() == before && made.empty() ? std::string() : ConfigText(json, json::kOneLine);
}

}  // namespace

extern const Dialect kComfyUi;
constinit const Dialect kComfyUi = {
    .name = "ComfyUI",
    .names = kComfyNames,
    .layouts = kComfyLayouts,
    .read_packed = ReadComfy,
    .layout = "comfyui",
    .written = kComfyWritten,
    .write_config = WriteComfy,
    .says_several_formats = true,
    .metadata_key = kMetadataMark,
    .edit_metadata = EditMetadata,
    .only_format = ".safetensors",
};

// Files that a tensor "scaled_fp8" marks.
extern const Dialect kComfyUiMarked;
constinit const Dialect kComfyUiMarked = {.name = "ComfyUI", .layouts = kComfyMarkedLayouts};

}  // namespace tensorcast::scale

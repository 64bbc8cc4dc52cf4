// bitsandbytes: codes of 4 bits that are numbers of a table, in blocks over the flattened weight,
// with scales that may be codes themselves and a text that says so; and LLM.int8()'s rows.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "json/ordered_json.h"
#include "scale/block_codes.h"
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"
#include "scale/layer_lists.h"
#include "scale/packed_tensors.h"
#include "scale/quantised_modules.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;
using formats::TensorInfo;
using enum CompanionRole;

constexpr std::string_view kNf4State = ".quant_state.bitsandbytes__nf4";
constexpr std::string_view kFp4State = ".quant_state.bitsandbytes__fp4";
constexpr CompanionName kBitsAndBytesNames[] = {
    {.tensor = ".weight", .companion = ".SCB", .role = kScale, .is_needed = true},
    {.tensor = "", .companion = ".absmax", .role = kScale, .codes = Codes::kAny, .is_needed = true},
    {"", ".nested_absmax", kSecondScale, Codes::kAny},
    {"", ".quant_map", kCodeMap, Codes::kAny},
    {"", ".nested_quant_map", kCodeMap, Codes::kAny},
    {"", kNf4State, kState, Codes::kAny},
    {"", kFp4State, kState, Codes::kAny},
    {".weight", ".weight_format", kState},
};
constexpr std::string_view kBitsAndBytesMethods[] = {"bitsandbytes"};
constexpr const char* kSkippedModules = "llm_int8_skip_modules";
constexpr const char* kBitsAndBytesExceptions[] = {kSkippedModules};

// Of rows, as its kernels understand them; others are orders of one processor's.
constexpr const char* kRowOrders[] = {"row", "col32", "col_turing", "col_ampere"};

std::uint64_t CeilDivide(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

// What the text beside a weight of 4 bits says.
struct QuantState {
  std::vector<std::uint64_t> shape;
  std::uint64_t block = 0;
  std::string type;
  bool is_nested = false;
  std::uint64_t nested_block = 0;
  float nested_offset = 0;

  std::string why_not = {};  // "says no blocksize above 0"; empty: all is understood
};

std::uint64_t SizeOf(const Json& json) {
  return json.is_number_unsigned() ? json.get<std::uint64_t>() : 0;
}

QuantState ReadState(const formats::TensorReader& reader, std::size_t tensor) {
  constexpr std::uint64_t kMostBytes = 64 << 10;
  QuantState state;
  const auto refuse = [&](std::string why) {
    state.why_not = std::move(why);
    return state;
  };
  const TensorInfo& info = reader.contents().tensors[tensor];
  if (info.type != DataType::kUint8)
    return refuse("is not a text: it has the type " + std::string(TypeName(info.type)));
  if (info.bytes > kMostBytes) return refuse("is too long for a description");
  std::string text(static_cast<std::size_t>(info.bytes), '\0');
  reader.Read(tensor, 0, std::as_writable_bytes(std::span(text)));
  const Json json = json::JsonOrNull(text);
  if (!json.is_object()) return refuse("is not a JSON object");
  const Json& shape = Member(json, "shape");
  bool is_shape = shape.is_array() && shape.size() <= core::kMostDimensions;
  for (std::size_t i = 0; is_shape && i < shape.size(); ++i) {
    is_shape = SizeOf(shape[i]) != 0;
    state.shape.push_back(SizeOf(shape[i]));
  }
  if (!is_shape) return refuse("gives no shape that a weight can have");
  if (!core::CheckedProduct(state.shape)) {
    return refuse("gives a shape of more values than 64 bits can count");
  }
  state.type = Text(Member(json, "quant_type"));
  state.block = SizeOf(Member(json, "blocksize"));
  if (state.block == 0) return refuse("gives no \"blocksize\" above 0");
  const Json& nested_block = Member(json, "nested_blocksize");
  const Json& offset = Member(json, "nested_offset");
  state.is_nested = !nested_block.is_null() || !offset.is_null();
  if (!state.is_nested) return state;
  state.nested_block = SizeOf(nested_block);
  if (state.nested_block == 0) return refuse("gives no \"nested_blocksize\" above 0");
  state.nested_offset = offset.is_number() ? static_cast<float>(offset.get<double>()) : NAN;
  if (!std::isfinite(state.nested_offset)) {
    return refuse("gives no \"nested_offset\" that is a number of float32");
  }
  return state;
}

class FourBitReader {
 public:
  FourBitReader(const PackedTensors& tensors, std::size_t state, std::string_view type)
      : tensors_(tensors), state_tensor_(state), type_(type) {}

  PackedReading Read() {
    const QuantState state = ReadState(tensors_.reader, state_tensor_);
    if (!state.why_not.empty()) return Refuse(state_tensor_, state.why_not);
    if (!state.type.empty() && state.type != type_) {
      return Refuse(state_tensor_, "says \"quant_type\" " + words::Quoted(state.type));
    }
    const TensorInfo& info = tensors_.Info(tensors_.codes);
    const std::uint64_t elements = *core::CheckedProduct(state.shape);
    // The elements that hold the bytes may end behind them.
    const std::uint64_t bytes = CeilDivide(elements, 2);
    const std::uint64_t element = info.bytes / info.elements;
    if (info.bytes < bytes || info.bytes - bytes >= element) {
      return Refuse("has " + words::CountText(info.bytes, "byte") + ", and " +
                    words::EscapeName(tensors_.Info(state_tensor_).name) + " says the shape " +
                    words::ShapeText(state.shape) + ", which takes " + std::to_string(bytes));
    }
    const std::uint64_t blocks = CeilDivide(elements, state.block);
    BlockCodes made;
    made.values = Numbers(".quant_map", DataType::kFloat32, 16);
    made.scales.tensor =
        Numbers(".absmax", state.is_nested ? DataType::kUint8 : DataType::kFloat32, blocks);
    if (state.is_nested) {
      made.scales.nested =
          BlockScales::Nested{.values = Numbers(".nested_quant_map", DataType::kFloat32, 256),
                              .scales = Numbers(".nested_absmax", DataType::kFloat32,
                                                CeilDivide(blocks, state.nested_block)),
                              .block = state.nested_block,
                              .offset = state.nested_offset};
    } else if (tensors_.Find(".nested_absmax")) {
      return Refuse(state_tensor_, "mentions no nested scales, and " +
                                       NameOf(*tensors_.Find(".nested_absmax")) + " is there");
    }
    if (!reading_.why_not.empty()) return std::move(reading_);
    made.form.name = type_;
    made.form.cells = "blocks of " + std::to_string(state.block);
    if (state.is_nested) made.form.cells += ", scales in 8 bits";
    made.form.bits = 4;
    made.tensor = tensors_.codes;
    made.is_high_first = true;
    made.elements = elements;
    made.block = state.block;
    reading_.name = info.name;
    reading_.shape = state.shape;
    reading_.weight = MakeBlockCodes(std::move(made));
    return std::move(reading_);
  }

 private:
  std::string NameOf(std::size_t tensor) const {
    return words::EscapeName(tensors_.Info(tensor).name);
  }
  PackedReading Refuse(std::string why) {
    reading_.why_not = std::move(why);
    return std::move(reading_);
  }
  PackedReading Refuse(std::size_t companion, const std::string& why) {
    return Refuse("has " + NameOf(companion) + ", which " + why);
  }

  // The companion of so many numbers of a type; else what is wrong is noted.
  std::size_t Numbers(std::string_view ending, DataType type, std::uint64_t count) {
    const std::optional<std::size_t> found = tensors_.Find(ending);
    if (!reading_.why_not.empty()) return 0;
    if (!found) {
      reading_.why_not = "has no tensor called " +
                         words::EscapeName(tensors_.Info(tensors_.codes).name) +
                         std::string(ending);
      return 0;
    }
    const TensorInfo& info = tensors_.Info(*found);
    if (info.type != type || info.elements != count) {
      reading_.why_not = "has " + NameOf(*found) + " " + words::ShapeText(info.shape) + " (" +
                         std::string(TypeName(info.type)) + "), and " +
                         words::CountText(count, "number") + " of " + std::string(TypeName(type)) +
                         (count == 1 ? " is" : " are") + " needed";
    }
    return *found;
  }

  const PackedTensors& tensors_;
  const std::size_t state_tensor_;
  const std::string_view type_;
  PackedReading reading_;
};

// Rows of int8, each of which 127 is its scale.
PackedReading ReadRows(const PackedTensors& tensors, std::size_t scales) {
  PackedReading reading;
  const TensorInfo& codes = tensors.Info(tensors.codes);
  const TensorInfo& scale = tensors.Info(scales);
  const auto refuse = [&](std::string why) {
    reading.why_not = std::move(why);
    return std::move(reading);
  };
  if (codes.type != DataType::kInt8 || codes.shape.size() < 2 || scale.type != DataType::kFloat32 ||
      scale.elements != codes.shape.front()) {
    return refuse("(" + std::string(TypeName(codes.type)) + ") has the scales " +
                  words::EscapeName(scale.name) + " " + words::ShapeText(scale.shape) + " (" +
                  std::string(TypeName(scale.type)) +
                  "); bitsandbytes has a float32 for each row of a matrix of int8");
  }
  if (const std::optional<std::size_t> format = tensors.Find(".weight_format")) {
    const TensorInfo& info = tensors.Info(*format);
    std::uint8_t code = 0;
    if (info.type != DataType::kUint8 || info.elements != 1) {
      return refuse("has " + words::EscapeName(info.name) + ", which is not a single byte");
    }
    tensors.reader.Read(*format, 0, std::as_writable_bytes(std::span(&code, 1)));
    if (code != 0) {
      reading.kind = core::ErrorKind::kUnsupported;
      const bool is_known = code < std::size(kRowOrders);
      return refuse("has " + words::EscapeName(info.name) + " " + std::to_string(code) +
                    (is_known ? " (\"" + std::string(kRowOrders[code]) + "\")" : std::string()) +
                    "; only 0 (\"row\") is read");
    }
  }
  BlockCodes made;
  made.form.name = "int8-row";
  made.form.cells = "one scale for a row";
  made.form.bits = 8;
  made.form.is_integer = true;
  made.tensor = tensors.codes;
  made.elements = codes.elements;
  made.block = codes.elements / codes.shape.front();
  made.element = DataType::kInt8;
  made.scales.tensor = scales;
  made.divisor = 127;
  reading.name = codes.name;
  reading.shape = codes.shape;
  reading.weight = MakeBlockCodes(std::move(made));
  return reading;
}

PackedReading ReadBitsAndBytes(const PackedTensors& tensors) {
  const std::optional<std::size_t> nf4 = tensors.Find(kNf4State), fp4 = tensors.Find(kFp4State);
  const std::optional<std::size_t> rows = tensors.Find(".SCB");
  PackedReading reading;
  if (nf4.has_value() + fp4.has_value() + rows.has_value() > 1) {
    reading.why_not = "has what bitsandbytes puts beside weights of two kinds";
  } else if (nf4) {
    return FourBitReader(tensors, *nf4, "nf4").Read();
  } else if (fp4) {
    return FourBitReader(tensors, *fp4, "fp4").Read();
  } else if (rows) {
    return ReadRows(tensors, *rows);
  } else if (const std::string name = words::EscapeName(tensors.Info(tensors.codes).name);
             tensors.Find(".absmax")) {
    reading.why_not = "has scales of bitsandbytes, and no text that says its shape: neither " +
                      name + std::string(kNf4State) + " nor " + name + std::string(kFp4State);
  }
  return reading;
}

// Each weight says by itself what it is; nothing else is beside such ones.
void ReadBitsAndBytesConfig(const Json&, QuantizationConfig& config) { config.is_complete = true; }

WrittenConfig EditBitsAndBytes(const QuantisedModules& modules, const QuantizationConfig& config) {
  Json json = *config.json;
  AddNames(json[kSkippedModules], modules.freed);
  return {.quantization_config = ConfigText(json)};
}

}  // namespace

extern const Dialect kBitsAndBytes;
constinit const Dialect kBitsAndBytes = {
    .name = "bitsandbytes",
    .names = kBitsAndBytesNames,
    .read_packed = ReadBitsAndBytes,
    .methods = kBitsAndBytesMethods,
    .read_config = ReadBitsAndBytesConfig,
    .exceptions = kBitsAndBytesExceptions,
    .layer_names = LayerNames::kParts,
    .edit_config = EditBitsAndBytes,
};

}  // namespace tensorcast::scale

// Figures, tensors and examples as JSON; printed, they are indented as nlohmann's dump(2) does.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/tool_json.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "display/tensor_text.h"
#include "formats/element_index.h"
#include "tensorcast/explain.hpp"
#include "words/utf8.h"

namespace tensorcast::tool {
namespace {

constexpr std::size_t kIndent = 2;

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

// Where a code has a scale, "result" would be another number than that of the tensor.
Json ExampleJson(const formats::TensorInfo& info, const LossReport& loss,
                 const LossExample& example, ResultIs result) {
  Json json = Json::object();
  json["index"] = formats::ElementIndex(info, example.index);
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
    const words::Utf8Character c = words::DecodeUtf8(rest);
    if (c.point < 0x7F || !words::IsDeceptive(c.point)) {
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

Json CountsJson(std::span<const std::uint64_t, kLossKinds> counts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    json[std::string(LossName(static_cast<Loss>(i)))] = counts[i];
  }
  return json;
}

Json SnrJson(const LossReport& loss) { return loss.compared > 0 ? Json(loss.snr_db) : Json(); }

Json FiguresJson(const LossReport& loss) {
  Json json = Json::object();
  json["elements"] = loss.elements;
  json["counts"] = CountsJson(loss.counts);
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

Json LossOfTensorJson(const formats::TensorInfo& info, const LossReport& loss, ResultIs result) {
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

Json TensorJson(const formats::TensorInfo& info) {
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

Json ExponentsJson(const convert::ExponentCounts& exponents) {
  if (exponents.sampled == 0) return {};
  Json json = Json::object();
  json["sampled"] = exponents.sampled;
  json["zeros"] = exponents.zeros;
  json["not_finite"] = exponents.not_finite;
  json["first_exponent"] = exponents.counts.empty() ? Json() : Json(exponents.first);
  json["counts"] = exponents.counts;
  return json;
}

Json TypeJson(DataType type) {
  return type == DataType::kUndefined ? Json() : Json(TypeName(type));
}

std::string JsonText(const Json& json) {
  // Names may be any bytes (an npy's name is its file's): what is not UTF-8 becomes U+FFFD.
  std::string text = json::Dumped(json, 2) + "\n";
  EscapeDeceptive(text);
  return text;
}

std::string IndentedJson(std::string_view json) { return JsonText(json::JsonOrNull(json)); }

JsonPrinter::JsonPrinter(std::string_view command, TakeText print) : print_(std::move(print)) {
  Open('{');
  Member("schema_version", kJsonSchemaVersion);
  Member("command", command);
}

void JsonPrinter::End() {
  Close('}');
  print_("\n");
}

void JsonPrinter::Member(std::string_view key, const Json& value) {
  Key(key);
  Value(value);
}

void JsonPrinter::Element(const Json& value) {
  Separate();
  Value(value);
}

void JsonPrinter::BeginArray(std::string_view key) {
  Key(key);
  Open('[');
}
void JsonPrinter::EndArray() { Close(']'); }

void JsonPrinter::BeginObject() {
  Separate();
  Open('{');
}
void JsonPrinter::EndObject() { Close('}'); }

void JsonPrinter::NewLine() {
  print_("\n");
  print_(std::string(depth_ * kIndent, ' '));
}

void JsonPrinter::Separate() {
  if (!empty_) print_(",");
  NewLine();
  empty_ = false;
}

void JsonPrinter::Key(std::string_view key) {
  Separate();
  std::string text = JsonText(Json(key));
  text.back() = ':';
  print_(text + " ");
}

void JsonPrinter::Value(const Json& value) {
  std::string text = JsonText(value);
  text.pop_back();
  const std::string indent(depth_ * kIndent, ' ');
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    print_(std::string_view(text).substr(begin, end + 1 - begin));
    print_(indent);
    begin = end + 1;
  }
  print_(std::string_view(text).substr(begin));
}

void JsonPrinter::Open(char bracket) {
  print_({&bracket, 1});
  ++depth_;
  empty_ = true;
}

void JsonPrinter::Close(char bracket) {
  --depth_;
  if (!empty_) NewLine();
  print_({&bracket, 1});
  empty_ = false;
}

}  // namespace tensorcast::tool

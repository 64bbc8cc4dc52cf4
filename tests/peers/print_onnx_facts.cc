// Prints the tables of ONNX's facts, for tests/peers/check_onnx_facts.py: one fact a line, the
// parts separated by tabs.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <string>

#include "graph/cast_operator.h"
#include "graph/operator_versions.h"
#include "protobuf/onnx_fields.h"

namespace {

using tensorcast::DataType;

void PrintTypes(const char* op, std::int64_t since, const tensorcast::graph::CastVersion& row) {
  std::printf("version\t%s\t%lld\t", op, static_cast<long long>(since));
  const char* separator = "";
  for (const tensorcast::TypeInfo& info : tensorcast::Types()) {
    if (!tensorcast::graph::AllowsType(row, info.type)) continue;
    std::printf("%s%d", separator, static_cast<int>(info.type));
    separator = " ";
  }
  std::printf("\t%d\t%d\t%d\t%d\n", row.has_saturate ? 1 : 0, row.has_round_mode ? 1 : 0,
              row.to_is_int ? 1 : 0, static_cast<int>(row.last_text_opset));
}

std::string OptionsText(const tensorcast::CastOptions& options) {
  std::string text;
  const auto add = [&](const char* name) {
    if (!text.empty()) text += ' ';
    text += name;
  };
  if (options.fnuz_infinity == tensorcast::FnuzInfinity::kNan) add("fnuz_infinity=nan");
  if (options.integer_overflow == tensorcast::IntegerOverflow::kSaturate) {
    add("integer_overflow=saturate");
  }
  if (options.finite_only_nan == tensorcast::FiniteOnlyNan::kMax) add("finite_only_nan=max");
  return text;
}

}  // namespace

int main() {
  for (const tensorcast::protobuf::OnnxField& field : tensorcast::protobuf::kOnnxFields) {
    std::printf("field\t%.*s\t%.*s\t%u\t%d\t%d\n", static_cast<int>(field.message.size()),
                field.message.data(), static_cast<int>(field.name.size()), field.name.data(),
                field.number, static_cast<int>(field.type), field.is_repeated ? 1 : 0);
  }
  using namespace tensorcast::graph;
  for (const CastVersion& version : CastVersions()) {
    PrintTypes("Cast", version.since, version);
    for (const tensorcast::TypeInfo& info : tensorcast::Types()) {
      const std::string options = OptionsText(OptionsOf(version, info.type, false));
      std::printf("options\t%lld\t%d\t%s\n", static_cast<long long>(version.since),
                  static_cast<int>(info.type), options.c_str());
    }
  }
  for (const CastLikeVersion& like : CastLikeVersions()) {
    PrintTypes("CastLike", like.since, *FindVersion(CastOperator::kCastLike, like.since).row);
  }
  for (const ConstantAttribute& attribute : ConstantAttributes()) {
    std::printf("constant\t%.*s\t%d\t%lld\n", static_cast<int>(attribute.name.size()),
                attribute.name.data(), static_cast<int>(attribute.type),
                static_cast<long long>(attribute.since));
  }
  for (int i = 1; i <= static_cast<int>(AttributeType::kTypeProtos); ++i) {
    std::string text = AttributeTypeText(static_cast<AttributeType>(i));  // "an INT"
    text.erase(0, text.rfind(' ') + 1);
    std::printf("attribute_type\t%d\t%s\n", i, text.c_str());
  }
  for (int number = 0; number < 64; ++number) {
    const std::string_view name = tensorcast::core::NameOfUnknownType(number);
    if (name.empty()) continue;
    std::printf("unknown_type\t%d\t%.*s\n", number, static_cast<int>(name.size()), name.data());
  }
  for (const tensorcast::TypeInfo& info : tensorcast::Types()) {
    std::printf("type\t%d\t%.*s\t%.*s\n", static_cast<int>(info.type),
                static_cast<int>(info.name.size()), info.name.data(),
                static_cast<int>(info.onnx_name.size()), info.onnx_name.data());
    const bool is_text = info.type == DataType::kString;
    std::printf("identity\t%d\t%d\t%d\n", static_cast<int>(info.type),
                is_text ? 1 : static_cast<int>(FirstOpsetOf(CastOperator::kCast, info.type)),
                IdentityTakes(info) ? 1 : 0);
  }
}

// The C interface: versions, status, types and targets.
//
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <string_view>

#include "c/boundary.h"

namespace tensorcast::c {
namespace {

std::int32_t Describe(const TypeInfo& row, tensorcast_type_info* given) {
  const StatusCode code = CheckOutputStruct(given);
  if (code != StatusCode::kOk) return Code(code);
  tensorcast_type_info info = {};
  info.type = static_cast<std::int32_t>(row.type);
  info.type_class = static_cast<std::int32_t>(row.type_class);
  info.bits = row.bits;
  info.exponent_bits = row.exponent_bits;
  info.mantissa_bits = row.mantissa_bits;
  info.bias = row.bias;
  info.flags = (row.has_sign ? std::uint32_t{TENSORCAST_TYPE_HAS_SIGN} : 0) |
               (row.has_zero ? std::uint32_t{TENSORCAST_TYPE_HAS_ZERO} : 0) |
               (row.has_infinity() ? std::uint32_t{TENSORCAST_TYPE_HAS_INFINITY} : 0) |
               (row.has_nan() ? std::uint32_t{TENSORCAST_TYPE_HAS_NAN} : 0) |
               (row.is_packed() ? std::uint32_t{TENSORCAST_TYPE_PACKED} : 0) |
               (row.is_fnuz() ? std::uint32_t{TENSORCAST_TYPE_FNUZ} : 0);
  row.name.copy(info.name, sizeof(info.name) - 1);
  row.onnx_name.copy(info.onnx_name, sizeof(info.onnx_name) - 1);
  WriteStruct(info, given);
  return TENSORCAST_OK;
}

// Names come from string literals, which end in NUL: their data() is a C string.
const char* Literal(std::string_view text) { return text.data(); }

constexpr bool NamesFit() {
  for (const TypeInfo& row : Types()) {
    if (row.name.size() >= sizeof(tensorcast_type_info::name) ||
        row.onnx_name.size() >= sizeof(tensorcast_type_info::onnx_name)) {
      return false;
    }
  }
  return true;
}
static_assert(NamesFit());

}  // namespace
}  // namespace tensorcast::c

using tensorcast::DataType;
using tensorcast::Target;
using tensorcast::TypeInfo;
namespace c = tensorcast::c;

std::int32_t tensorcast_abi_version() { return TENSORCAST_ABI_VERSION; }
const char* tensorcast_version() { return TENSORCAST_VERSION; }
std::int32_t tensorcast_version_number() { return TENSORCAST_VERSION_NUMBER; }

const char* tensorcast_status_text(std::int32_t status) {
  return c::Literal(tensorcast::Status(static_cast<tensorcast::StatusCode>(status)).message());
}

std::int32_t tensorcast_last_refusal(tensorcast_refusal* refusal) {
  const tensorcast::StatusCode code = c::CheckOutputStruct(refusal);
  if (code != tensorcast::StatusCode::kOk) return c::Code(code);
  const tensorcast::Refusal last = tensorcast::LastRefusal();
  tensorcast_refusal copy = {};
  copy.code = c::Code(last.kind);
  copy.remedy = static_cast<std::int32_t>(last.remedy);
  copy.system_error = last.system_error;
  copy.subject = last.subject.data();
  copy.subject_bytes = last.subject.size();
  copy.text = last.text.data();
  copy.text_bytes = last.text.size();
  c::WriteStruct(copy, refusal);
  return TENSORCAST_OK;
}

std::int32_t tensorcast_type_count() {
  return static_cast<std::int32_t>(tensorcast::Types().size());
}

std::int32_t tensorcast_type_at(std::int32_t row, tensorcast_type_info* info) {
  if (row < 0 || row >= tensorcast_type_count()) return TENSORCAST_INVALID_TYPE;
  return c::Describe(tensorcast::Types()[static_cast<std::size_t>(row)], info);
}

std::int32_t tensorcast_type_find(std::int32_t type, tensorcast_type_info* info) {
  const TypeInfo* row = tensorcast::FindType(static_cast<DataType>(type));
  return row == nullptr ? std::int32_t{TENSORCAST_INVALID_TYPE} : c::Describe(*row, info);
}

const char* tensorcast_type_name(std::int32_t type) {
  return c::Literal(tensorcast::TypeName(static_cast<DataType>(type)));
}

std::int32_t tensorcast_type_parse(const char* name, std::uint64_t name_bytes, std::int32_t* type) {
  c::Clear(type);
  if (type == nullptr || c::IsMissing(name, name_bytes)) return TENSORCAST_NULL_POINTER;
  const auto parsed = tensorcast::ParseType(c::Text(name, name_bytes));
  if (!parsed) return TENSORCAST_INVALID_TYPE;
  *type = static_cast<std::int32_t>(*parsed);
  return TENSORCAST_OK;
}

std::int32_t tensorcast_type_nearest(const char* name, std::uint64_t name_bytes, char* buffer,
                                     std::uint64_t buffer_bytes, std::uint64_t* needed) {
  c::Clear(needed);
  if (c::IsMissing(name, name_bytes)) return TENSORCAST_NULL_POINTER;
  std::array<char, 128> text;
  std::size_t size = 0;
  for (const std::string_view near : tensorcast::NearestTypeNames(c::Text(name, name_bytes))) {
    if (near.empty()) break;
    if (size != 0) {
      text[size++] = ',';
      text[size++] = ' ';
    }
    size += near.copy(text.data() + size, near.size());
  }
  return c::WriteText({text.data(), size}, buffer, buffer_bytes, needed);
}

std::int32_t tensorcast_storage_bytes(std::int32_t type, std::uint64_t n, std::uint64_t* bytes) {
  c::Clear(bytes);
  const TypeInfo* row = tensorcast::FindType(static_cast<DataType>(type));
  if (row == nullptr) return TENSORCAST_INVALID_TYPE;
  if (bytes == nullptr) return TENSORCAST_NULL_POINTER;
  if (row->bits == 0) return TENSORCAST_UNSUPPORTED;
  const auto size = tensorcast::StorageBytes(row->type, n);
  if (!size) return TENSORCAST_SIZE_OVERFLOW;
  *bytes = *size;
  return TENSORCAST_OK;
}

std::int32_t tensorcast_targets(std::int32_t* targets, std::uint64_t capacity,
                                std::uint64_t* count) {
  c::Clear(count);
  if (count == nullptr || c::IsMissing(targets, capacity)) return TENSORCAST_NULL_POINTER;
  const auto all = tensorcast::Targets();
  *count = all.size();
  if (capacity == 0) return TENSORCAST_OK;
  if (capacity < all.size()) return TENSORCAST_BUFFER_TOO_SMALL;
  for (std::size_t i = 0; i < all.size(); ++i) targets[i] = static_cast<std::int32_t>(all[i]);
  return TENSORCAST_OK;
}

const char* tensorcast_target_name(std::int32_t target) {
  return c::Literal(tensorcast::TargetName(static_cast<Target>(target)));
}

std::int32_t tensorcast_target_parse(const char* name, std::uint64_t name_bytes,
                                     std::int32_t* target) {
  c::Clear(target);
  if (target == nullptr || c::IsMissing(name, name_bytes)) return TENSORCAST_NULL_POINTER;
  const auto parsed = tensorcast::ParseTarget(c::Text(name, name_bytes));
  if (!parsed) return TENSORCAST_TARGET_UNAVAILABLE;
  *target = static_cast<std::int32_t>(*parsed);
  return TENSORCAST_OK;
}

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

// One name for each number, here and there.
static_assert(TENSORCAST_OK == Code(StatusCode::kOk));
static_assert(TENSORCAST_INVALID_TYPE == Code(StatusCode::kInvalidType));
static_assert(TENSORCAST_INVALID_OPTION == Code(StatusCode::kInvalidOption));
static_assert(TENSORCAST_NULL_POINTER == Code(StatusCode::kNullPointer));
static_assert(TENSORCAST_SIZE_OVERFLOW == Code(StatusCode::kSizeOverflow));
static_assert(TENSORCAST_BUFFER_TOO_SMALL == Code(StatusCode::kBufferTooSmall));
static_assert(TENSORCAST_OVERLAP == Code(StatusCode::kOverlap));
static_assert(TENSORCAST_UNSUPPORTED == Code(StatusCode::kUnsupported));
static_assert(TENSORCAST_TARGET_UNAVAILABLE == Code(StatusCode::kTargetUnavailable));
static_assert(TENSORCAST_LOSS_POSITION == Code(StatusCode::kLossPosition));
static_assert(TENSORCAST_LOSS_MISMATCH == Code(StatusCode::kLossMismatch));
static_assert(TENSORCAST_OUT_OF_MEMORY == Code(StatusCode::kOutOfMemory));
static_assert(TENSORCAST_WRONG_CALL == Code(StatusCode::kWrongCall));
static_assert(TENSORCAST_NOT_A_NUMBER == Code(StatusCode::kNotANumber));
static_assert(TENSORCAST_NOT_AN_INTEGER == Code(StatusCode::kNotAnInteger));
static_assert(TENSORCAST_BAD_OFFSETS == Code(StatusCode::kBadOffsets));
static_assert(TENSORCAST_MISALIGNED == Code(StatusCode::kMisaligned));
static_assert(TENSORCAST_BAD_STRUCT == Code(StatusCode::kBadStruct));
static_assert(TENSORCAST_EXECUTOR_FAILED == Code(StatusCode::kExecutorFailed));
static_assert(TENSORCAST_NO_THREADS == Code(StatusCode::kNoThreads));
static_assert(TENSORCAST_FILE_ERROR == Code(StatusCode::kFileError));
static_assert(TENSORCAST_BAD_FILE == Code(StatusCode::kBadFile));
static_assert(TENSORCAST_UNSUPPORTED_FILE == Code(StatusCode::kUnsupportedFile));
static_assert(TENSORCAST_BAD_INPUT == Code(StatusCode::kBadInput));
static_assert(TENSORCAST_INTERRUPTED == Code(StatusCode::kInterrupted));
static_assert(TENSORCAST_NO_SUCH_NAME == Code(StatusCode::kNoSuchName));
static_assert(TENSORCAST_NO_SUCH_INDEX == Code(StatusCode::kNoSuchIndex));
static_assert(TENSORCAST_INTERNAL_ERROR == Code(StatusCode::kInternalError));
static_assert(TENSORCAST_CALLBACK_FAILED == Code(StatusCode::kCallbackFailed));

constexpr bool Is(int id, DataType type) { return id == static_cast<int>(type); }
static_assert(Is(TENSORCAST_FLOAT32, DataType::kFloat32));
static_assert(Is(TENSORCAST_UINT8, DataType::kUint8));
static_assert(Is(TENSORCAST_INT8, DataType::kInt8));
static_assert(Is(TENSORCAST_UINT16, DataType::kUint16));
static_assert(Is(TENSORCAST_INT16, DataType::kInt16));
static_assert(Is(TENSORCAST_INT32, DataType::kInt32));
static_assert(Is(TENSORCAST_INT64, DataType::kInt64));
static_assert(Is(TENSORCAST_STRING, DataType::kString));
static_assert(Is(TENSORCAST_BOOL, DataType::kBool));
static_assert(Is(TENSORCAST_FLOAT16, DataType::kFloat16));
static_assert(Is(TENSORCAST_FLOAT64, DataType::kFloat64));
static_assert(Is(TENSORCAST_UINT32, DataType::kUint32));
static_assert(Is(TENSORCAST_UINT64, DataType::kUint64));
static_assert(Is(TENSORCAST_BFLOAT16, DataType::kBfloat16));
static_assert(Is(TENSORCAST_FLOAT8E4M3FN, DataType::kFloat8E4M3FN));
static_assert(Is(TENSORCAST_FLOAT8E4M3FNUZ, DataType::kFloat8E4M3FNUZ));
static_assert(Is(TENSORCAST_FLOAT8E5M2, DataType::kFloat8E5M2));
static_assert(Is(TENSORCAST_FLOAT8E5M2FNUZ, DataType::kFloat8E5M2FNUZ));
static_assert(Is(TENSORCAST_UINT4, DataType::kUint4));
static_assert(Is(TENSORCAST_INT4, DataType::kInt4));
static_assert(Is(TENSORCAST_FLOAT4E2M1, DataType::kFloat4E2M1));
static_assert(Is(TENSORCAST_FLOAT8E8M0, DataType::kFloat8E8M0));
static_assert(Is(TENSORCAST_UINT2, DataType::kUint2));
static_assert(Is(TENSORCAST_INT2, DataType::kInt2));
static_assert(Is(TENSORCAST_FLOAT6E2M3, DataType::kFloat6E2M3));
static_assert(Is(TENSORCAST_FLOAT6E3M2, DataType::kFloat6E3M2));

static_assert(TENSORCAST_CLASS_BOOL == static_cast<int>(TypeClass::kBool));
static_assert(TENSORCAST_CLASS_UNSIGNED == static_cast<int>(TypeClass::kUnsigned));
static_assert(TENSORCAST_CLASS_SIGNED == static_cast<int>(TypeClass::kSigned));
static_assert(TENSORCAST_CLASS_FLOAT == static_cast<int>(TypeClass::kFloat));
static_assert(TENSORCAST_CLASS_STRING == static_cast<int>(TypeClass::kString));

static_assert(TENSORCAST_TARGET_BEST == static_cast<int>(Target::kBest));
static_assert(TENSORCAST_TARGET_SCALAR == static_cast<int>(Target::kScalar));
static_assert(TENSORCAST_TARGET_SSE4 == static_cast<int>(Target::kSse4));
static_assert(TENSORCAST_TARGET_AVX2 == static_cast<int>(Target::kAvx2));
static_assert(TENSORCAST_TARGET_AVX3 == static_cast<int>(Target::kAvx3));
static_assert(TENSORCAST_TARGET_NEON == static_cast<int>(Target::kNeon));
static_assert(TENSORCAST_TARGET_AVX3_DL == static_cast<int>(Target::kAvx3Dl));

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

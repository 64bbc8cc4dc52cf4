// The structures of DLPack 1.x (github.com/dmlc/dlpack) by which libraries hand tensors to each
// other, as far as they are used here, and its table of functions
// (`__dlpack_c_exchange_api__`), by which that needs no Python.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_DLPACK_H_
#define TENSORCAST_PYTHON_DLPACK_H_

#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python::dlpack {

inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::uint32_t kMinorVersion = 1;  // what is made here: the first with float8
inline constexpr std::int32_t kCpu = 1;
inline constexpr char kTableName[] = "dlpack_exchange_api";

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct ElementType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  bool operator==(const ElementType&) const = default;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t dimensions;
  ElementType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  Version version;
  void* context;
  void (*deleter)(ManagedTensor* self);
  std::uint64_t flags;
  Tensor tensor;
};

// As it was before there were versions.
struct UnversionedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(UnversionedTensor* self);
};

// The functions of a library for its own tensors; -1 with Python's error set where one fails.
struct ExchangeTable {
  Version version;
  const ExchangeTable* previous;
  void* allocate;
  void* from_object;
  int (*to_object)(ManagedTensor* tensor, void** object);  // takes the tensor over
  int (*view_of_object)(void* object, Tensor* view);       // may be null
  void* current_stream;
};

inline constexpr ElementType kPairsOfFloat4 = {17, 4, 2};

// The types that torch and JAX have, by DLPack's numbers.
struct TypeRow {
  DataType type;
  ElementType exchanged;
};
inline constexpr TypeRow kTypes[] = {{DataType::kFloat32, {2, 32, 1}},
                                     {DataType::kBfloat16, {4, 16, 1}},
                                     {DataType::kFloat16, {2, 16, 1}},
                                     {DataType::kFloat64, {2, 64, 1}},
                                     {DataType::kInt64, {0, 64, 1}},
                                     {DataType::kInt32, {0, 32, 1}},
                                     {DataType::kInt16, {0, 16, 1}},
                                     {DataType::kInt8, {0, 8, 1}},
                                     {DataType::kUint8, {1, 8, 1}},
                                     {DataType::kUint16, {1, 16, 1}},
                                     {DataType::kUint32, {1, 32, 1}},
                                     {DataType::kUint64, {1, 64, 1}},
                                     {DataType::kBool, {6, 8, 1}},
                                     {DataType::kFloat8E4M3FN, {10, 8, 1}},
                                     {DataType::kFloat8E4M3FNUZ, {11, 8, 1}},
                                     {DataType::kFloat8E5M2, {12, 8, 1}},
                                     {DataType::kFloat8E5M2FNUZ, {13, 8, 1}},
                                     {DataType::kFloat8E8M0, {14, 8, 1}},
                                     {DataType::kFloat4E2M1, kPairsOfFloat4}};

}  // namespace tensorcast::python::dlpack

#endif  // TENSORCAST_PYTHON_DLPACK_H_

// What torch's pickles are made of: storages, and tensors as views of them. Each rebuilding
// function is read here as what it means; none is called.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_TORCH_OBJECTS_H_
#define TENSORCAST_SRC_FORMATS_TORCH_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/pickle_machine.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::formats {

struct TorchType {
  std::string_view name;     // torch's: "float8_e4m3fn"
  std::string_view storage;  // the class of its typed storage; empty: it has none
  DataType type;             // kUndefined: not ours
  std::uint32_t bytes;       // of an element, or of what float4_e2m1fn_x2 packs into one
};

// A storage as the pickle names it. Those that the file holds are told by their keys; a legacy file
// may name parts of one by further keys.
struct TorchStorage {
  std::string key;
  const TorchType* type = nullptr;  // null: untyped, of bytes
  std::uint64_t elements = 0;
  std::uint64_t begin = 0;  // of a part: its first element in `root`
  std::string root;         // the key of what it is a part of; empty: it is none
  std::uint64_t root_elements = 0;

  std::uint64_t element_bytes() const { return type == nullptr ? 1 : type->bytes; }
};

struct TorchTensor {
  std::uint32_t storage = 0;        // index in storages(); of no account where it is not read
  const TorchType* type = nullptr;  // not null
  std::uint64_t offset = 0;         // in elements of the type
  std::uint32_t dims = 0;           // index in the pool of its sizes, its strides behind them
  std::uint32_t rank = 0;
  std::string_view why_not = {};  // as TensorInfo's
};

// Whether a global is a dtype: "torch.float16".
bool IsTorchDtype(std::string_view global);

class TorchObjects final : public PickleObjects {
 public:
  PickleValue Call(PickleMachine& machine, const PickleValue& callable,
                   const PickleValue& arguments) override;
  PickleValue Persistent(PickleMachine& machine, const PickleValue& id) override;

  const std::vector<TorchStorage>& storages() const { return storages_; }
  std::span<const std::uint64_t> SizesOf(const TorchTensor& tensor) const {
    return std::span(dims_).subspan(tensor.dims, tensor.rank);
  }
  std::span<const std::uint64_t> StridesOf(const TorchTensor& tensor) const {
    return std::span(dims_).subspan(tensor.dims + tensor.rank, tensor.rank);
  }
  // Whether a value is a storage by itself.
  bool IsStorage(const PickleValue& value) const;
  // The tensor that a value is, or null.
  const TorchTensor* TensorOf(const PickleValue& value) const;
  // Globals that were called and are not known, with how often: never what they stand for.
  const std::map<std::string, std::uint64_t>& opaque() const { return opaque_; }

 private:
  PickleValue Opaque(PickleMachine& machine, const PickleValue& callable);
  PickleValue Tensor(PickleMachine& machine, std::span<const PickleValue> arguments,
                     bool has_dtype);
  PickleValue QuantisedTensor(PickleMachine& machine, std::span<const PickleValue> arguments);
  PickleValue SparseTensor(PickleMachine& machine, std::span<const PickleValue> arguments);
  // Of sizes, and of strides behind them where it has some.
  PickleValue Keep(PickleMachine& machine, TorchTensor tensor, std::span<const PickleValue> sizes,
                   std::span<const PickleValue> strides);
  PickleValue OrderedDict(PickleMachine& machine, std::span<const PickleValue> arguments);
  PickleValue FromType(PickleMachine& machine, std::span<const PickleValue> arguments);

  std::vector<TorchStorage> storages_;
  std::map<std::string, std::uint32_t, std::less<>> storage_of_;  // by key
  std::vector<TorchTensor> tensors_;
  std::vector<std::uint64_t> dims_;
  std::map<std::string, std::uint64_t> opaque_;
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_TORCH_OBJECTS_H_

// The globals that a checkpoint of tensors needs. Any other that is called gives an opaque value.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/torch_objects.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/shape.h"

namespace tensorcast::formats {

using core::ErrorKind;
namespace {

constexpr TorchType kTorchTypes[] = {
    {"float32", "FloatStorage", DataType::kFloat32, 4},
    {"bfloat16", "BFloat16Storage", DataType::kBfloat16, 2},
    {"float16", "HalfStorage", DataType::kFloat16, 2},
    {"float64", "DoubleStorage", DataType::kFloat64, 8},
    {"int64", "LongStorage", DataType::kInt64, 8},
    {"int32", "IntStorage", DataType::kInt32, 4},
    {"int16", "ShortStorage", DataType::kInt16, 2},
    {"int8", "CharStorage", DataType::kInt8, 1},
    {"uint8", "ByteStorage", DataType::kUint8, 1},
    {"bool", "BoolStorage", DataType::kBool, 1},
    {"uint16", "", DataType::kUint16, 2},
    {"uint32", "", DataType::kUint32, 4},
    {"uint64", "", DataType::kUint64, 8},
    {"float8_e4m3fn", "", DataType::kFloat8E4M3FN, 1},
    {"float8_e4m3fnuz", "", DataType::kFloat8E4M3FNUZ, 1},
    {"float8_e5m2", "", DataType::kFloat8E5M2, 1},
    {"float8_e5m2fnuz", "", DataType::kFloat8E5M2FNUZ, 1},
    {"float8_e8m0fnu", "", DataType::kFloat8E8M0, 1},
    {"float4_e2m1fn_x2", "", DataType::kFloat4E2M1, 1},
    // Known, so that they are passed through (complex64) or listed by name.
    {"complex32", "", DataType::kUndefined, 4},
    {"complex64", "ComplexFloatStorage", DataType::kUndefined, 8},
    {"complex128", "ComplexDoubleStorage", DataType::kUndefined, 16},
    {"quint8", "QUInt8Storage", DataType::kUndefined, 1},
    {"qint8", "QInt8Storage", DataType::kUndefined, 1},
    {"qint32", "QInt32Storage", DataType::kUndefined, 4},
    {"quint4x2", "QUInt4x2Storage", DataType::kUndefined, 1},
    {"quint2x4", "QUInt2x4Storage", DataType::kUndefined, 1},
    {"bits8", "", DataType::kUndefined, 1},
    {"bits16", "", DataType::kUndefined, 2},
    {"bits1x8", "", DataType::kUndefined, 1},
    {"bits2x4", "", DataType::kUndefined, 1},
    {"bits4x2", "", DataType::kUndefined, 1},
    {"uint1", "", DataType::kUndefined, 1},
    {"uint2", "", DataType::kUndefined, 1},
    {"uint3", "", DataType::kUndefined, 1},
    {"uint4", "", DataType::kUndefined, 1},
    {"uint5", "", DataType::kUndefined, 1},
    {"uint6", "", DataType::kUndefined, 1},
    {"uint7", "", DataType::kUndefined, 1},
    {"int1", "", DataType::kUndefined, 1},
    {"int2", "", DataType::kUndefined, 1},
    {"int3", "", DataType::kUndefined, 1},
    {"int4", "", DataType::kUndefined, 1},
    {"int5", "", DataType::kUndefined, 1},
    {"int6", "", DataType::kUndefined, 1},
    {"int7", "", DataType::kUndefined, 1},
};
constexpr std::string_view kPassedThrough = "complex64";   // which safetensors has
constexpr const TorchType* kTorchBytes = &kTorchTypes[8];  // uint8

// What they take, in the machine's values.
constexpr std::size_t kStorageValues = 12;
constexpr std::size_t kTensorValues = 4;
// Longer than any that torch gives a storage: its number, or where it lay in memory.
constexpr std::size_t kMostStorageKey = 512;

// What an object is to the machine, in PickleValue::count.
enum class TorchKind : std::uint32_t { kStorage, kTensor, kSetting };

PickleValue ObjectOf(TorchKind kind, std::uint64_t index) {
  return {PickleKind::kObject, static_cast<std::uint32_t>(kind), index};
}

bool IsTorchKind(const PickleValue& value, TorchKind kind) {
  return value.kind == PickleKind::kObject && value.count == static_cast<std::uint32_t>(kind);
}

const TorchType* FindTorchType(std::string_view name, std::string_view TorchType::*by) {
  const auto* const row = std::ranges::find(kTorchTypes, name, by);
  return row == std::end(kTorchTypes) ? nullptr : row;
}

// The type that a global names as a dtype, or null.
const TorchType* DtypeOf(std::string_view global) {
  constexpr std::string_view kTorch = "torch.";
  return global.starts_with(kTorch) ? FindTorchType(global.substr(kTorch.size()), &TorchType::name)
                                    : nullptr;
}

// The class of a storage by its global: null of an untyped one. Throws where it is none.
const TorchType* StorageType(const PickleMachine& machine, const PickleValue& global) {
  if (global.kind != PickleKind::kGlobal) machine.Fail("has a storage whose class is not a global");
  std::string_view name = machine.GlobalName(global);
  if (name == "torch.storage.UntypedStorage" || name == "torch.UntypedStorage") return nullptr;
  constexpr std::string_view kTorch = "torch.";
  if (name.starts_with(kTorch)) {
    name.remove_prefix(kTorch.size());
    if (!name.empty()) {
      if (const TorchType* const type = FindTorchType(name, &TorchType::storage)) return type;
    }
  }
  machine.Fail("has a storage of " + words::Quoted(machine.GlobalName(global)) +
                   ", which is not a known class of storages",
               ErrorKind::kUnsupported);
}

// A number of elements or a place among them: not negative.
std::uint64_t CountOf(const PickleMachine& machine, const PickleValue& value, const char* what) {
  if (value.kind != PickleKind::kInteger || value.integer() < 0) {
    machine.Fail("has a " + std::string(what) + " that is not a number of elements");
  }
  return value.value;
}

// The key of a storage, copied for every tensor of it.
std::string KeyOf(const PickleMachine& machine, const PickleValue& text) {
  if (text.count > kMostStorageKey) {
    machine.Fail("names a storage by more than " + std::to_string(kMostStorageKey) + " bytes");
  }
  return std::string(machine.Text(text));
}

// Whether the metadata of a tensor, a dict of bools, says that a flag of that name is set.
bool IsSet(const PickleMachine& machine, const PickleValue& metadata, std::string_view flag) {
  if (metadata.kind != PickleKind::kDict) return false;
  const std::span<const PickleValue> items = machine.Items(metadata);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind != PickleKind::kText || machine.Text(items[i]) != flag) continue;
    // What is neither false nor none could be anything.
    const bool is_false = items[i + 1].kind == PickleKind::kNone ||
                          (items[i + 1].kind == PickleKind::kBool && items[i + 1].value == 0);
    if (!is_false) return true;
  }
  return false;
}

}  // namespace

bool IsTorchDtype(std::string_view global) { return DtypeOf(global) != nullptr; }

PickleValue TorchObjects::Call(PickleMachine& machine, const PickleValue& callable,
                               const PickleValue& arguments) {
  const std::string& name = machine.GlobalName(callable);
  // Not copied: one tuple may be given to very many calls. It stays where it is while a call makes
  // no other.
  const std::span<const PickleValue> given = machine.Items(arguments);
  if (name == "torch._utils._rebuild_tensor_v2" || name == "torch._utils._rebuild_tensor") {
    return Tensor(machine, given, false);
  }
  if (name == "torch._utils._rebuild_tensor_v3") return Tensor(machine, given, true);
  if (name == "torch._utils._rebuild_qtensor") return QuantisedTensor(machine, given);
  if (name == "torch._utils._rebuild_sparse_tensor") return SparseTensor(machine, given);
  if (name == "collections.OrderedDict") return OrderedDict(machine, given);
  // The tensor is the first of what they are given.
  if (name == "torch._utils._rebuild_parameter" ||
      name == "torch._utils._rebuild_parameter_with_state" ||
      name == "torch.nn.parameter.Parameter" || name == "torch.Tensor") {
    if (given.empty()) machine.Fail("calls " + name + " without a tensor");
    return given[0];
  }
  if (name == "torch._tensor._rebuild_from_type_v2") return FromType(machine, given);
  if (name == "torch.Size") {
    if (given.size() != 1) machine.Fail("calls torch.Size without sizes");
    return given[0];
  }
  if (name == "torch.device" || name == "torch.serialization._get_layout") {
    return ObjectOf(TorchKind::kSetting, 0);
  }
  return Opaque(machine, callable);
}

PickleValue TorchObjects::Opaque(PickleMachine& machine, const PickleValue& callable) {
  ++opaque_[machine.GlobalName(callable)];
  return {PickleKind::kOpaque, 0, callable.value};
}

PickleValue TorchObjects::OrderedDict(PickleMachine& machine,
                                      std::span<const PickleValue> arguments) {
  if (arguments.empty()) return machine.NewDict();
  // Python 2 gave its items as a list of pairs.
  if (arguments.size() != 1 || arguments[0].kind != PickleKind::kList) {
    machine.Fail("makes an OrderedDict of something that is not a list");
  }
  const std::span<const PickleValue> pairs = machine.Items(arguments[0]);
  machine.Charge(2 * pairs.size());
  std::vector<PickleValue> items;
  for (const PickleValue& pair : pairs) {
    if ((pair.kind != PickleKind::kTuple && pair.kind != PickleKind::kList) ||
        machine.Items(pair).size() != 2) {
      machine.Fail("makes an OrderedDict of things that are not pairs");
    }
    const std::span<const PickleValue> both = machine.Items(pair);
    items.insert(items.end(), both.begin(), both.end());
  }
  return machine.NewDict(std::move(items));
}

// (function, type, arguments, state): what the function gives, if the type is a plain tensor's.
PickleValue TorchObjects::FromType(PickleMachine& machine, std::span<const PickleValue> arguments) {
  if (arguments.size() != 4 || arguments[0].kind != PickleKind::kGlobal ||
      arguments[1].kind != PickleKind::kGlobal || arguments[2].kind != PickleKind::kTuple) {
    machine.Fail("calls torch._tensor._rebuild_from_type_v2 with something that it does not take");
  }
  const std::string& type = machine.GlobalName(arguments[1]);
  if (type != "torch.Tensor" && type != "torch.nn.parameter.Parameter" &&
      type != "torch.nn.parameter.Buffer") {
    return Opaque(machine, arguments[1]);
  }
  if (machine.GlobalName(arguments[0]) == "torch._tensor._rebuild_from_type_v2") {
    machine.Fail("calls torch._tensor._rebuild_from_type_v2 of itself");
  }
  return Call(machine, arguments[0], arguments[2]);
}

PickleValue TorchObjects::Persistent(PickleMachine& machine, const PickleValue& id) {
  const auto malformed = [&] {
    machine.Fail("has a persistent id that is not ('storage', class, key, location, elements)");
  };
  if (id.kind != PickleKind::kTuple) malformed();
  const std::span<const PickleValue> parts = machine.Items(id);
  // In legacy files a class stands with its source: it is a name like that of any other class.
  if (parts.size() == 4 && parts[0].kind == PickleKind::kText &&
      machine.Text(parts[0]) == "module" && parts[1].kind == PickleKind::kGlobal) {
    return parts[1];
  }
  if (parts.size() < 5 || parts.size() > 6 || parts[0].kind != PickleKind::kText ||
      machine.Text(parts[0]) != "storage" || parts[2].kind != PickleKind::kText) {
    malformed();
  }
  TorchStorage storage;
  storage.key = KeyOf(machine, parts[2]);
  storage.type = StorageType(machine, parts[1]);
  storage.elements = CountOf(machine, parts[4], "storage");
  // A legacy file's sixth: (key, offset, elements) of the part that is meant.
  if (parts.size() == 6 && parts[5].kind != PickleKind::kNone) {
    if (parts[5].kind != PickleKind::kTuple || machine.Items(parts[5]).size() != 3) malformed();
    const std::span<const PickleValue> view = machine.Items(parts[5]);
    if (view[0].kind != PickleKind::kText) malformed();
    storage.root = storage.key;
    storage.root_elements = storage.elements;
    storage.key = KeyOf(machine, view[0]);
    storage.begin = CountOf(machine, view[1], "part of a storage");
    storage.elements = CountOf(machine, view[2], "part of a storage");
    if (storage.begin > storage.root_elements ||
        storage.elements > storage.root_elements - storage.begin) {
      machine.Fail("has a part of storage " + words::Quoted(storage.root) + " that leaves it");
    }
  }
  const auto [place, is_new] =
      storage_of_.try_emplace(storage.key, static_cast<std::uint32_t>(storages_.size()));
  if (is_new) {
    machine.Charge(kStorageValues +
                   (storage.key.size() + storage.root.size()) / sizeof(PickleValue));
    storages_.push_back(std::move(storage));
  } else {
    const TorchStorage& known = storages_[place->second];
    if (known.type != storage.type || known.elements != storage.elements ||
        known.root != storage.root || known.begin != storage.begin) {
      machine.Fail("names storage " + words::Quoted(storage.key) +
                   " twice, with different types or sizes");
    }
  }
  return ObjectOf(TorchKind::kStorage, place->second);
}

// (storage, offset, sizes, strides, requires_grad, hooks[, dtype][, metadata])
PickleValue TorchObjects::Tensor(PickleMachine& machine, std::span<const PickleValue> arguments,
                                 bool has_dtype) {
  const std::size_t least = has_dtype ? 7 : 4;
  const std::size_t metadata = has_dtype ? 7 : 6;
  if (arguments.size() < least || arguments.size() > metadata + 1 ||
      !IsTorchKind(arguments[0], TorchKind::kStorage) || arguments[2].kind != PickleKind::kTuple ||
      arguments[3].kind != PickleKind::kTuple) {
    machine.Fail(
        "rebuilds a tensor of something other than a storage, an offset, sizes and strides");
  }
  TorchTensor tensor;
  tensor.storage = static_cast<std::uint32_t>(arguments[0].value);
  tensor.type = storages_[tensor.storage].type;
  if (tensor.type == nullptr) tensor.type = kTorchBytes;
  if (has_dtype) {
    std::string_view name;
    if (arguments[6].kind == PickleKind::kGlobal) name = machine.GlobalName(arguments[6]);
    tensor.type = DtypeOf(name);
    if (tensor.type == nullptr) {
      machine.Fail("rebuilds a tensor of the dtype " + words::Quoted(name) + ", which is not known",
                   ErrorKind::kUnsupported);
    }
  }
  tensor.offset = CountOf(machine, arguments[1], "tensor's offset");
  if (tensor.type->type == DataType::kUndefined && tensor.type->name != kPassedThrough) {
    tensor.why_not = "is of a type that is not read";
  }
  const std::span<const PickleValue> sizes = machine.Items(arguments[2]);
  const std::span<const PickleValue> strides = machine.Items(arguments[3]);
  if (sizes.size() != strides.size()) {
    machine.Fail("rebuilds a tensor of " + words::CountText(sizes.size(), "size") + " and " +
                 words::CountText(strides.size(), "stride"));
  }
  if (arguments.size() > metadata) {
    // It is looked through, for every tensor that has it.
    if (arguments[metadata].kind == PickleKind::kDict) {
      machine.Charge(machine.Items(arguments[metadata]).size());
    }
    if (IsSet(machine, arguments[metadata], "conj")) {
      tensor.why_not = "is the conjugate of what is stored: save its .resolve_conj()";
    }
    if (IsSet(machine, arguments[metadata], "neg")) {
      tensor.why_not = "is the negative of what is stored: save its .resolve_neg()";
    }
  }
  return Keep(machine, tensor, sizes, strides);
}

// (storage, offset, sizes, strides, (scheme, scale, zero point), requires_grad, hooks)
PickleValue TorchObjects::QuantisedTensor(PickleMachine& machine,
                                          std::span<const PickleValue> arguments) {
  if (arguments.size() != 7 || !IsTorchKind(arguments[0], TorchKind::kStorage) ||
      arguments[2].kind != PickleKind::kTuple) {
    machine.Fail(
        "rebuilds a quantised tensor of something other than a storage, an offset and sizes");
  }
  TorchTensor tensor;
  tensor.type = storages_[arguments[0].value].type;
  if (tensor.type == nullptr) tensor.type = kTorchBytes;
  tensor.why_not = "is quantised by torch: save its .dequantize()";
  return Keep(machine, tensor, machine.Items(arguments[2]), {});
}

// (layout, (indices, values, sizes[, is_coalesced])), or of compressed rows or columns
// (layout, (indices, indices, values, sizes)).
PickleValue TorchObjects::SparseTensor(PickleMachine& machine,
                                       std::span<const PickleValue> arguments) {
  const TorchTensor* values = nullptr;
  std::span<const PickleValue> sizes;
  bool has_sizes = false;
  if (arguments.size() == 2 && arguments[1].kind == PickleKind::kTuple) {
    for (const PickleValue& part : machine.Items(arguments[1])) {
      if (const TorchTensor* const tensor = TensorOf(part)) values = tensor;
      if (part.kind != PickleKind::kTuple && part.kind != PickleKind::kList) continue;
      sizes = machine.Items(part);
      has_sizes = true;
    }
  }
  if (values == nullptr || !has_sizes) {
    machine.Fail("rebuilds a sparse tensor of something other than indices, values and sizes");
  }
  TorchTensor tensor;
  tensor.type = values->type;
  tensor.why_not = "is sparse: save its .to_dense()";
  return Keep(machine, tensor, sizes, {});
}

PickleValue TorchObjects::Keep(PickleMachine& machine, TorchTensor tensor,
                               std::span<const PickleValue> sizes,
                               std::span<const PickleValue> strides) {
  if (sizes.size() > core::kMostDimensions) {
    machine.Fail("rebuilds a tensor of " + std::to_string(sizes.size()) + " dimensions; at most " +
                 std::to_string(core::kMostDimensions) + " are read");
  }
  machine.Charge(kTensorValues + sizes.size());
  tensor.rank = static_cast<std::uint32_t>(sizes.size());
  tensor.dims = static_cast<std::uint32_t>(dims_.size());
  for (const PickleValue& size : sizes) dims_.push_back(CountOf(machine, size, "tensor's size"));
  for (const PickleValue& stride : strides) {
    dims_.push_back(CountOf(machine, stride, "tensor's stride"));
  }
  tensors_.push_back(tensor);
  return ObjectOf(TorchKind::kTensor, tensors_.size() - 1);
}

bool TorchObjects::IsStorage(const PickleValue& value) const {
  return IsTorchKind(value, TorchKind::kStorage);
}

const TorchTensor* TorchObjects::TensorOf(const PickleValue& value) const {
  return IsTorchKind(value, TorchKind::kTensor) ? &tensors_[value.value] : nullptr;
}

}  // namespace tensorcast::formats

// torch's table of functions is found here when the first tensor comes.
//
// SPDX-License-Identifier: Apache-2.0
#include "torch_tensors.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>

#include "dlpack.h"
#include "errors.h"
#include "result_memory.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// It is filled when the first tensor comes, and never given back.
struct Torch {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  const dlpack::ExchangeTable* table = nullptr;
  PyObject* is_neg = nullptr;
  PyObject* increment_version = nullptr;
  PyObject* requires_grad = nullptr;  // the name
  PyObject* is_grad_enabled = nullptr;
  PyObject* count_modes = nullptr;  // those that see all operators
  std::bitset<kTypeNumbers> lacks;  // types that it made no tensor of
  bool is_known = false;
};
Torch& TheTorch() {
  static Torch torch;
  return torch;
}

// Gives an attribute, or null and no error.
PyObject* Attribute(PyObject* object, const char* name) {
  PyObject* const found = object == nullptr ? nullptr : PyObject_GetAttrString(object, name);
  if (found == nullptr) PyErr_Clear();
  return found;
}

// Finds torch, where it has been imported to the end and has the table.
void FindTorch() {
  Torch& torch = TheTorch();
  PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  PyObject* const tensor = Attribute(module, "Tensor");
  PyObject* const nn = Attribute(module, "nn");
  PyObject* const parameter = Attribute(nn, "Parameter");
  PyObject* const core = Attribute(module, "_C");
  PyObject* const increment = Attribute(core, "_increment_version");
  PyObject* const is_neg = Attribute(tensor, "is_neg");
  PyObject* const capsule = Attribute(tensor, "__dlpack_c_exchange_api__");
  Py_XDECREF(nn);
  if (parameter == nullptr || !PyType_Check(tensor) || !PyType_Check(parameter)) {
    Py_XDECREF(core);
    Py_XDECREF(tensor);
    Py_XDECREF(parameter);
    Py_XDECREF(increment);
    Py_XDECREF(is_neg);
    Py_XDECREF(capsule);
    return;  // it is being imported
  }
  torch.is_known = true;
  torch.tensor = reinterpret_cast<PyTypeObject*>(tensor);
  torch.parameter = reinterpret_cast<PyTypeObject*>(parameter);
  torch.increment_version = increment;
  torch.is_grad_enabled = Attribute(module, "is_grad_enabled");
  torch.count_modes = Attribute(core, "_len_torch_dispatch_stack");
  torch.is_neg = is_neg;
  torch.requires_grad = PyUnicode_InternFromString("requires_grad");
  Py_XDECREF(core);
  const auto* table = capsule != nullptr && PyCapsule_IsValid(capsule, dlpack::kTableName) != 0
                          ? static_cast<const dlpack::ExchangeTable*>(
                                PyCapsule_GetPointer(capsule, dlpack::kTableName))
                          : nullptr;
  while (table != nullptr && table->version.major > dlpack::kMajorVersion) table = table->previous;
  if (table != nullptr && table->version.major == dlpack::kMajorVersion &&
      table->to_object != nullptr && table->view_of_object != nullptr && is_neg != nullptr &&
      increment != nullptr && torch.requires_grad != nullptr) {
    torch.table = table;  // which lives as long as the process
  }
  PyErr_Clear();
}

// Says what a function of Python's without other arguments says of an object; true where it fails.
bool MayBe(PyObject* function, PyObject* object) {
  PyObject* const said = CallWithOne(function, object);
  const bool is_false = said == Py_False;
  if (said == nullptr) PyErr_Clear();
  Py_XDECREF(said);
  return !is_false;
}

// Asks a function of Python's without arguments for a number, or for True or False; gives 0 where
// it fails or is not there.
long Answer(PyObject* function) {
  PyObject* const said = function == nullptr ? nullptr : PyObject_CallNoArgs(function);
  const long number = said == nullptr ? 0 : PyLong_AsLong(said);
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  Py_XDECREF(said);
  return number;
}

bool MayRequireGradient(PyObject* tensor) {
  PyObject* const said = PyObject_GetAttr(tensor, TheTorch().requires_grad);
  if (said == nullptr) PyErr_Clear();
  Py_XDECREF(said);
  return said != Py_False;
}

// A tensor's memory and the structure that torch keeps with it.
struct TensorMemory {
  dlpack::ManagedTensor managed;
  std::array<std::int64_t, 2 * kMostDimensions> sizes;  // only as many as there are
};

void GiveBack(dlpack::ManagedTensor* self) {
  GiveMemory(self->tensor.data);
  std::free(self->context);
}

}  // namespace

bool IsTensor(PyObject* object) noexcept {
  const Torch& torch = TheTorch();
  if (!torch.is_known) {
    // Before torch is there, nothing is looked for but a name.
    FindTorch();
    if (!torch.is_known) return false;
  }
  return torch.table != nullptr &&
         (Py_TYPE(object) == torch.tensor || Py_TYPE(object) == torch.parameter);
}

bool ReadTensor(PyObject* tensor, Operand* operand) noexcept {
  const Torch& torch = TheTorch();
  dlpack::Tensor view = {};
  if (torch.table->view_of_object(tensor, &view) != 0) {
    PyErr_Clear();
    return false;
  }
  const auto* const row =
      std::find_if(std::begin(dlpack::kTypes), std::end(dlpack::kTypes),
                   [&](const dlpack::TypeRow& each) { return each.exchanged == view.type; });
  const auto dimensions = static_cast<std::size_t>(view.dimensions);
  if (view.device.type != dlpack::kCpu || row == std::end(dlpack::kTypes) ||
      dimensions > kMostDimensions) {
    return false;
  }
  operand->library = Library::kTorch;
  operand->type = row->type;
  operand->dimensions = dimensions;
  operand->shape = view.shape;
  operand->strides = view.strides;
  operand->stride_unit = 1;
  operand->data = static_cast<std::byte*>(view.data) + view.byte_offset;
  if (!SetOrder(operand) || (view.data == nullptr && operand->n != 0)) return false;
  operand->bytes = operand->n * ElementBytes(row->type);
  if (row->exchanged == dlpack::kPairsOfFloat4) {
    if (dimensions == 0 || !operand->is_in_c_order) return false;
    operand->is_packed = true;
    std::copy_n(view.shape, dimensions, operand->sizes.begin());
    operand->sizes[dimensions - 1] *= 2;
    operand->shape = operand->sizes.data();
    operand->n *= 2;
  }
  // Some tensors hold their elements with the other sign: imaginary parts.
  const bool is_part = row->type == DataType::kFloat32 || row->type == DataType::kFloat64 ||
                       row->type == DataType::kFloat16;
  return !is_part || !MayBe(torch.is_neg, tensor);
}

bool IsRecorded(PyObject* tensor) noexcept {
  const Torch& torch = TheTorch();
  return (MayRequireGradient(tensor) && Answer(torch.is_grad_enabled) != 0) ||
         Answer(torch.count_modes) != 0;
}

bool ReadWritableTensor(PyObject* tensor, Operand* operand) noexcept {
  return !MayRequireGradient(tensor) && ReadTensor(tensor, operand) && !operand->is_packed;
}

void NoteWritten(PyObject* tensor) {
  const nb::object tensors = nb::steal(PyTuple_Pack(1, tensor));
  if (!tensors.is_valid()) throw nb::python_error();
  const nb::object done = nb::steal(CallWithOne(TheTorch().increment_version, tensors.ptr()));
  if (!done.is_valid()) throw nb::python_error();
}

nb::object NewTensor(DataType type, bool is_packed, const Operand& like, Operand* result) {
  Torch& torch = TheTorch();
  const auto number = static_cast<std::size_t>(type);
  const bool is_float4 = type == DataType::kFloat4E2M1 && !is_packed;
  const bool is_codes = is_packed || type == DataType::kFloat6E2M3 || type == DataType::kFloat6E3M2;
  const auto* const row = std::find_if(std::begin(dlpack::kTypes), std::end(dlpack::kTypes),
                                       [&](const dlpack::TypeRow& each) {
                                         return each.type == (is_codes ? DataType::kUint8 : type);
                                       });
  if (row == std::end(dlpack::kTypes) || torch.lacks[number]) return {};
  std::size_t dimensions = like.dimensions;
  if (is_float4 &&
      (dimensions == 0 || like.shape[dimensions - 1] % 2 != 0 || !like.is_in_c_order)) {
    return {};
  }
  result->library = Library::kTorch;
  result->type = type;
  result->n = like.n;
  result->is_packed = is_packed || is_float4;
  result->bytes = result->is_packed ? static_cast<std::size_t>(*StorageBytes(type, like.n))
                                    : like.n * ElementBytes(type);
  if (is_packed) dimensions = 1;
  auto* const made = static_cast<TensorMemory*>(
      std::malloc(sizeof(dlpack::ManagedTensor) + 2 * dimensions * sizeof(std::int64_t)));
  void* const memory = made == nullptr ? nullptr : TakeMemory(result->bytes);
  if (memory == nullptr) {
    std::free(made);
    PyErr_NoMemory();
    throw nb::python_error();
  }
  std::int64_t* const shape = made->sizes.data();
  std::int64_t* const strides = shape + dimensions;
  if (is_packed) {
    shape[0] = static_cast<std::int64_t>(result->bytes);
    strides[0] = 1;
  } else {
    std::copy_n(like.shape, dimensions, shape);
    if (is_float4) shape[dimensions - 1] /= 2;
    // Those of a tensor stay, as `.to` has it: of dimensions of one element they tell
    // channels_last.
    const bool keeps = !like.is_in_c_order || (like.library == Library::kTorch && like.n != 0 &&
                                               !is_float4 && !like.is_packed);
    std::int64_t next = 1;
    for (std::size_t i = dimensions; i-- > 0;) {
      strides[i] = keeps ? like.strides[i] / like.stride_unit : next;
      next *= std::max<std::int64_t>(shape[i], 1);
    }
  }
  made->managed = {{dlpack::kMajorVersion, dlpack::kMinorVersion},
                   made,
                   GiveBack,
                   0,
                   {memory,
                    {dlpack::kCpu, 0},
                    static_cast<std::int32_t>(dimensions),
                    row->exchanged,
                    shape,
                    strides,
                    0}};
  result->data = static_cast<std::byte*>(memory);
  void* object = nullptr;
  if (torch.table->to_object(&made->managed, &object) != 0) {
    PyErr_Clear();
    torch.lacks[number] = true;  // an older one; what was made is torch's, and lost once
    return {};
  }
  return nb::steal(static_cast<PyObject*>(object));
}

}  // namespace tensorcast::python

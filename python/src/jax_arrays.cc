// JAX takes results by DLPack without a copy, through the function of its extension if that is as
// it was in 0.10: `jax.dlpack.from_dlpack` takes longer than a small cast. If it is not, JAX takes
// small results as numpy's, and copies them. It also copies types that DLPack lacks, and everything
// if there are other devices, since what is exchanged stays on its own device. Types of less
// than a byte take it several times as long to copy as to make of bytes by a function that it has
// compiled, so a small result of the same type and shape as the last is made by one.
//
// SPDX-License-Identifier: Apache-2.0
#include "jax_arrays.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "dlpack.h"
#include "result_memory.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// A copy of fewer bytes takes less time than an exchange.
constexpr std::size_t kExchangedFrom = std::size_t{1} << 17;

// It is filled when the first array comes, and never given back.
struct Jax {
  PyTypeObject* array = nullptr;
  PyObject* asarray = nullptr;
  PyObject* from_dlpack = nullptr;
  PyObject* import_tensor = nullptr;  // its extension's own; null if it did not work
  PyObject* cpu_sharding = nullptr;   // the last one that was found on one CPU
  PyObject* cpu = nullptr;            // that device
  PyObject* devices = nullptr;        // gives all
  bool has_other_devices = false;
};
Jax& TheJax() {
  static Jax jax;
  return jax;
}

PyObject* LoadedModule(const char* name) {
  return PyDict_GetItemString(PyImport_GetModuleDict(), name);
}

// Gives an attribute, or null and no error.
PyObject* Attribute(PyObject* object, const char* name) {
  PyObject* const found = object == nullptr ? nullptr : PyObject_GetAttrString(object, name);
  if (found == nullptr) PyErr_Clear();
  return found;
}

// Finds JAX if it has been imported to the end. Its class of arrays has changed its module.
void FindJax() {
  Jax& jax = TheJax();
  PyObject* extension = LoadedModule("jaxlib._jax");
  if (extension == nullptr) extension = LoadedModule("jaxlib.xla_extension");
  PyObject* const array = Attribute(extension, "ArrayImpl");
  PyObject* const asarray = Attribute(LoadedModule("jax.numpy"), "asarray");
  PyObject* const from_dlpack = Attribute(LoadedModule("jax.dlpack"), "from_dlpack");
  PyObject* const devices = Attribute(LoadedModule("jax"), "devices");
  if (array != nullptr && PyType_Check(array) && asarray != nullptr && from_dlpack != nullptr &&
      devices != nullptr) {
    jax.array = reinterpret_cast<PyTypeObject*>(array);
    jax.asarray = asarray;
    jax.from_dlpack = from_dlpack;
    jax.import_tensor = Attribute(extension, "dlpack_managed_tensor_to_buffer");
    jax.devices = devices;
    return;
  }
  for (PyObject* const each : {array, asarray, from_dlpack, devices}) Py_XDECREF(each);
}

// Says whether an array lies on one CPU, and remembers which.
bool IsOnCpu(PyObject* array) {
  Jax& jax = TheJax();
  const nb::object sharding = nb::steal(Attribute(array, "sharding"));
  if (!sharding.is_valid()) return false;
  if (sharding.ptr() == jax.cpu_sharding) return true;
  const nb::object devices = nb::borrow(array).attr("devices")();
  if (nb::len(devices) != 1) return false;
  const nb::object device = nb::borrow(*nb::iter(devices));
  if (!device.attr("platform").equal(nb::str("cpu"))) return false;
  const nb::object all = nb::borrow(jax.devices)();
  jax.has_other_devices = nb::len(all) != 1 || !all[0].equal(device);
  Py_XDECREF(std::exchange(jax.cpu_sharding, sharding.inc_ref().ptr()));
  Py_XDECREF(std::exchange(jax.cpu, device.inc_ref().ptr()));
  return true;
}

constexpr char kUnused[] = "dltensor";  // the name of a capsule that nobody has taken

std::optional<dlpack::ElementType> ExchangedType(DataType type) {
  for (const dlpack::TypeRow& row : dlpack::kTypes) {
    if (row.type == type && row.exchanged.lanes == 1) return row.exchanged;
  }
  return std::nullopt;
}

// A result, and the structure by which JAX gives it back.
struct Held {
  dlpack::UnversionedTensor managed;
  std::array<std::int64_t, 2 * kMostDimensions> sizes;  // only as many as there are
};

// Any thread may call it, without the GIL.
void GiveBack(dlpack::UnversionedTensor* self) {
  GiveMemory(self->tensor.data);
  std::free(self->context);
}

// Destroys a capsule that nobody has taken.
void Destroy(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kUnused) == 0) return;
  auto* const self =
      static_cast<dlpack::UnversionedTensor*>(PyCapsule_GetPointer(capsule, kUnused));
  self->deleter(self);
}

// An object that is exchanged once.
struct Exchanged {
  nb::object capsule;
};

// Drops the error of a call that failed, unless it is Ctrl-C or the like, which it throws.
void DropError() {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw nb::python_error();
  PyErr_Clear();
}

// Says whether a small numpy array is of a type of less than a byte and of the same shape as the
// last such array: for the first one a function would be compiled that may not be used again.
bool IsLikeLastNarrow(PyArrayObject* array) {
  static struct {
    DataType type = DataType::kUndefined;
    std::vector<npy_intp> shape;
  } last;
  const DataType type = TypeOf(PyArray_DESCR(array));
  if (FindType(type)->bits > 4 ||  // JAX has no float6
      static_cast<std::size_t>(PyArray_NBYTES(array)) >= kExchangedFrom) {
    return false;
  }
  const std::span<const npy_intp> shape(PyArray_SHAPE(array),
                                        static_cast<std::size_t>(PyArray_NDIM(array)));
  if (last.type == type && std::ranges::equal(last.shape, shape)) return true;
  last.type = type;
  last.shape.assign(shape.begin(), shape.end());
  return false;
}

// Gives JAX's array of a numpy array by the compiled function for its type; invalid where that does
// not work. The functions are kept here: to ask Python for one takes a twentieth of a small result.
nb::object CompiledArray(PyArrayObject* array) {
  static std::array<PyObject*, 64> makers = {};
  PyObject*& maker = makers.at(static_cast<std::size_t>(TypeOf(PyArray_DESCR(array))));
  if (maker == nullptr) {
    const nb::object dtype = nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
    PyObject* const made =
        nb::borrow(LoadedModule("tensorcast.frameworks")).attr("narrow_jax")(dtype).release().ptr();
    Py_XDECREF(std::exchange(maker, made));  // of another thread that came first
  }
  const nb::object make = nb::borrow(maker);
  PyArray_Descr* const uint8 = DescrOf(DataType::kUint8);
  Py_INCREF(reinterpret_cast<PyObject*>(uint8));  // which the call below takes over
  const nb::object bytes = nb::steal(PyArray_View(array, uint8, nullptr));
  nb::object result;
  if (bytes.is_valid()) result = nb::steal(CallWithOne(make.ptr(), bytes.ptr()));
  if (!result.is_valid()) {
    DropError();
  } else if (Py_TYPE(result.ptr()) != TheJax().array) {  // JAX is tracing what calls this
    result.reset();
  }
  return result;
}

// Gives JAX's array of numpy's; invalid, with an error, where JAX refuses it.
nb::object CopiedArray(const nb::object& array) {
  if (IsLikeLastNarrow(AsArray(array))) {
    nb::object made = CompiledArray(AsArray(array));
    if (made.is_valid()) return made;
  }
  return nb::steal(CallWithOne(TheJax().asarray, array.ptr()));
}

}  // namespace

bool IsJaxArray(PyObject* object) noexcept {
  if (TheJax().array == nullptr) FindJax();
  return TheJax().array != nullptr && Py_TYPE(object) == TheJax().array;
}

nb::object NumpyView(PyObject* array) noexcept {
  try {
    if (!IsOnCpu(array)) return {};
  } catch (nb::python_error&) {  // it takes the error, and drops it
    return {};
  }
  nb::object view = AnyArray(array);
  if (!view.is_valid()) PyErr_Clear();
  return view;
}

nb::object NewJaxMemory(DataType type, const Operand& like, Operand* result) {
  const std::size_t element = ElementBytes(type);
  if (element == 8) return {};  // which JAX has only if it was told so
  const auto exchanged = ExchangedType(type);
  const std::size_t bytes = like.n * element;
  result->type = type;
  result->n = like.n;
  result->bytes = bytes;
  const Jax& jax = TheJax();
  if (!exchanged || jax.has_other_devices ||
      (jax.import_tensor == nullptr && bytes < kExchangedFrom)) {
    nb::object array = NewArray(DescrOf(type), like.shape_span());
    result->data = WritableBytesOf(AsArray(array)).data();
    return array;
  }
  auto* const held = static_cast<Held*>(std::malloc(sizeof(Held)));
  void* const memory = held == nullptr ? nullptr : TakeMemory(bytes);
  if (memory == nullptr) {
    std::free(held);
    PyErr_NoMemory();
    throw nb::python_error();
  }
  std::int64_t* const strides = held->sizes.data() + like.dimensions;
  std::copy_n(like.shape, like.dimensions, held->sizes.data());
  std::int64_t next = 1;
  for (std::size_t i = like.dimensions; i-- > 0;) {
    strides[i] = next;
    next *= like.shape[i];
  }
  held->managed = {{memory,
                    {dlpack::kCpu, 0},
                    static_cast<std::int32_t>(like.dimensions),
                    *exchanged,
                    held->sizes.data(),
                    strides,
                    0},
                   held,
                   GiveBack};
  PyObject* const capsule = PyCapsule_New(&held->managed, kUnused, Destroy);
  if (capsule == nullptr) {
    GiveBack(&held->managed);
    throw nb::python_error();
  }
  result->data = static_cast<std::byte*>(memory);
  return nb::cast(Exchanged{nb::steal(capsule)});
}

nb::object JaxArrayOf(const nb::object& memory) {
  Jax& jax = TheJax();
  const bool is_array = PyArray_Check(memory.ptr()) != 0;
  if (!is_array && jax.import_tensor != nullptr) {
    nb::object array = nb::steal(
        PyObject_CallFunctionObjArgs(jax.import_tensor, nb::cast<Exchanged&>(memory).capsule.ptr(),
                                     jax.cpu, Py_None, Py_None, nullptr));
    if (array.is_valid() && Py_TYPE(array.ptr()) == jax.array) return array;
    PyErr_Clear();
    Py_CLEAR(jax.import_tensor);
  }
  nb::object array =
      is_array ? CopiedArray(memory) : nb::steal(CallWithOne(jax.from_dlpack, memory.ptr()));
  if (!array.is_valid()) PyErr_Clear();
  return array;
}

void BindJax(nb::module_& m) {
  // JAX asks this for its memory.
  nb::class_<Exchanged>(m, "Exchanged")
      .def(
          "__dlpack__", [](Exchanged& self, const nb::kwargs& /*asked*/) { return self.capsule; },
          nb::sig("def __dlpack__(self, **asked: object) -> object"))
      .def("__dlpack_device__",
           [](const Exchanged& /*self*/) { return nb::make_tuple(dlpack::kCpu, 0); });
}

}  // namespace tensorcast::python

// A file system of Python's, three functions of it, is lent to the library; the package's
// sources.py has them.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/file_system.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "text_objects.h"
#include "threads.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// Turns what a function of Python's raised into what the library knows: an OSError that has a
// number stays as it is, all else may pass.
[[noreturn]] void ThrowRaised(const nb::python_error& raised) {
  const nb::handle value = raised.value();
  std::string text = FromStr(nb::str(value));
  if (text.empty()) text = FromStr(nb::str(raised.type().attr("__name__")));
  text = text.substr(0, text.find('\n'));
  if (PyObject_IsInstance(value.ptr(), PyExc_OSError) == 1) {
    const nb::object number = value.attr("errno");
    const nb::object reason = value.attr("strerror");
    if (!number.is_none()) {
      throw FileRefused(reason.is_none() ? text : FromStr(nb::str(reason)), nb::cast<int>(number));
    }
  }
  throw std::runtime_error(text);
}

// Calls of it come from threads that do not have the GIL, and hold it only around Python's part.
class PythonFiles final : public FileSystem {
 public:
  explicit PythonFiles(nb::object files) : files_(std::move(files)) {}
  PythonFiles(const PythonFiles&) = delete;
  PythonFiles& operator=(const PythonFiles&) = delete;
  ~PythonFiles() override {
    if (Py_IsInitialized() == 0 || Ending::HasBegun()) {
      (void)files_.release();  // with the interpreter
      return;
    }
    const WithGil gil(ending_);
    files_.reset();
  }

  std::optional<FileEntry> Find(const std::string& path, bool anew) override {
    return Asked([&]() -> std::optional<FileEntry> {
      const nb::object found = files_.attr("find")(ToStr(path), anew);
      if (found.is_none()) return std::nullopt;
      return EntryOf(found);
    });
  }

  std::vector<FileEntry> List(const std::string& path) override {
    return Asked([&] {
      std::vector<FileEntry> entries;
      for (const nb::handle one : nb::iter(files_.attr("list")(ToStr(path)))) {
        entries.push_back(EntryOf(one));
      }
      return entries;
    });
  }

  void Read(const std::string& path, const FileEntry& file, std::uint64_t offset,
            std::span<std::byte> out) override {
    Asked([&] {
      const nb::object read =
          files_.attr("read")(ToStr(path), file.bytes, offset, offset + out.size());
      const auto bytes = nb::cast<nb::bytes>(read);
      if (bytes.size() != out.size()) {
        throw std::runtime_error("got " + std::to_string(bytes.size()) + " bytes");
      }
      std::copy_n(static_cast<const std::byte*>(bytes.data()), out.size(), out.begin());
    });
  }

 private:
  template <class Ask> std::invoke_result_t<Ask> Asked(const Ask& ask) const {
    if (Ending::HasBegun()) throw FileRefused("the interpreter has ended", ECANCELED);
    const WithGil gil(ending_);
    try {
      return ask();
    } catch (const nb::python_error& raised) {
      ThrowRaised(raised);
    }
  }

  // Of (name, whether it is a directory, bytes, version).
  static FileEntry EntryOf(nb::handle fields) {
    return {FromStr(fields[0]), nb::cast<bool>(fields[1]), nb::cast<std::uint64_t>(fields[2]),
            FromStr(fields[3])};
  }

  const Ending ending_;
  nb::object files_;
};

class PythonMount {
 public:
  PythonMount(const std::string& prefix, nb::object files, int first_pause_ms) {
    MountOptions options;
    options.first_pause = std::chrono::milliseconds(first_pause_ms);
    Call(&Mount::Make, prefix, std::make_shared<PythonFiles>(std::move(files)), options, &mount_);
  }
  PythonMount(const PythonMount&) = delete;
  PythonMount& operator=(const PythonMount&) = delete;
  ~PythonMount() { Close(); }

  // The threads that read ahead may be in Python, and end only where this one gives the GIL back.
  void Close() {
    const WithoutGil without_gil;
    mount_ = Mount();
  }

  // For the child of a fork, which has none of the threads.
  void Abandon() { (void)new Mount(std::move(mount_)); }

 private:
  Mount mount_;
};

}  // namespace

void BindFileSystem(nb::module_& m) {
  nb::class_<PythonMount>(m, "Mount")
      .def("__init__",
           [](PythonMount* self, nb::handle prefix, nb::object files, int first_pause_ms) {
             new (self) PythonMount(FromStr(prefix), std::move(files), first_pause_ms);
           })
      .def("close", &PythonMount::Close)
      .def("abandon", &PythonMount::Abandon);
}

}  // namespace tensorcast::python

// A file of tensors is written from arrays, cast on the way out.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "cast.h"
#include "declared_tensor.h"
#include "errors.h"
#include "files/error.h"
#include "formats/tensor_file.h"
#include "pieces.h"
#include "text_objects.h"
#include "texts.h"
#include "threads.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// A file that stands beside its name until all its tensors are written.
class ArraysWriter {
 public:
  ArraysWriter(const std::string& path, formats::FileContents contents, bool overwrite)
      : tensors_(contents.tensors), is_written_(contents.tensors.size()) {
    files::CreateOptions options;
    options.overwrite = overwrite;
    const WithoutGil without_gil;
    writer_ = formats::CreateTensorFile(path, std::move(contents), options);
  }
  ArraysWriter(const ArraysWriter&) = delete;
  ArraysWriter& operator=(const ArraysWriter&) = delete;
  ~ArraysWriter() { Close(); }

  // Writes a tensor's elements, cast to the type that it was declared with.
  void Write(std::size_t tensor, nb::handle array, int from, bool is_packed,
             const nb::dict& options, std::optional<std::size_t> asked) {
    const formats::TensorInfo& info = Begin(tensor);
    const auto writer = writer_;  // another thread may close the file meanwhile
    CastRequest request;
    request.from = static_cast<DataType>(from);
    request.to = info.type;
    request.source_is_packed = is_packed;
    request.result_is_packed = true;
    if (FindType(request.from) == nullptr || request.from == DataType::kString ||
        request.to == DataType::kString) {
      Raise(ErrorClass::kValue, "a tensor of numbers is written from numbers");
    }
    const auto source = BytesOf(DenseArgument(array, "a tensor"));
    CheckRoom(request.from, is_packed, info.elements, source.size());
    CastPlan plan;
    Check(CastPlan::Bind(request.from, request.to, OptionsOf(options), &plan));
    const bool is_dense = is_packed || !FindType(request.from)->is_packed();
    const auto at = [&](std::uint64_t element) {
      return is_dense ? *StorageBytes(request.from, element) : element;
    };
    const std::uint64_t bytes = source.size() + info.bytes;
    CallThreads threads(ThreadsFor(asked, bytes));
    Status status;
    std::mutex mutex;
    RunInterruptibly([&](std::atomic<bool>& interrupted) {
      ForPieces(info.elements, threads,
                [&](std::uint64_t first, std::uint64_t n, std::vector<std::byte>& buffer) {
                  files::StopIfInterrupted(&interrupted);
                  const auto piece = source.subspan(at(first), at(first + n) - at(first));
                  if (request.from == request.to && is_dense) {
                    return writer->Write(tensor, *StorageBytes(info.type, first), piece);
                  }
                  buffer.resize(*StorageBytes(info.type, n));
                  buffer.back() = std::byte{0};  // the bits behind the last element
                  const Status cast = RunPieces(plan, request, piece, buffer, n, {});
                  if (cast.ok()) {
                    return writer->Write(tensor, *StorageBytes(info.type, first), buffer);
                  }
                  const std::lock_guard lock(mutex);
                  status = cast;
                });
    });
    Check(status);
    is_written_[tensor] = true;
  }

  void WriteTexts(std::size_t tensor, const Texts& texts) {
    const formats::TensorInfo& info = Begin(tensor);
    const Strings view = texts.view();
    if (info.type != DataType::kString || view.size() != info.elements) {
      Raise(ErrorClass::kValue, "these are not the texts that were declared");
    }
    const auto writer = writer_;
    {
      const WithoutGil without_gil;
      writer->WriteStrings(tensor, 0, view);
    }
    is_written_[tensor] = true;
  }

  void Commit() {
    RequireOpen();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!is_written_[i]) {
        Raise(ErrorClass::kValue,
              "the file is not complete: " + tensors_[i].name + " was not written");
      }
    }
    const auto writer = std::move(writer_);
    const WithoutGil without_gil;
    writer->Commit();
  }

  // Removes what is not committed if it is this process's. (A forked process has the same memory,
  // but the file is its parent's.)
  void Close() noexcept {
    if (getpid() != owner_) static_cast<void>(new auto(std::move(writer_)));  // kept for ever
    writer_.reset();
  }

 private:
  void RequireOpen() const {
    if (writer_ == nullptr) Raise(ErrorClass::kValue, "the file is closed");
  }

  const formats::TensorInfo& Begin(std::size_t tensor) {
    RequireOpen();
    if (tensor >= tensors_.size()) {
      Raise(ErrorClass::kValue, "the file has no tensor of that index");
    }
    if (is_written_[tensor]) Raise(ErrorClass::kValue, "the tensor is written already");
    return tensors_[tensor];
  }

  const pid_t owner_ = getpid();
  const std::vector<formats::TensorInfo> tensors_;
  std::vector<bool> is_written_;
  std::shared_ptr<formats::TensorWriter> writer_;
};

}  // namespace

void BindWriter(nb::module_& m) {
  nb::class_<ArraysWriter>(m, "TensorWriter")
      .def(
          "__init__",
          [](ArraysWriter* self, nb::handle path, const nb::list& tensors, const nb::dict& metadata,
             bool overwrite) {
            formats::FileContents contents;
            for (const nb::handle one : tensors) contents.tensors.push_back(DeclaredTensor(one));
            for (const auto& [key, value] : metadata) {
              contents.metadata.emplace(FromStr(key), FromStr(value));
            }
            new (self) ArraysWriter(FromStr(path), std::move(contents), overwrite);
          },
          nb::arg("path"), nb::arg("tensors"), nb::arg("metadata"), nb::arg("overwrite"))
      .def("write", &ArraysWriter::Write, nb::arg("tensor"), nb::arg("array"), nb::arg("from_"),
           nb::arg("is_packed"), nb::arg("options"), nb::arg("threads").none())
      .def("write_texts", &ArraysWriter::WriteTexts, nb::arg("tensor"), nb::arg("texts"))
      .def("commit", &ArraysWriter::Commit)
      .def("close", &ArraysWriter::Close);
}

}  // namespace tensorcast::python

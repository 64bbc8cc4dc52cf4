// A caller's arrays, which are there one after the other, are lent to the library as a checkpoint's
// directory. A conversion reads each tensor while it is there (planned_writing.py).
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "declared_tensor.h"
#include "errors.h"
#include "formats/safetensors_placement.h"
#include "json/json_text.h"
#include "tensorcast/file_system.hpp"
#include "text_objects.h"
#include "threads.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

struct LentTensor {
  std::string name;
  std::uint64_t begin = 0;  // in the file
  std::uint64_t bytes = 0;
  std::span<const std::byte> data;  // empty while it is not there
};

// A directory of small files and of one safetensors file, whose data are spans that come and go.
class LentDirectory final : public FileSystem {
 public:
  static constexpr const char* kWeights = "model.safetensors";

  // `files` has the contents of the others, by name.
  LentDirectory(std::string path, const formats::FileContents& contents,
                std::map<std::string, std::string> files)
      : path_(std::move(path)), files_(std::move(files)) {
    const std::string name = path_.substr(path_.rfind('/') + 1);
    formats::SafetensorsPlacer placer(name, contents, formats::SafetensorsOrder::kAsGiven);
    const formats::SafetensorsPlacement placement = placer.Place();
    placer.GiveHeader(placement, [&](std::string_view piece) { header_ += piece; });
    for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
      const formats::TensorInfo& info = contents.tensors[i];
      tensors_.push_back({info.name, placement.offsets[i], info.bytes, {}});
    }
    weights_bytes_ = placement.file_bytes;
  }

  const LentTensor& tensor(std::size_t index) const { return tensors_.at(index); }

  // Lends a tensor's bytes, or takes them back.
  void Put(std::size_t index, std::span<const std::byte> data) {
    const std::lock_guard lock(mutex_);
    tensors_.at(index).data = data;
  }

  std::optional<FileEntry> Find(const std::string& path, bool) override {
    if (IsDirectory(path)) return FileEntry{"", true};
    const std::string name = NameOf(path);
    if (name == kWeights) return FileEntry{name, false, weights_bytes_};
    const auto found = files_.find(name);
    if (found == files_.end()) return std::nullopt;
    return FileEntry{name, false, found->second.size()};
  }

  std::vector<FileEntry> List(const std::string& path) override {
    if (!IsDirectory(path)) throw FileRefused("there is no such directory", ENOENT);
    std::vector<FileEntry> entries = {{kWeights, false, weights_bytes_}};
    for (const auto& [name, text] : files_) entries.push_back({name, false, text.size()});
    return entries;
  }

  void Read(const std::string& path, const FileEntry&, std::uint64_t offset,
            std::span<std::byte> out) override {
    const std::string name = NameOf(path);
    if (name != kWeights) return Copy(files_.at(name), offset, out);
    if (offset < header_.size()) {
      const std::size_t n =
          static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), header_.size() - offset));
      Copy(header_, offset, out.first(n));
      offset += n;
      out = out.subspan(n);
    }
    auto tensor = std::ranges::upper_bound(tensors_, offset, {}, &LentTensor::begin);
    if (tensor != tensors_.begin()) --tensor;
    for (; !out.empty(); ++tensor) {
      const std::uint64_t end = tensor->begin + tensor->bytes;
      if (end <= offset) continue;  // it has no bytes
      const std::span<const std::byte> data = Data(*tensor);
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end - offset));
      std::ranges::copy(data.subspan(static_cast<std::size_t>(offset - tensor->begin), n),
                        out.begin());
      offset += n;
      out = out.subspan(n);
    }
  }

 private:
  bool IsDirectory(const std::string& path) const { return path == path_ || path == path_ + "/"; }

  std::string NameOf(const std::string& path) const {
    return path.starts_with(path_ + "/") ? path.substr(path_.size() + 1) : std::string();
  }

  static void Copy(const std::string& text, std::uint64_t offset, std::span<std::byte> out) {
    std::ranges::copy(
        std::as_bytes(std::span(text)).subspan(static_cast<std::size_t>(offset), out.size()),
        out.begin());
  }

  std::span<const std::byte> Data(const LentTensor& tensor) {
    const std::lock_guard lock(mutex_);
    if (!tensor.data.empty()) return tensor.data;
    throw FileRefused("tensor " + json::JsonString(tensor.name) +
                      " is wanted before the others are decided, and was not written yet");
  }

  const std::string path_;
  std::mutex mutex_;  // guards the tensors' data
  std::vector<LentTensor> tensors_;
  const std::map<std::string, std::string> files_;
  std::string header_;
  std::uint64_t weights_bytes_ = 0;
};

std::map<std::string, std::string> TextsOf(const nb::dict& texts) {
  std::map<std::string, std::string> all;
  for (const auto& [key, value] : texts) {
    if (const auto bytes = ModelBytes(value)) {
      all.emplace(FromStr(key),
                  std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
    } else {
      all.emplace(FromStr(key), FromStr(value));
    }
  }
  return all;
}

// The directory as Python has it, which keeps the arrays that are there.
class LentArrays {
 public:
  // `path` has "://" in it; each tensor is what DeclaredTensor takes.
  LentArrays(const std::string& path, const nb::list& declared, const nb::dict& metadata,
             const nb::dict& files) {
    formats::FileContents contents;
    for (const nb::handle one : declared) contents.tensors.push_back(DeclaredTensor(one));
    contents.metadata = TextsOf(metadata);
    directory_ = std::make_shared<LentDirectory>(path, contents, TextsOf(files));
    MountOptions options;
    options.buffer_bytes = 0;  // each byte is there already, but not always
    options.ranges_ahead = 0;
    options.tries = 1;
    Call(&Mount::Make, path, directory_, options, &mount_);
  }

  void Put(std::size_t index, nb::handle array) {
    const auto data = BytesOf(DenseArgument(array, "a tensor"));
    if (data.size() != directory_->tensor(index).bytes) {
      Raise(ErrorClass::kValue, "the tensor has another size");
    }
    arrays_[index] = nb::borrow(array);
    directory_->Put(index, data);
  }

  void Drop(std::size_t index) {
    directory_->Put(index, {});
    arrays_.erase(index);
  }

  void Close() {
    const WithoutGil without_gil;
    mount_ = Mount();
  }

 private:
  std::shared_ptr<LentDirectory> directory_;
  Mount mount_;
  std::map<std::size_t, nb::object> arrays_;
};

}  // namespace

void BindLentArrays(nb::module_& m) {
  nb::class_<LentArrays>(m, "LentArrays")
      .def("__init__",
           [](LentArrays* self, nb::handle path, const nb::list& tensors, const nb::dict& metadata,
              const nb::dict& files) {
             new (self) LentArrays(FromStr(path), tensors, metadata, files);
           })
      .def("put", &LentArrays::Put, nb::arg("tensor"), nb::arg("array"))
      .def("drop", &LentArrays::Drop, nb::arg("tensor"))
      .def("close", &LentArrays::Close);
}

}  // namespace tensorcast::python

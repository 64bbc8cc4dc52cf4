// One array as numpy stores it, wherever it lies: a file of its own or a member of an archive.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_NPY_ARRAY_H_
#define TENSORCAST_SRC_FORMATS_NPY_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "files/byte_source.h"
#include "formats/npy_dtype.h"
#include "formats/npy_header.h"
#include "formats/tensor_info.h"

namespace tensorcast::formats {

// An array to be read. The source is handed to each call, so that it need not stay open.
class NpyArray {
 public:
  // Only the header of `source` is read; the data must be all that follows it. Throws Error.
  NpyArray(const files::ByteSource& source, std::string name, std::optional<DataType> assume_type);

  const TensorInfo& info() const { return info_; }
  // Empty, or what the user should know of how the dtype was read.
  const std::string& note() const { return dtype_.note; }

  // These do what TensorReader's do; `source` holds the same bytes as the constructor's.
  void Read(const files::ByteSource& source, std::uint64_t offset, std::span<std::byte> out) const;
  text::StringPiece ReadStrings(const files::ByteSource& source, std::uint64_t first,
                                std::uint64_t n) const;
  // Where in the source the dense form begins; nothing where the source has another.
  std::optional<std::uint64_t> DenseBegin() const;

 private:
  void CheckSize(const files::ByteSource& source, const NpyHeader& header) const;
  void ReadPacked(const files::ByteSource& source, std::uint64_t offset,
                  std::span<std::byte> out) const;
  void ReadSwapped(const files::ByteSource& source, std::uint64_t offset,
                   std::span<std::byte> out) const;
  void Swap(std::span<std::byte> elements) const;

  TensorInfo info_;
  NpyDtype dtype_;
  std::uint64_t data_begin_ = 0;
};

// Takes bytes to their place in the array's file, counted from the array's first byte.
using NpySink = std::function<void(std::uint64_t offset, std::span<const std::byte> data)>;

// An array to be written: a header, then the elements.
class NpyPlacement {
 public:
  // Throws Error, beginning with `where`, for a tensor that numpy cannot hold.
  NpyPlacement(std::string where, const TensorInfo& info);

  const TensorInfo& info() const { return info_; }
  const std::string& header() const { return header_; }
  std::uint64_t bytes() const { return bytes_; }  // header and elements

  // These do what TensorWriter's do.
  void Write(std::uint64_t offset, std::span<const std::byte> data, const NpySink& sink) const;
  void WriteStrings(std::uint64_t first, const Strings& texts, const NpySink& sink) const;

 private:
  std::string where_;
  TensorInfo info_;
  NpyDtype strings_;  // of a tensor of strings
  std::string header_;
  std::uint64_t bytes_ = 0;
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_NPY_ARRAY_H_

// What every format's reader gives.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_TENSOR_READER_H_
#define TENSORCAST_SRC_FORMATS_TENSOR_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor_info.h"

namespace tensorcast::formats {

// Reads one file. Opening checks all that the header and the file's size decide.
class TensorReader {
 public:
  virtual ~TensorReader() = default;
  virtual const FileContents& contents() const = 0;
  // Reads bytes [offset, offset + out.size()) of a tensor's dense form: little-endian, packed as
  // the library packs, whatever way the file stores it. For a packed type (bits < 8) offset * 8
  // and out.size() * 8 are multiples of its bits, but for the tensor's last byte. Safe to call from
  // several threads. Throws Error, also of a tensor that is not read (TensorInfo::why_not).
  virtual void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const = 0;
  // A tensor's dense form as memory of the file (ByteSource::Map), where the file has it in one
  // A tensor's dense form as memory of the file (ByteSource::Map), at any address, where the file
  // has it in one piece; else null, and it is to be read.
  virtual std::shared_ptr<std::byte> Map(std::size_t tensor) const;
  // Reads elements [first, first + n) as `plan` casts them, without what they are before: false
  // where the reader has no shorter way to it than Read, and `out` is as it was.
  virtual bool ReadCast(std::size_t tensor, const CastPlan& plan, std::uint64_t first,
                        std::span<std::byte> out) const;
  // Reads strings from `first` on of a tensor of type kString, n of them; fewer, but a multiple of
  // 4 so that a packed type takes whole bytes, where they take more than kStringPieceBytes. UTF-8
  // from numpy's <U, the bytes that stand in the file from |S and from a TensorProto. Safe to call
  // from several threads. Throws Error. The default is for formats that have no strings.
  virtual text::StringPiece ReadStrings(std::size_t tensor, std::uint64_t first,
                                        std::uint64_t n) const;
  // The size of the file, with those that it names, as it was opened.
  virtual std::uint64_t file_bytes() const = 0;
  // Throws Error where the file, or one that it names, was rewritten since it was opened. To be
  // asked when all is read, before anything made of it gets a name.
  virtual void CheckUnchanged() const = 0;
  // Files that it reads beside its own: those that hold a model's data.
  virtual std::vector<std::string> external_paths() const { return {}; }
  // Something the user should know of how the file was understood ("<V2 is read as bfloat16").
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_TENSOR_READER_H_

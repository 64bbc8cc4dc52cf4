// Strings as numpy stores them, rows of one width filled up with NULs, to and from UTF-8.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_NPY_STRINGS_H_
#define TENSORCAST_SRC_FORMATS_NPY_STRINGS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "formats/npy_dtype.h"
#include "formats/tensor_info.h"

namespace tensorcast::formats {

// Appends the texts of whole rows to `piece`; `first` is the index of the first of them. Bytes (|S)
// are taken as they are. Throws Error, beginning with `where`, for a row that is no Unicode.
void DecodeNpyStrings(const std::string& where, const TensorInfo& info, const NpyDtype& dtype,
                      std::uint64_t first, std::span<const std::byte> rows,
                      text::StringPiece& piece);

// Fills whole rows with strings [begin, begin + rows) of `texts`; string 0 of them is element
// `first` of the tensor. Throws Error, beginning with `where`, for one that a row cannot hold.
void EncodeNpyStrings(const std::string& where, const TensorInfo& info, const NpyDtype& dtype,
                      std::uint64_t first, const Strings& texts, std::uint64_t begin,
                      std::span<std::byte> rows);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_NPY_STRINGS_H_

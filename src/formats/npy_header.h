// The header of an npy file: magic, version, length, and a Python dict literal.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_NPY_HEADER_H_
#define TENSORCAST_SRC_FORMATS_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.h"

namespace tensorcast::formats {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";  // an npy file begins with it
// The alignment of the data in a file: the header is filled up to it. Arrays in an .npz have the
// same.
inline constexpr std::size_t kNpyAlignment = 64;

// What the header says, not yet understood.
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_begin = 0;  // offset in the file
};

// Throws Error unless the header is what numpy writes for an array of one plain dtype.
NpyHeader ReadNpyHeader(const files::ByteSource& file);

// The header's bytes, magic included; their number is a multiple of kNpyAlignment.
std::string MakeNpyHeader(const NpyHeader& header);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_NPY_HEADER_H_

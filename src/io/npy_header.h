// The header of an npy file: magic, version, length, and a Python dict literal.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_NPY_HEADER_H_
#define TENSORCAST_SRC_IO_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "io/byte_source.h"

namespace tensorcast::io {

// What the header says, not yet understood.
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_begin = 0;  // offset in the file
};

// Throws Error unless the header is what numpy writes for an array of one plain dtype.
NpyHeader ReadNpyHeader(const ByteSource& file);

// The header's bytes, magic included; their number is a multiple of 64.
std::string MakeNpyHeader(const NpyHeader& header);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_NPY_HEADER_H_

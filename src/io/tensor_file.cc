// What a format without strings says when it is asked for some.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/tensor_file.h"

#include <stdexcept>

namespace tensorcast::io {

StringPiece TensorReader::ReadStrings(std::size_t, std::uint64_t, std::uint64_t) const {
  throw std::logic_error("this format has no tensors of strings");
}

void TensorWriter::WriteStrings(std::size_t, std::uint64_t, const Strings&) {
  throw std::logic_error("this format has no tensors of strings");
}

}  // namespace tensorcast::io

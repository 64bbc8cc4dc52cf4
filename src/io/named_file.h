// Files that another one names: a model its data, a checkpoint's index its shards.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_NAMED_FILE_H_
#define TENSORCAST_SRC_IO_NAMED_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "io/byte_source.h"
#include "io/system.h"

namespace tensorcast::io {

// A process may have some thousand files open, and a model as many data files as tensors: so many
// stay open, the others are opened anew for each reading.
inline constexpr std::size_t kMostOpenFiles = 256;

// The file at `path`; `others`: how many of its kind are there already. Throws Error as InputFile.
std::unique_ptr<ByteSource> OpenNamedFile(const std::string& path, const Enclosure& enclosure,
                                          std::size_t others);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_NAMED_FILE_H_

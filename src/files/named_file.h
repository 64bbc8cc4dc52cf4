// Files by their names, of the machine or of a file system that is lent: those that the user names,
// and those that another one does: a model its data, a checkpoint's index its shards.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_NAMED_FILE_H_
#define TENSORCAST_SRC_FILES_NAMED_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "files/byte_source.h"
#include "files/system.h"

namespace tensorcast::files {

// The file at `path`. Throws Error as InputFile.
std::unique_ptr<ByteSource> OpenFile(const std::string& path);

// The same of one that another file names; `others`: how many of its kind are there already. A
// process may have some hundred files open, and a model as many data files as tensors: beyond
// MostOpenFiles they are opened anew for each reading. Throws Error as InputFile.
std::unique_ptr<ByteSource> OpenNamedFile(const std::string& path, const Enclosure& enclosure,
                                          std::size_t others);

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_NAMED_FILE_H_

// A file that was held against what it should be.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_FAULTY_FILE_H_
#define TENSORCAST_SRC_FILES_FAULTY_FILE_H_

#include <cstdint>
#include <string>

namespace tensorcast::files {

// What is wrong of it beside its tensors.
enum class FileFault : std::uint8_t { kMissing, kContents, kMetadata, kKeys };

struct FaultyFile {
  std::string name;  // its path in the output's directory: "config.json"
  FileFault fault = FileFault::kContents;
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_FAULTY_FILE_H_

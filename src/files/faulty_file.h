// A file that was held against what it should be.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_FAULTY_FILE_H_
#define TENSORCAST_SRC_FILES_FAULTY_FILE_H_

#include <string>

namespace tensorcast::files {

// It has other contents than it should beside its tensors, or is missing.
struct FaultyFile {
  std::string name;  // its path in the output's directory: "config.json"
  bool is_missing = false;
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_FAULTY_FILE_H_

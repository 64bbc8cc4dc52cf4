// How files are made that stand beside their names until they are complete.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_OUTPUT_OPTIONS_H_
#define TENSORCAST_SRC_FILES_OUTPUT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tensorcast::files {

// Where bytes that must be made before they can be read are kept (a deflated member). Without a
// directory in memory; with one in a temporary file there, so that memory stays bounded.
struct SpoolOptions {
  std::string directory;
  std::string advice;  // ends a message about the directory: "; name another with ..."
};

// A directory of hidden name in which outputs are made that get their names together.
struct Staging {
  std::string directory = {};  // empty: the output is made beside its name
  // The output is a part of it and stays: the directory gets a name as a whole.
  bool holds_parts = false;
  bool syncs_files = false;   // it is synced with what is in it
  bool closes_files = false;  // the file is opened for each use: there may be many
};

struct CreateOptions {
  bool overwrite = false;  // replace an existing file
  // Files the output must not be, by any name (symbolic and hard links included).
  std::vector<std::string> inputs;
  // The temporary file, or the directory of hidden name, of an output that another process has
  // begun (TensorWriter::temporary), of the same contents: parts of it are written, and it is
  // neither removed nor given its name.
  std::string begun = {};
  // A directory of safetensors files: so many bytes of tensors in each at most, as far as one
  // tensor does not take more; 0: the tensors of a file stay together.
  std::uint64_t max_shard_bytes = 0;
  Staging staging = {};
  // What a new output lets others do at most (PermissionsOfOutput). Nothing: what all of `inputs`
  // let them do.
  std::optional<unsigned> permissions = {};
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_OUTPUT_OPTIONS_H_

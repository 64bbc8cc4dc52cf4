// A directory is a checkpoint's, anything else a file.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/open_tensor_file.h"

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/checkpoint_reader.h"
#include "files/named_file.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "formats/formats.h"

namespace tensorcast::checkpoint {

using core::ErrorKind;
using files::Error;

OpenedInput OpenTensorFile(const std::string& path, const formats::OpenOptions& options) {
  if (!files::IsDirectory(path)) return {formats::OpenTensorSource(files::OpenFile(path), options)};
  formats::RefuseAssumedType(path, "a directory of files which name their types", options);
  const auto reader = std::make_shared<CheckpointReader>(path, options);
  return {{reader}, reader.get()};
}

bool IsDirectoryName(const std::string& path) {
  const bool ends_in_divider = !path.empty() && files::NameBegin(path) == path.size();
  return ends_in_divider || (formats::FindByEnding(path) == nullptr && !IsWeightsName(path));
}

}  // namespace tensorcast::checkpoint

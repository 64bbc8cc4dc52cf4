// File systems that callers lend (tensorcast/file_system.hpp), in the words of system.h: its
// functions and named_file.h's ask here first.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_MOUNTED_FILES_H_
#define TENSORCAST_SRC_FILES_MOUNTED_FILES_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/byte_source.h"
#include "files/file_status.h"
#include "files/read_ahead.h"
#include "files/system_directory.h"
#include "tensorcast/file_system.hpp"

namespace tensorcast::files {

class MountedFiles : public std::enable_shared_from_this<MountedFiles> {
 public:
  MountedFiles(std::string prefix, std::shared_ptr<FileSystem> system, const MountOptions& options)
      : prefix_(std::move(prefix)), system_(std::move(system)), ranges_(options) {}

  // Paths that begin so are of this file system.
  const std::string& prefix() const { return prefix_; }
  // As the functions of these names; those throw Error (system) where the file system does not say.
  std::optional<FileStatus> StatusOf(const std::string& path);
  std::vector<DirectoryEntry> ListDirectory(const std::string& path);
  // A file that keeps the file system. Its CheckUnchanged asks for the size and the version again.
  std::unique_ptr<ByteSource> Open(const std::string& path);

  // Ends the threads that read ahead.
  void Stop() { ranges_.Stop(); }

 private:
  friend class MountedFile;
  std::optional<FileEntry> Find(const std::string& path, bool anew);

  const std::string prefix_;
  const std::shared_ptr<FileSystem> system_;
  ReadAhead ranges_;
};

// The one whose prefix is the longest that fits, of equal ones the last that was lent; null for a
// file of the machine.
std::shared_ptr<MountedFiles> MountedAt(std::string_view path);

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_MOUNTED_FILES_H_

// What the system says of a file, and what that tells of its bytes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_FILE_STATUS_H_
#define TENSORCAST_SRC_FILES_FILE_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace tensorcast::files {

enum class FileKind { kFile, kDirectory, kPipe, kSocket, kDevice, kOther };

struct FileStatus {
  FileKind kind = FileKind::kOther;
  bool is_link = false;  // a symbolic one, which OwnStatus sees
  std::uint64_t bytes = 0;
  std::int64_t written_at = 0;  // in nanoseconds of the system's clock
  std::int64_t changed_at = 0;  // the same; of bytes, names or permissions
  std::uint64_t links = 0;      // its names
  std::uint64_t device = 0;     // with `number`, which file of the machine it is
  std::uint64_t number = 0;
  unsigned permissions = 0;  // as the system has them; 0 where it has others
  std::uint64_t owner = 0;
  std::uint64_t group = 0;
  std::string version = {};  // of a file of a file system that is lent (FileEntry::version)
};
// The status of what stands at `path`, or of what a link there leads to; nullopt if nothing does.
// Throws Error{kSystem} if the system does not say.
std::optional<FileStatus> StatusOf(const std::string& path);

// Whether a file may hold other bytes now than it did before. Programs set the time of writing back
// (cp -p, rsync -t, tar), but nobody sets the time of change, which also moves with permissions and
// names. If a name came or went, it says nothing of the bytes.
bool MayBeRewritten(const FileStatus& before, const FileStatus& now);
[[noreturn]] void FailRewritten(const std::string& path);

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_FILE_STATUS_H_

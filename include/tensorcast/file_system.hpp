// Inputs that no file of this machine holds: a caller lends the library a file system of its own,
// whose files convert.hpp and diff.hpp read by their paths, as Python's package does with fsspec's.
//
//   class Bucket : public tensorcast::FileSystem { ...Find, List, Read... };
//   tensorcast::Mount mount;
//   std::string error;
//   tensorcast::Mount::Make("bucket://", std::make_shared<Bucket>(), {}, &mount, &error);
//   request.files = {{"bucket://weights/model", "model-bf16"}};  // a directory there, one here
//
// In a library that was built with TENSORCAST_ONNX. The library itself has no file system but the
// machine's, and never uses the network. Outputs are the machine's files.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_FILE_SYSTEM_HPP_
#define TENSORCAST_FILE_SYSTEM_HPP_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::files {
class MountedFiles;  // internal
}  // namespace tensorcast::files

namespace tensorcast {
inline namespace TENSORCAST_ABI {

// What a file system says of a file, or of a directory.
struct FileEntry {
  std::string name;  // in its directory, without dividers; List alone needs it
  bool is_directory = false;
  std::uint64_t bytes = 0;
  // Another one where the bytes may be: an ETag, a generation, a revision. A file whose version or
  // size is another at the end of a run is refused, as one that was rewritten. List need not say.
  std::string version = {};
};

// What a file system throws where trying again is of no use: "403 Forbidden". `system_error`: the
// value of errno that says the same, or 0.
class TENSORCAST_API FileRefused : public std::runtime_error {
 public:
  explicit FileRefused(const std::string& reason, int system_error = 0);
  ~FileRefused() override;
  int system_error() const { return system_error_; }

 private:
  int system_error_;
};

// Called from several threads at once. Paths are those that the request has, and what lies below
// them, names divided by '/'. What these throw, each a std::exception, is taken to pass but for
// FileRefused: the call is made again (MountOptions::tries).
class TENSORCAST_API FileSystem {
 public:
  virtual ~FileSystem();
  // What stands at a path; nullopt: nothing. `anew`: as it is now, since what was read is held
  // against it; else what the file system knows already will do.
  virtual std::optional<FileEntry> Find(const std::string& path, bool anew) = 0;
  // What is in a directory.
  virtual std::vector<FileEntry> List(const std::string& path) = 0;
  // Fills `out` with the bytes from `offset` on, which are within the file: as Find said it was
  // when it was opened.
  virtual void Read(const std::string& path, const FileEntry& file, std::uint64_t offset,
                    std::span<std::byte> out) = 0;
};

// Files are read in ranges: small ones where a header is looked at, larger ones where one follows
// on the other, and then several at once ahead of what is asked for.
struct MountOptions {
  std::size_t range_bytes = std::size_t{8} << 20;  // the most that Read is asked for
  std::size_t ranges_ahead = 4;                    // each by a thread of its own; 0: none
  // Of ranges that are kept, all files together; beyond it come those that are just being read, one
  // for each thread of the conversion. 0: no range is read nor kept but what is asked for.
  std::size_t buffer_bytes = std::size_t{64} << 20;
  unsigned tries = 5;  // of each call
  std::chrono::milliseconds first_pause{
      250};  // before the second try; then twice as long each time
};

// Lends a file system for as long as it lives, or what was opened meanwhile.
class TENSORCAST_API Mount {
 public:
  Mount();  // of nothing
  Mount(Mount&&) noexcept;
  Mount& operator=(Mount&&) noexcept;
  ~Mount();  // ends the threads that read ahead, once their calls return

  // Paths that begin with `prefix`, which has "://" in it, lead to the file system; where several
  // fit, the longest says, and of equal ones the last that was lent. kBadInput: it has no "://"; or
  // an option is 0 that must not be.
  static Status Make(const std::string& prefix, std::shared_ptr<FileSystem> files,
                     const MountOptions& options, Mount* mount, std::string* error = nullptr);

 private:
  std::shared_ptr<files::MountedFiles> files_;
};

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_FILE_SYSTEM_HPP_

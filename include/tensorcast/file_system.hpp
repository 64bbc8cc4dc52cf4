// Inputs that are not files of this machine. A caller lends the library a file system of its own,
// whose files convert.hpp and diff.hpp read by their paths. Python's package does so with fsspec.
//
//   class Bucket : public tensorcast::FileSystem { ...Find, List, Read... };
//   tensorcast::Mount mount;
//   std::string error;
//   tensorcast::Mount::Make("bucket://", std::make_shared<Bucket>(), {}, &mount, &error);
//   request.files = {{"bucket://weights/model", "model-bf16"}};  // a directory there, one here
//
// This is part of libraries built with TENSORCAST_ONNX. The library itself knows only the machine's
// file system and never uses the network. Outputs are always files of the machine.
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

// What a file system reports of a file or a directory.
struct FileEntry {
  std::string name;  // within its directory, without dividers; only List needs it
  bool is_directory = false;
  std::uint64_t bytes = 0;
  // Differs if the bytes may differ: an ETag, a generation, a revision. A file whose version or
  // size has changed at the end of a run is refused, as one that was rewritten. List need not set
  // it.
  std::string version = {};
};

// What a file system throws if trying again is of no use: "403 Forbidden". `system_error` is the
// value of errno that says the same, or 0.
class TENSORCAST_API FileRefused : public std::runtime_error {
 public:
  explicit FileRefused(const std::string& reason, int system_error = 0);
  ~FileRefused() override;
  int system_error() const { return system_error_; }

 private:
  int system_error_;
};

// Implement this for your storage. It is called from several threads at once. Paths are those of
// the request, and those below them, with names divided by '/'. A function may throw any
// std::exception. Unless that is a FileRefused, the fault is taken to be temporary, and the call is
// made again (MountOptions::tries).
class TENSORCAST_API FileSystem {
 public:
  virtual ~FileSystem();
  // What is at a path; nullopt if nothing is. With `anew`, it has to be as it is now, as what was
  // read is checked against it; otherwise what the file system already knows will do.
  virtual std::optional<FileEntry> Find(const std::string& path, bool anew) = 0;
  // The entries of a directory.
  virtual std::vector<FileEntry> List(const std::string& path) = 0;
  // Fills `out` with the bytes from `offset` on. They lie within the file as Find described it when
  // it was opened, which is `file`.
  virtual void Read(const std::string& path, const FileEntry& file, std::uint64_t offset,
                    std::span<std::byte> out) = 0;
};

// Files are read in ranges: in small ones for headers, and in larger ones where one follows the
// other, several at once ahead of what is asked for.
struct MountOptions {
  std::size_t range_bytes = std::size_t{8} << 20;  // the most that one Read is asked for
  std::size_t ranges_ahead = 4;                    // each read by its own thread; 0: none
  // For the ranges that are kept, of all files together. Those being read come on top, one for each
  // thread of the conversion. 0: only what is asked for is read, and nothing is kept.
  std::size_t buffer_bytes = std::size_t{64} << 20;
  unsigned tries = 5;  // of each call
  std::chrono::milliseconds first_pause{
      250};  // before the second try; then twice as long each time
};

// Lends a file system for as long as this object lives, or any file that was opened meanwhile.
class TENSORCAST_API Mount {
 public:
  Mount();  // empty
  Mount(Mount&&) noexcept;
  Mount& operator=(Mount&&) noexcept;
  ~Mount();  // ends the threads that read ahead, once their calls return

  // Paths that begin with `prefix`, which must contain "://", lead to the file system. If several
  // prefixes fit, the longest decides, and among equal ones the last that was lent. Code: kBadInput
  // (no "://", or an option that must not be 0 is).
  static Status Make(const std::string& prefix, std::shared_ptr<FileSystem> files,
                     const MountOptions& options, Mount* mount, std::string* error = nullptr);

 private:
  std::shared_ptr<files::MountedFiles> files_;
};

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_FILE_SYSTEM_HPP_

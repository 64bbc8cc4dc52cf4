// Files that are far away, read in ranges: several at once, ahead of what is asked for, each tried
// again where that fails.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_READ_AHEAD_H_
#define TENSORCAST_SRC_FILES_READ_AHEAD_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensorcast/file_system.hpp"

namespace tensorcast::files {

// A file as its reader knows it.
struct FarFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::function<void(std::uint64_t offset, std::span<std::byte> out)> fetch;  // as FileSystem::Read
};

// The ranges of all files of one file system. A first look takes kLeastRange bytes or what is asked
// for; a range that follows on another is twice as large, up to MountOptions::range_bytes, and from
// kAheadFrom on those behind it are fetched before they are asked for. What was used longest ago
// goes first.
class ReadAhead {
 public:
  static constexpr std::size_t kLeastRange = std::size_t{64} << 10;
  static constexpr std::size_t kAheadFrom = std::size_t{1} << 20;

  explicit ReadAhead(const MountOptions& options) : options_(options) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() { Stop(); }

  // All of it lies in the file. Throws Error (system) where a range cannot be read.
  void Read(const std::shared_ptr<const FarFile>& file, std::uint64_t offset,
            std::span<std::byte> out);
  // Lets go of a file's ranges.
  void Forget(const FarFile& file);
  // Ends the threads; what is read later is read by those who ask for it.
  void Stop();

  // Makes a call as often as the options say, until it throws nothing or FileRefused. `what` of the
  // path cannot be done: "cannot be accessed". Throws Error (system).
  void Try(const std::string& path, const std::string& what, const std::function<void()>& call);

 private:
  struct Range {
    std::shared_ptr<const FarFile> file;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    bool follows = false;  // on another
    enum class State { kWaiting, kFetching, kDone } state = State::kWaiting;
    // Where it is done, and then they change no more.
    std::vector<std::byte> bytes;
    std::exception_ptr failure;
    std::uint64_t used_at = 0;  // by clock_

    std::uint64_t end() const { return begin + size; }
  };
  using Key = std::pair<const FarFile*, std::uint64_t>;  // the file, and where the range begins

  // With mutex_ held.
  std::shared_ptr<Range> Holding(const FarFile& file, std::uint64_t offset) const;
  std::shared_ptr<Range> Add(const std::shared_ptr<const FarFile>& file, std::uint64_t offset,
                             std::uint64_t wanted);
  void LookAhead(const Range& range, std::uint64_t wanted_to);
  bool MakeRoom(std::uint64_t bytes, const FarFile* file, std::uint64_t from, std::uint64_t to);
  void Drop(const Range& range);

  bool is_stopped();
  void Fetch(const FarFile& file, std::uint64_t offset, std::span<std::byte> out);
  void Fetch(Range& range);
  void Work();

  const MountOptions options_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<Key, std::shared_ptr<Range>> ranges_;  // which never lie over one another
  std::uint64_t held_ = 0;                        // bytes of ranges_
  std::uint64_t clock_ = 0;
  std::deque<std::shared_ptr<Range>> waiting_;
  std::vector<std::thread> threads_;
  bool stopped_ = false;
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_READ_AHEAD_H_

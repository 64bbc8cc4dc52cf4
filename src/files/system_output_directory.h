// Directories that are built under a hidden name: an output of many files, or the place where many
// outputs are made.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_SYSTEM_OUTPUT_DIRECTORY_H_
#define TENSORCAST_SRC_FILES_SYSTEM_OUTPUT_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/output_options.h"

namespace tensorcast::files {

// A directory under a hidden name beside an output, held under a lock as long as this lives: what
// files in it are written is removed with it, by the destructor or, where the process was killed,
// by the next one that makes the same output.
class StagingDirectory {
 public:
  // `output`: the path beside which it stands and after which it is called. `files`: how many it
  // will hold, so that many are synced together. `permissions`: at most.
  StagingDirectory(const std::string& output, std::size_t files, unsigned permissions = 0700);
  // One that is not removed, so that other runs go on with it: it is made at `path` with at most
  // these permissions, or stands there. Whoever uses it has a lock of his own.
  enum class Lasting { kNew, kTaken };
  StagingDirectory(const std::string& output, const std::string& path, Lasting as,
                   unsigned permissions = 0700);
  StagingDirectory(const StagingDirectory&) = delete;
  StagingDirectory& operator=(const StagingDirectory&) = delete;
  ~StagingDirectory();

  const std::string& path() const { return path_; }
  int lock() const { return lock_; }

  // The staging of files that are made in it, or in a directory below.
  Staging ForFiles(const std::string& below = {}) const;

  // Creates a directory below, "a" before "a/b", that lets others do at most what `permissions`
  // say; one that is `like` another has its access.
  void Add(const std::string& relative, unsigned permissions, const std::string& like);
  // Gives it the access of a directory that it replaces.
  void TakeAccessOf(const std::string& replaced);
  // Syncs the directories, and the files where they are synced together: else those who write them
  // have done it.
  void Sync();

  // Makes the names last that files got beside it, `named` the first of them.
  void SyncNames(const std::string& named) const;

  // Renames it.
  bool MoveTo(const std::string& path);
  // It has the name of an output now, and is not removed any more.
  void Leave() { path_.clear(); }

  // What killed runs left and was removed.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void Create(const std::string& prefix, unsigned permissions);

  std::string output_;  // for messages
  std::string parent_;
  std::string path_;  // empty: there is nothing to remove
  int lock_ = -1;
  bool stays_ = false;     // it is not removed
  bool is_begun_ = false;  // it stood, with what is below
  bool syncs_files_ = false;
  std::optional<unsigned> permissions_;  // once it is complete
  std::vector<std::pair<std::string, std::optional<unsigned>>> added_;
  std::vector<std::string> notes_;
};

// Why a directory, or what a link leads to, may not be replaced: "holds thesis.tex and no
// checkpoint". Empty: it may.
using WhyKept = std::function<std::string(const std::string& path)>;

// Throws where a directory of `bytes` cannot be created at `path`: the name is taken (and not to be
// replaced, or by what may not be), it is the same as an input's directory, above or below it, the
// directory it is to stand in is missing, or the disk has no room. `input`: the directory of which
// the new one is made.
void CheckOutputDirectory(const std::string& path, const std::string& input, std::uint64_t bytes,
                          const CreateOptions& options, const WhyKept& why_kept);

// Throws where what the options say was begun is not the directory of an output at `path`
// (StagingDirectory::path): of hidden name beside it, or in that of the options' staging.
void CheckBegunDirectory(const std::string& path, const CreateOptions& options);

// A directory that is built beside its final name, under a hidden one, and gets its name in Commit:
// whatever ends before leaves what stood there as it was. The destructor removes what is not
// committed; what a killed process left is removed when the same output is made again.
//
// A directory that is replaced is exchanged with the new one in one step. What has the hidden name
// then is looked at once more: another program may have moved something else there meanwhile, which
// is exchanged back. Only then it is removed. Where the file system cannot exchange, it is moved
// aside first. In between it has a hidden name that ends in ".old", which nobody removes before he
// has looked at it and something stands under the final name.
class OutputDirectory {
 public:
  // Checks as CheckOutputDirectory does, then creates the hidden directory, or in that of the
  // options' staging one that stays, or takes up the one that they say was begun. `files`: as
  // StagingDirectory. `wait` is called while another run is waited for, and may throw.
  OutputDirectory(const std::string& path, const std::string& input, std::uint64_t bytes,
                  std::size_t files, const CreateOptions& options, WhyKept why_kept,
                  std::function<void()> wait);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;
  ~OutputDirectory();

  // The final name, and where files are written until it is given.
  const std::string& path() const { return path_; }
  const StagingDirectory& staging() const { return staging_; }

  // Creates a directory below, "a" before "a/b", no more open to others than the input's.
  void Add(const std::string& relative);
  void Sync() { staging_.Sync(); }
  // Gives the directory its name, and removes the one it replaces. Call once, after Sync.
  void Commit();

  // What was done beside that: what a killed run left and was removed; what could not be.
  std::vector<std::string> notes() const;

 private:
  void RemoveReplaced();
  std::string WhyNow(const std::string& place) const;
  bool TryExchange();
  bool TryMoveAside();
  [[noreturn]] void FailKept(const std::string& why) const;
  [[noreturn]] void FailStranded(int error) const;
  void Finish();

  // Which files of the machine the input is, and what stood at the output's name; both are looked
  // at before anything else.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> input_number_;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> checked_;
  int held_ = -1;  // that one, so that no other gets its number
  std::string path_;
  std::string parent_;
  std::string input_;
  bool overwrite_ = false;
  WhyKept why_kept_;
  std::function<void()> wait_;
  StagingDirectory staging_;
  // The hidden names of what is built or removed, and of what was not looked at yet; here, so that
  // no step wants for memory.
  std::string doomed_;
  std::string aside_;
  bool has_replaced_ = false;
  std::vector<std::string> notes_;
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_SYSTEM_OUTPUT_DIRECTORY_H_

// Text as a new file: whole, or in pieces that come one after another.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_TEXT_OUTPUT_H_
#define TENSORCAST_SRC_FILES_TEXT_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "files/output_options.h"
#include "files/system.h"

namespace tensorcast::files {

// Pieces are gathered, so that there may be many. Nothing stands under the name before Commit.
class TextOutput {
 public:
  // `bytes`: of all pieces together, or 0 where that is not known.
  TextOutput(const std::string& path, std::uint64_t bytes, const CreateOptions& options)
      : file_(path, bytes, options) {}

  void Add(std::string_view piece) {
    gathered_ += piece;
    if (gathered_.size() >= kAtOnce) Write();
  }
  void Commit() {
    Write();
    file_.Commit();
  }

 private:
  static constexpr std::size_t kAtOnce = std::size_t{1} << 20;

  void Write() {
    file_.Write(written_, std::as_bytes(std::span(gathered_)));
    written_ += gathered_.size();
    gathered_.clear();
  }

  OutputFile file_;
  std::string gathered_;
  std::uint64_t written_ = 0;
};

inline void WriteText(const std::string& path, std::string_view text,
                      const CreateOptions& options) {
  OutputFile file(path, text.size(), options);
  file.Write(0, std::as_bytes(std::span(text)));
  file.Commit();
}

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_TEXT_OUTPUT_H_

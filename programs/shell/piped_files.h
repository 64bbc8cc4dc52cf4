// stdin as a file of tensors, and stdout as one: what "-" stands for.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_PIPED_FILES_H_
#define TENSORCAST_PROGRAMS_SHELL_PIPED_FILES_H_

#include <string>
#include <string_view>

namespace tensorcast::tool {

inline constexpr std::string_view kPiped = "-";

// The path under which an input is read. For "-" that is stdin's: what is no file there is copied
// first into one without a name, which goes with the process. Throws files::Error.
std::string PathOfInput(const std::string& input);

// A file that is made in a directory of its own and then sent to stdout. Destroyed, nothing is
// left.
class PipedOutput {
 public:
  // `ending`: that of its format. Throws files::Error: arguments where stdout is a terminal.
  explicit PipedOutput(std::string_view ending);
  PipedOutput(const PipedOutput&) = delete;
  PipedOutput& operator=(const PipedOutput&) = delete;
  ~PipedOutput();

  const std::string& path() const { return path_; }
  // Interrupts have been caught until then, and end the process from then on. Whether it could be
  // sent is asked of FinishPrinting. Throws files::Error where it cannot be
  // read.
  void Send();

 private:
  void Remove() noexcept;

  std::string directory_;
  std::string path_;
};

// The ending of the format of a file that holds tensors, where they can be written to it alone;
// else .safetensors.
std::string_view WrittenEndingLike(const std::string& path);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_PIPED_FILES_H_

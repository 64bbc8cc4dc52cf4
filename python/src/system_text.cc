// The system's calls alone.
//
// SPDX-License-Identifier: Apache-2.0
#include "system_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace tensorcast::python {

std::string SystemText(const char* path) {
  std::string text;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got > 0) {
      text.append(piece.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  close(file);
  return text;
}

}  // namespace tensorcast::python

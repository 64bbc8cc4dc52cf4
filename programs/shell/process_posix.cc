// The process where the system is Linux: signals, streams held open, what stdin holds, the kernel's
// account of our memory.
//
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/error.h"
#include "shell/process.h"

namespace tensorcast::tool {

std::vector<std::string> Arguments(int argc, char** argv) {
  return argc > 0 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>();
}

void HoldStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is this one. O_PATH: every use but its closing fails with EBADF.
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/", O_PATH));
  }
}

bool IsConsole(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

std::size_t ConsoleColumns(std::FILE* stream) {
  struct winsize size = {};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void IgnoreSignalsOfWriting() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

void ExitAtOnce(std::string_view last_words, int code) {
  static_cast<void>(!write(STDERR_FILENO, last_words.data(), last_words.size()));
  _exit(code);
}

void OnInterrupts(void (*handler)(int), bool once) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // Restart system calls: a job ends between two chunks, not inside one.
  action.sa_flags = once ? static_cast<int>(SA_RESTART | SA_RESETHAND) : SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    // A signal that is ignored (nohup) stays so.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr);
    }
  }
}

// getrusage's figure survives exec: started from a large process it would be that one's.
std::uint64_t PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kKey = "VmHWM:";
    if (!line.starts_with(kKey)) continue;
    return std::strtoull(line.c_str() + kKey.size(), nullptr, 10) * 1024;  // in KiB
  }
  return 0;
}

TemporaryPlace PlaceOfTemporaries() {
  const char* const named = std::getenv("TMPDIR");
  return {named != nullptr && *named != '\0' ? named : "/tmp", "; TMPDIR names another directory"};
}

namespace {

[[noreturn]] void FailTemporary(const TemporaryPlace& place, const char* what, int error) {
  throw files::Error(
      core::ErrorKind::kSystem,
      words::PathText(place.directory) + ": " + what + ": " + std::strerror(error) + place.advice,
      place.directory);
}

// Descriptors are called until all is done; an interrupt that is caught ends nothing here.
void CopyStandardInput(int copy, const TemporaryPlace& place) {
  std::vector<char> piece(std::size_t{1} << 20);
  while (true) {
    const ssize_t n = read(STDIN_FILENO, piece.data(), piece.size());
    if (n == 0) return;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      throw files::Error(core::ErrorKind::kSystem,
                         std::string("-: stdin cannot be read: ") + std::strerror(errno));
    }
    for (ssize_t done = 0; done < n;) {
      const ssize_t written = write(copy, piece.data() + done, static_cast<std::size_t>(n - done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) FailTemporary(place, "stdin cannot be copied there", errno);
      done += written;
    }
  }
}

}  // namespace

std::string PathOfStandardInput(const TemporaryPlace& place) {
  constexpr const char* kPath = "/dev/stdin";
  struct stat status = {};
  const bool is_file = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  if (is_file && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) return kPath;
  std::string name = place.directory + "/tensorcast-stdin-XXXXXX";
  const int copy = mkostemp(name.data(), O_CLOEXEC);
  if (copy < 0) FailTemporary(place, "no file can be made there", errno);
  unlink(name.c_str());
  const auto close_copy = [&] { close(copy); };
  try {
    CopyStandardInput(copy, place);
  } catch (...) {
    close_copy();
    throw;
  }
  const bool is_taken = dup2(copy, STDIN_FILENO) == STDIN_FILENO;
  const int error = errno;
  close_copy();
  if (!is_taken) FailTemporary(place, "stdin cannot be read from there", error);
  return kPath;
}

std::string MakeTemporaryDirectory(const TemporaryPlace& place) {
  std::string name = place.directory + "/tensorcast-stdout-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    FailTemporary(place, "no directory can be made there", errno);
  }
  return name;
}

}  // namespace tensorcast::tool

// The start of the libraries asks for memory too: this comes before it.
using PreinitFunction = void (*)();
[[gnu::section(".preinit_array"), gnu::used]] const PreinitFunction before_the_libraries =
    &tensorcast::tool::ExitWhereMemoryEnds;

// Formats are read at any place and written in any order, and a pipe has neither: both ends go
// through files.
//
// SPDX-License-Identifier: Apache-2.0
#include "shell/piped_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "files/error.h"
#include "files/system.h"
#include "formats/formats.h"
#include "shell/process.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

constexpr std::string_view kUsualEnding = ".safetensors";

// Whether a ZIP archive begins with an array, as numpy's do and torch's do not.
bool BeginsWithArray(const files::InputFile& file) {
  constexpr std::size_t kNameLength = 26, kName = 30;  // of a local header
  std::array<std::byte, kName> header{};
  if (file.size() < header.size()) return false;
  file.Read(0, header);
  const auto length = std::to_integer<std::size_t>(header[kNameLength]) |
                      std::to_integer<std::size_t>(header[kNameLength + 1]) << 8;
  std::string name(length, '\0');
  if (file.size() - kName < length) return false;
  file.Read(kName, std::as_writable_bytes(std::span(name)));
  return name.ends_with(formats::kNpzMemberEnding);
}

}  // namespace

std::string PathOfInput(const std::string& input) {
  if (input != kPiped) return input;
  if (IsTerminal(stdin)) {
    throw Error(ErrorKind::kArguments, "-: stdin is a terminal; pipe a file into it, or name one");
  }
  const TemporaryPlace place = PlaceOfTemporaries();
  return PathOfStandardInput(place);
}

PipedOutput::PipedOutput(std::string_view ending) {
  if (IsTerminal(stdout)) {
    throw Error(ErrorKind::kArguments,
                "-o -: stdout is a terminal, and tensors are bytes; send it to a file or a pipe");
  }
  directory_ = MakeTemporaryDirectory(PlaceOfTemporaries());
  path_ = directory_ + "/tensors" + std::string(ending);
}

PipedOutput::~PipedOutput() { Remove(); }

void PipedOutput::Remove() noexcept {
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

void PipedOutput::Send() {
  files::StopIfInterrupted(InterruptFlag());
  const files::InputFile file(path_);
  Remove();  // however the process ends, nothing is left
  ExitOnInterrupts(Leaves::kPartOfOutput);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (std::uint64_t done = 0; done < file.size() && !PrintingFailed(); done += piece.size()) {
    piece.resize(
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), file.size() - done)));
    file.Read(done, piece);
    SendOut({reinterpret_cast<const char*>(piece.data()), piece.size()});
  }
  FlushSent();
  ExitOnInterrupts(Leaves::kOutput);
}

std::string_view WrittenEndingLike(const std::string& path) {
  if (!files::IsFile(path)) return kUsualEnding;
  const formats::Format* const format = formats::FindByEnding(path);
  if (format != nullptr) return format->create != nullptr ? format->ending : kUsualEnding;
  const files::InputFile file(path);
  std::array<std::byte, 16> bytes{};
  const auto head =
      std::span(bytes).first(static_cast<std::size_t>(std::min<std::uint64_t>(16, file.size())));
  file.Read(0, head);
  if (formats::LooksLikeGguf(head)) return ".gguf";
  if (formats::LooksLikeNpy(head)) return ".npy";
  if (formats::LooksLikeNpz(head) && BeginsWithArray(file)) return ".npz";
  return kUsualEnding;
}

}  // namespace tensorcast::tool

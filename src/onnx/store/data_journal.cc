// A line of two numbers and a NUL behind the name for each file.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/store/data_journal.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "files/error.h"

namespace tensorcast::onnx {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

// No file has this name: a journal is never named.
std::string PathOf(const std::string& model) { return model + ".journal"; }

std::string TextOf(const std::vector<JournaledFile>& files) {
  std::string text;
  for (const JournaledFile& file : files) {
    text += std::to_string(file.number) + ' ' + std::to_string(file.bytes) + ' ' + file.name + '\0';
  }
  return text;
}

// Takes a number and the blank behind it.
std::optional<std::uint64_t> TakeNumber(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || digits == text.size() || *end != ' ') return std::nullopt;
  text.remove_prefix(digits + 1);
  return number;
}

// What a power failure left may be anything: it ends with the first entry that is none.
bool ForEachEntry(std::string_view text, const std::function<bool(const JournaledFile&)>& use) {
  bool is_settled = true;
  while (!text.empty()) {
    JournaledFile file;
    const std::optional<std::uint64_t> number = TakeNumber(text);
    const std::optional<std::uint64_t> bytes = number ? TakeNumber(text) : std::nullopt;
    const std::size_t end = text.find('\0');
    if (!bytes || end == std::string_view::npos || end == 0) break;
    file.number = *number;
    file.bytes = *bytes;
    file.name = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (file.name.find('/') == std::string::npos) is_settled = use(file) && is_settled;
  }
  return is_settled;
}

}  // namespace

DataJournal::DataJournal(const std::string& model, const std::vector<JournaledFile>& files)
    : DataJournal(model, TextOf(files)) {}

DataJournal::DataJournal(const std::string& model, const std::string& text)
    : file_(PathOf(model), text.size(), {true, {}}) {
  file_.Write(0, std::as_bytes(std::span(text)));
  file_.Sync();
}

void TakeJournals(const std::string& model, const std::function<bool(const JournaledFile&)>& use) {
  files::ForEachStale(PathOf(model), [&](const std::string& path) {
    try {
      const files::InputFile file(path);
      std::string text(static_cast<std::size_t>(std::min(file.size(), kMostBytes)), '\0');
      file.Read(0, std::as_writable_bytes(std::span(text)));
      if (!ForEachEntry(text, use)) return;
    } catch (const files::Error&) {  // nothing is known of it
    }
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  });
}

}  // namespace tensorcast::onnx

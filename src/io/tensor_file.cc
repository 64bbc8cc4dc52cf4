// What the formats share: how a file is refused, endings of names, the steps of a commit, and what
// one without strings says of them.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/tensor_file.h"

#include <algorithm>
#include <stdexcept>

#include "text/utf8.h"

namespace tensorcast::io {

void FailFile(const ByteSource& file, const std::string& why, ErrorKind kind) {
  throw Error(kind, text::PathText(file.path()) + ": " + why);
}

bool HasEnding(std::string_view path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  path.remove_prefix(path.size() - ending.size());
  return std::equal(path.begin(), path.end(), ending.begin(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

void AddTextSize(const Strings& texts, TextSize& size) {
  for (std::uint64_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = texts[i];
    size.total_bytes += text.size();
    size.most_bytes = std::max<std::uint64_t>(size.most_bytes, text.size());
    if (text.size() <= size.most_code_points) continue;
    std::uint64_t points = 0;
    for (std::string_view rest = text; !rest.empty(); ++points) {
      rest.remove_prefix(text::DecodeUtf8(rest).bytes);
    }
    size.most_code_points = std::max(size.most_code_points, points);
  }
}

StringPiece TensorReader::ReadStrings(std::size_t, std::uint64_t, std::uint64_t) const {
  throw std::logic_error("this format has no tensors of strings");
}

void TensorWriter::WriteStrings(std::size_t, std::uint64_t, const Strings&) {
  throw std::logic_error("this format has no tensors of strings");
}

void TensorWriter::Sync() {
  if (synced_) return;
  DoSync();
  synced_ = true;
}

void TensorWriter::Commit() {
  Sync();
  DoCommit();
}

}  // namespace tensorcast::io

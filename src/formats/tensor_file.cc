// What the formats share: endings of names, the steps of a commit, and what one without strings
// says of them.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/tensor_file.h"

#include <algorithm>
#include <stdexcept>

namespace tensorcast::formats {

bool HasEnding(std::string_view path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  path.remove_prefix(path.size() - ending.size());
  return std::equal(path.begin(), path.end(), ending.begin(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

std::shared_ptr<std::byte> TensorReader::Map(std::size_t) const { return nullptr; }

bool TensorReader::ReadCast(std::size_t, const CastPlan&, std::uint64_t,
                            std::span<std::byte>) const {
  return false;
}

text::StringPiece TensorReader::ReadStrings(std::size_t, std::uint64_t, std::uint64_t) const {
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

}  // namespace tensorcast::formats

// A part of a file as bytes of its own: a stored member of an archive.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_PART_SOURCE_H_
#define TENSORCAST_SRC_FORMATS_PART_SOURCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "files/byte_source.h"

namespace tensorcast::formats {

// Bytes [begin, begin + size) of `whole`, which lie in it and which it outlives; messages name them
// by `label`.
class PartSource final : public files::ByteSource {
 public:
  PartSource(const files::ByteSource& whole, std::uint64_t begin, std::uint64_t size,
             std::string label)
      : whole_(whole), begin_(begin), size_(size), label_(std::move(label)) {}

  const std::string& path() const override { return label_; }
  std::uint64_t size() const override { return size_; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    whole_.Read(begin_ + offset, out);
  }

 private:
  const files::ByteSource& whole_;
  std::uint64_t begin_;
  std::uint64_t size_;
  std::string label_;
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_PART_SOURCE_H_

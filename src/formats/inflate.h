// Inflates a deflated member of an archive, from front to end, and checks it against its directory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_INFLATE_H_
#define TENSORCAST_SRC_FORMATS_INFLATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "files/byte_source.h"
#include "formats/zip_directory.h"

namespace tensorcast::formats {

class Inflater {
 public:
  // Both outlive the inflater.
  Inflater(const files::ByteSource& source, const ZipMember& member);
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater();

  // Fills the front of `out` with what comes next, all of `out` while that much is left of the
  // size in the directory. Returns the number of bytes. Throws Error.
  std::size_t Next(std::span<std::byte> out);
  // After the last byte: throws Error unless the data end there and have the directory's CRC-32.
  void Finish();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_INFLATE_H_

// Bit streams; see packing.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "oracle/packing.h"

#include <cstring>

namespace oracle {

std::uint64_t GetCode(std::span<const std::byte> stream, int bits, std::uint64_t index) {
  std::uint64_t code = 0;
  if (bits % 8 == 0) {
    const std::size_t size = static_cast<std::size_t>(bits) / 8;
    for (std::size_t b = 0; b < size; ++b) {
      code |= static_cast<std::uint64_t>(stream[index * size + b]) << (8 * b);
    }
    return code;
  }
  for (int b = 0; b < bits; ++b) {
    const std::uint64_t at = index * static_cast<std::uint64_t>(bits) + static_cast<unsigned>(b);
    const auto bit = static_cast<std::uint64_t>(stream[at / 8] >> (at % 8)) & 1;
    code |= bit << b;
  }
  return code;
}

void PutCode(std::span<std::byte> stream, int bits, std::uint64_t index, std::uint64_t code) {
  if (bits % 8 == 0) {
    const std::size_t size = static_cast<std::size_t>(bits) / 8;
    for (std::size_t b = 0; b < size; ++b) {
      stream[index * size + b] = static_cast<std::byte>(code >> (8 * b));
    }
    return;
  }
  for (int b = 0; b < bits; ++b) {
    const std::uint64_t at = index * static_cast<std::uint64_t>(bits) + static_cast<unsigned>(b);
    const auto bit = static_cast<std::byte>(1u << (at % 8));
    stream[at / 8] = (code >> b & 1) != 0 ? stream[at / 8] | bit : stream[at / 8] & ~bit;
  }
}

namespace {

template <class Word> void StoreWords(std::span<const std::uint64_t> codes, std::byte* stream) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto word = static_cast<Word>(codes[i]);  // little-endian, as every machine of the tests
    std::memcpy(stream + i * sizeof word, &word, sizeof word);
  }
}

}  // namespace

void PackInto(std::span<const std::uint64_t> codes, int bits, std::span<std::byte> stream) {
  switch (bits) {
    case 8: return StoreWords<std::uint8_t>(codes, stream.data());
    case 16: return StoreWords<std::uint16_t>(codes, stream.data());
    case 32: return StoreWords<std::uint32_t>(codes, stream.data());
    case 64: return StoreWords<std::uint64_t>(codes, stream.data());
    default: break;
  }
  std::uint64_t held = 0;  // bits not yet written, the earliest lowest
  int count = 0;
  std::size_t byte = 0;
  for (const std::uint64_t code : codes) {
    held |= (code & ((1ull << bits) - 1)) << count;
    for (count += bits; count >= 8; count -= 8, held >>= 8) {
      stream[byte++] = static_cast<std::byte>(held);
    }
  }
  if (count != 0) stream[byte] = static_cast<std::byte>(held);
}

std::vector<std::byte> Pack(std::span<const std::uint64_t> codes, int bits) {
  std::vector<std::byte> stream((codes.size() * static_cast<std::size_t>(bits) + 7) / 8);
  PackInto(codes, bits, stream);
  return stream;
}

}  // namespace oracle

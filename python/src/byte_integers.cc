// Loops that the compiler makes vectors of, for AVX2 too.
//
// SPDX-License-Identifier: Apache-2.0
#include "byte_integers.h"

// No loop reads what an earlier turn of it has written: memories that are one are of equally wide
// elements.
#define TENSORCAST_IVDEP _Pragma("GCC ivdep")
#ifdef __x86_64__
#define TENSORCAST_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define TENSORCAST_CLONES
#endif

namespace tensorcast::python {
namespace {

bool IsInteger(DataType type) {
  const TypeClass type_class = FindType(type)->type_class;
  return type_class == TypeClass::kSigned || type_class == TypeClass::kUnsigned;
}

// What is kept of an element's bits: the low ones that are read, with the sign, if there is one,
// spread over those above; and of these the low ones that are written.
struct Bits {
  std::uint64_t read;
  std::uint64_t sign;  // 0 where there is none
  std::uint64_t written;
};

// From elements of one byte; a narrow integer's value is less than 128.
#define TENSORCAST_MOVE(Written)                                                             \
  TENSORCAST_CLONES void Move(const Bits& bits, const std::uint8_t* source, Written* result, \
                              std::uint64_t n) {                                             \
    const auto low = static_cast<std::uint8_t>(bits.read);                                   \
    const auto sign = static_cast<std::uint8_t>(bits.sign);                                  \
    const auto kept = static_cast<Written>(bits.written);                                    \
    TENSORCAST_IVDEP                                                                         \
    for (std::uint64_t i = 0; i < n; ++i) {                                                  \
      const auto value = static_cast<std::int8_t>(((source[i] & low) ^ sign) - sign);        \
      result[i] = static_cast<Written>(static_cast<Written>(value) & kept);                  \
    }                                                                                        \
  }
TENSORCAST_MOVE(std::uint8_t)
TENSORCAST_MOVE(std::uint16_t)
#undef TENSORCAST_MOVE

// From wider ones, which have all bits that a byte keeps.
#define TENSORCAST_NARROW(Clones, Read)                                                           \
  Clones void Move(const Bits& bits, const Read* source, std::uint8_t* result, std::uint64_t n) { \
    const auto kept = static_cast<std::uint8_t>(bits.written);                                    \
    TENSORCAST_IVDEP                                                                              \
    for (std::uint64_t i = 0; i < n; ++i) {                                                       \
      result[i] = static_cast<std::uint8_t>(source[i] & kept);                                    \
    }                                                                                             \
  }
TENSORCAST_NARROW(TENSORCAST_CLONES, std::uint16_t)
TENSORCAST_NARROW(TENSORCAST_CLONES, std::uint32_t)
// With AVX2 it would cross the blocks of its vectors, and take 1.6 to 3 times as long on a Zen 1.
TENSORCAST_NARROW(, std::uint64_t)
#undef TENSORCAST_NARROW

// Makes bool of the low bits of bytes, and the integers 0 and 1 of bool.
TENSORCAST_CLONES void MoveTruths(std::uint8_t low, const std::uint8_t* source,
                                  std::uint8_t* result, std::uint64_t n) {
  TENSORCAST_IVDEP
  for (std::uint64_t i = 0; i < n; ++i) {
    result[i] = static_cast<std::uint8_t>((source[i] & low) != 0 ? 1 : 0);
  }
}

template <class Read>
void MoveFrom(const Bits& bits, const std::byte* source, int result_bits, std::byte* result,
              std::uint64_t n) {
  const auto* const read = reinterpret_cast<const Read*>(source);
  if constexpr (sizeof(Read) == 1) {
    if (result_bits == 16) return Move(bits, read, reinterpret_cast<std::uint16_t*>(result), n);
  }
  Move(bits, read, reinterpret_cast<std::uint8_t*>(result), n);
}

std::uint64_t LowBits(int bits) { return ~std::uint64_t{0} >> (64 - bits); }

}  // namespace

bool IsNarrowInteger(DataType type) { return IsInteger(type) && FindType(type)->is_packed(); }

bool MovesIntegers(DataType from, DataType to) {
  const auto is_whole = [](DataType type) { return IsInteger(type) || type == DataType::kBool; };
  const bool is_narrow = IsNarrowInteger(from) || IsNarrowInteger(to);
  return is_narrow && is_whole(from) && is_whole(to) && FindType(to)->bits <= 16;
}

void MoveIntegers(DataType from, DataType to, const std::byte* source, std::byte* result,
                  std::uint64_t n) {
  const TypeInfo& read = *FindType(from);
  const TypeInfo& written = *FindType(to);
  const auto low = LowBits(from == DataType::kBool ? 8 : read.bits);
  if (from == DataType::kBool || to == DataType::kBool) {
    return MoveTruths(static_cast<std::uint8_t>(low), reinterpret_cast<const std::uint8_t*>(source),
                      reinterpret_cast<std::uint8_t*>(result), n);
  }
  const Bits bits = {low, read.type_class == TypeClass::kSigned ? low / 2 + 1 : 0,
                     LowBits(written.bits)};
  switch (read.bits) {
    case 16: return MoveFrom<std::uint16_t>(bits, source, written.bits, result, n);
    case 32: return MoveFrom<std::uint32_t>(bits, source, written.bits, result, n);
    case 64: return MoveFrom<std::uint64_t>(bits, source, written.bits, result, n);
    default: return MoveFrom<std::uint8_t>(bits, source, written.bits, result, n);
  }
}

}  // namespace tensorcast::python

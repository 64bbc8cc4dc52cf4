// Dense little-endian bit streams, bit i*w of element i first: docs/semantics.md section 1,
// "Packing".
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ORACLE_PACKING_H_
#define TENSORCAST_TESTS_ORACLE_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace oracle {

// Element `index` of a stream of `bits`-wide elements.
std::uint64_t GetCode(std::span<const std::byte> stream, int bits, std::uint64_t index);
void PutCode(std::span<std::byte> stream, int bits, std::uint64_t index, std::uint64_t code);

// A whole stream at once, for the long comparisons; pad bits zero. `stream` holds exactly
// ceil(codes.size() * bits / 8) bytes.
void PackInto(std::span<const std::uint64_t> codes, int bits, std::span<std::byte> stream);
std::vector<std::byte> Pack(std::span<const std::uint64_t> codes, int bits);

}  // namespace oracle

#endif  // TENSORCAST_TESTS_ORACLE_PACKING_H_

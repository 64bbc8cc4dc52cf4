// Rights the checksums of a zip archive, so that a fuzzer's changes get past them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_FUZZ_ZIP_CHECKSUMS_H_
#define TENSORCAST_FUZZ_ZIP_CHECKSUMS_H_

#include <cstdint>
#include <span>
#include <vector>

// The archive with the CRC-32 of what each of its members really holds, where that can be found;
// the rest is as it was.
std::vector<std::uint8_t> WithRightChecksums(std::span<const std::uint8_t> archive);

#endif  // TENSORCAST_FUZZ_ZIP_CHECKSUMS_H_

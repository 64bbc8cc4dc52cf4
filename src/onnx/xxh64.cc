// XXH64 as its specification has it: four lanes over stripes of 32 bytes, then what is left, then
// the bits mixed. The names are the specification's.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/xxh64.h"

#include <algorithm>
#include <bit>

namespace tensorcast::onnx {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

std::uint64_t LittleEndian(const std::byte* data, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::to_integer<std::uint64_t>(data[i]) << (8 * i);
  }
  return value;
}

constexpr std::uint64_t Round(std::uint64_t lane, std::uint64_t value) {
  return std::rotl(lane + value * kPrime2, 31) * kPrime1;
}

void AddStripe(std::array<std::uint64_t, 4>& lanes, const std::byte* data) {
  for (std::size_t i = 0; i < 4; ++i) lanes[i] = Round(lanes[i], LittleEndian(data + 8 * i, 8));
}

}  // namespace

void Xxh64::Add(std::span<const std::byte> data) {
  const auto held = static_cast<std::size_t>(size_ % kStripe);
  size_ += data.size();
  if (held != 0 || data.size() < kStripe) {
    const std::size_t taken = std::min(kStripe - held, data.size());
    std::copy_n(data.begin(), taken, rest_.begin() + static_cast<std::ptrdiff_t>(held));
    data = data.subspan(taken);
    if (held + taken < kStripe) return;
    AddStripe(lanes_, rest_.data());
  }
  for (; data.size() >= kStripe; data = data.subspan(kStripe)) AddStripe(lanes_, data.data());
  std::copy(data.begin(), data.end(), rest_.begin());
}

std::uint64_t Xxh64::Digest() const {
  std::uint64_t hash = kPrime5;
  if (size_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += size_;
  const std::byte* data = rest_.data();
  auto left = static_cast<std::size_t>(size_ % kStripe);
  for (; left >= 8; left -= 8, data += 8) {
    hash = std::rotl(hash ^ Round(0, LittleEndian(data, 8)), 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    hash = std::rotl(hash ^ LittleEndian(data, 4) * kPrime1, 23) * kPrime2 + kPrime3;
    left -= 4;
    data += 4;
  }
  for (; left > 0; --left, ++data) {
    hash = std::rotl(hash ^ LittleEndian(data, 1) * kPrime5, 11) * kPrime1;
  }
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

std::string Xxh64::Hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  const std::uint64_t digest = Digest();
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[digest >> shift & 15];
  return text;
}

}  // namespace tensorcast::onnx

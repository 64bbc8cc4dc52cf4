// Tensors in memory that count what is read of them, and packed weights of such read by threads.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_SCALE_MEMORY_TENSORS_H_
#define TENSORCAST_TESTS_SCALE_MEMORY_TENSORS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "formats/tensor_reader.h"
#include "scale/held_parts.h"

namespace tensorcast::scale {

// Tensors in memory, and how many of their bytes were read.
class MemoryTensors final : public formats::TensorReader {
 public:
  template <class Number> std::size_t Add(const std::vector<Number>& numbers) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(numbers.data());
    bytes_.emplace_back(bytes, bytes + numbers.size() * sizeof(Number));
    formats::TensorInfo& info = contents_.tensors.emplace_back();
    info.name = "tensor" + std::to_string(bytes_.size() - 1);
    info.bytes = bytes_.back().size();
    return bytes_.size() - 1;
  }
  const formats::FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    ASSERT_LE(offset + out.size(), bytes_[tensor].size());
    std::memcpy(out.data(), bytes_[tensor].data() + offset, out.size());
    read_ += out.size();
  }
  std::uint64_t file_bytes() const override { return 0; }
  void CheckUnchanged() const override {}

  std::uint64_t bytes_read() const { return read_; }
  std::uint64_t all_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& one : bytes_) sum += one.size();
    return sum;
  }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  formats::FileContents contents_;
  mutable std::atomic<std::uint64_t> read_ = 0;
};

// As a conversion reads: pieces in order, several at once.
inline std::vector<float> ReadByThreads(const HeldParts& parts, const PackedWeight& weight,
                                        std::uint64_t elements) {
  constexpr std::uint64_t kPiece = 300'007;
  std::vector<float> values(elements);
  CastPlan plan;
  EXPECT_TRUE(CastPlan::Bind(DataType::kFloat64, DataType::kFloat32, {}, &plan).ok());
  std::atomic<std::uint64_t> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t at = next++ * kPiece; at < elements; at = next++ * kPiece) {
        const auto some = std::span(values).subspan(at, std::min(kPiece, elements - at));
        parts.Cast(weight, plan, at, std::as_writable_bytes(some));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return values;
}

}  // namespace tensorcast::scale

#endif  // TENSORCAST_TESTS_SCALE_MEMORY_TENSORS_H_

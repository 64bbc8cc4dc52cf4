// How the magnitudes of a tensor lie: how many of its values have which exponent, counted of a
// sample while a job reads it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_EXPONENTS_H_
#define TENSORCAST_SRC_CONVERT_EXPONENTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor_reader.h"

namespace tensorcast::convert {

struct ExponentCounts {
  std::uint64_t sampled = 0;          // values looked at; all others here are of them
  std::uint64_t zeros = 0;            // of either sign
  std::uint64_t not_finite = 0;       // Inf and NaN
  int first = 0;                      // the exponent of the first count: floor(log2(|x|))
  std::vector<std::uint64_t> counts;  // of this exponent and those that follow

  void Add(int exponent, std::uint64_t n);
  // Those of another part of the same tensor.
  void Merge(const ExponentCounts& other);
  bool operator==(const ExponentCounts&) const = default;
};

// Counts all values of a piece of a tensor of numbers, in its dense form.
void CountExponents(const TypeInfo& type, std::span<const std::byte> piece, std::uint64_t values,
                    ExponentCounts& counts);

// The types whose ranges are held beside a histogram, the widest first.
inline constexpr DataType kHistogramTypes[] = {
    DataType::kBfloat16,   DataType::kFloat16,    DataType::kFloat8E5M2, DataType::kFloat8E4M3FN,
    DataType::kFloat6E3M2, DataType::kFloat6E2M3, DataType::kFloat4E2M1};

// The magnitude below which a cast without a scale makes zero.
double ZeroBelow(DataType type);

// What a type makes of the numbers of a binade, [2^e, 2^(e+1)).
enum class Zone : std::uint8_t { kZero, kSubnormal, kNormal, kBeyond };
// Of the binade in which the greatest value lies this is kNormal, and kSubnormal of that in which
// some are rounded to the least.
Zone ZoneOf(DataType type, int exponent);

// How many of the values that were counted a cast without a scale makes zero, makes subnormal, and
// finds beyond the type's range, as far as their exponents tell.
struct ZoneCounts {
  std::uint64_t to_zero = 0;  // without those that are
  std::uint64_t to_subnormal = 0;
  std::uint64_t beyond = 0;
};
ZoneCounts ZonesOf(DataType type, const ExponentCounts& exponents);

// A reader that gives what another gives, and counts the exponents of numbers that pass. What is
// counted of a tensor depends on its size alone: all of up to 4,096 values, at least as many of
// more, and of large ones every 256th, in stretches of 32 that stand elsewhere in each block. A
// value that is read again, or by another thread, is counted once.
class CountingReader final : public formats::TensorReader {
 public:
  // `reader` outlives this.
  explicit CountingReader(const formats::TensorReader& reader);
  ~CountingReader() override;

  // From now on the tensor is counted, which is of numbers. Before it is read.
  void Want(std::size_t tensor);
  // What was counted of a tensor, which is no longer wanted. While nobody reads it.
  ExponentCounts Take(std::size_t tensor);

  const formats::FileContents& contents() const override { return reader_.contents(); }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override;
  bool ReadCast(std::size_t tensor, const CastPlan& plan, std::uint64_t first,
                std::span<std::byte> out) const override {
    return reader_.ReadCast(tensor, plan, first, out);
  }
  text::StringPiece ReadStrings(std::size_t tensor, std::uint64_t first,
                                std::uint64_t n) const override {
    return reader_.ReadStrings(tensor, first, n);
  }
  std::uint64_t file_bytes() const override { return reader_.file_bytes(); }
  void CheckUnchanged() const override { reader_.CheckUnchanged(); }
  std::vector<std::string> external_paths() const override { return reader_.external_paths(); }
  std::vector<std::string> notes() const override { return reader_.notes(); }

 private:
  struct Tally;

  Tally* TallyOf(std::size_t tensor) const;

  const formats::TensorReader& reader_;
  mutable std::mutex mutex_;  // guards all below, and what tallies have counted
  std::vector<bool> wanted_;
  mutable std::vector<std::unique_ptr<Tally>> tallies_;  // of tensors that are being read
};

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_EXPONENTS_H_

// Scales applied and written, in memory that stays in the second-level cache, one thread, beside
// the plain cast between the same two types on as many elements, in turn in one process. Packed
// weights (GGUF's blocks, groups of integers) are applied from parts that are loaded, beside the
// plain cast of integers of about as many bits. Prints CSV: nanoseconds for an element, and the
// plain cast's time over ours.
//
//   scale_speed [TARGET [FORMAT]]
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/failure.h"
#include "formats/tensor_reader.h"
#include "scale/applier.h"
#include "scale/gguf_weight.h"
#include "scale/grouped_integers.h"
#include "scale/held_parts.h"
#include "scale/quantiser.h"
#include "scale/scaled_format.h"

namespace tensorcast::scale {
namespace {

constexpr int kRounds = 15;

struct Shape {
  std::string_view name;
  std::uint64_t rows, columns;
};
// Rows as long as models have them: 384 KiB of float8 and bfloat16; the second lies in memory.
constexpr Shape kShapes[] = {{"cache", 64, 2048}, {"memory", 8192, 4096}};

double Median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

// Times two works in turn; medians in nanoseconds for an element.
std::pair<double, double> Times(std::uint64_t elements, const std::function<void()>& ours,
                                const std::function<void()>& plain) {
  const std::uint64_t repeats = std::max<std::uint64_t>(1, (std::uint64_t{1} << 20) / elements);
  std::vector<double> samples[2];
  for (int round = 0; round < kRounds; ++round) {
    for (int which = 0; which < 2; ++which) {
      const auto begin = std::chrono::steady_clock::now();
      for (std::uint64_t i = 0; i < repeats; ++i) (which == 0 ? ours : plain)();
      const std::chrono::duration<double, std::nano> time =
          std::chrono::steady_clock::now() - begin;
      samples[which].push_back(time.count() / static_cast<double>(elements * repeats));
    }
  }
  return {Median(samples[0]), Median(samples[1])};
}

void Check(Status status) {
  if (!status.ok()) throw core::Failure(status, std::string(status.message()));
}

CastPlan Plan(DataType from, DataType to, Target target) {
  CastPlan plan;
  Check(CastPlan::Bind(from, to, {}, &plan, target));
  return plan;
}

void Print(std::string_view what, std::string_view format, DataType type, const Shape& shape,
           std::pair<double, double> times) {
  const auto name = [](std::string_view text) { return static_cast<int>(text.size()); };
  std::printf("%.*s,%.*s,%.*s,%.*s,%.4f,%.4f,%.2f\n", name(what), what.data(), name(format),
              format.data(), name(TypeName(type)), TypeName(type).data(), name(shape.name),
              shape.name.data(), times.first, times.second, times.second / times.first);
}

void Measure(const ScaledFormat& format, const Shape& shape, Target target) {
  const std::uint64_t dimensions[] = {shape.rows, shape.columns};
  const Partition partition = format.PartitionOf(dimensions);
  const std::uint64_t n = partition.elements();
  const Scaling& scaling = format.scaling;
  const ScaleRule rule = format.rules.front().rule;
  // Weights: normally distributed, rows of several magnitudes.
  std::mt19937_64 random(20261123);
  std::normal_distribution<float> normal(0, 0.02F);
  std::vector<float> weights(n);
  for (float& weight : weights) weight = normal(random);

  std::vector<std::byte> codes(*StorageBytes(scaling.element, n));
  std::vector<double> scales(partition.cells());
  double global = 1;
  for (const DataType from : {DataType::kFloat32, DataType::kBfloat16}) {
    std::vector<std::byte> x(*StorageBytes(from, n));
    Check(Cast(DataType::kFloat32, std::as_bytes(std::span(weights)), from, x, n));
    const Quantiser quantiser(from, scaling, rule, partition, target);
    if (scaling.global_use != Factor::kNone) {
      std::vector<double> whole(1);
      Quantiser(from, scaling, rule, Partition::OfTensor(dimensions), target)
          .GatherAmax(x, 0, 0, n, 0, whole);
      global = quantiser.GlobalScale(whole[0]);
    }
    const CastPlan plain = Plan(from, scaling.element, target);
    Print("quantise", format.name, from, shape,
          Times(
              n,
              [&] {
                std::fill(scales.begin(), scales.end(), 0.0);
                quantiser.GatherAmax(x, 0, 0, n, 0, scales);
                quantiser.Scales(scales, global, scales);
                quantiser.Encode(x, 0, 0, n, {0, scales, {}, global}, codes, 0);
              },
              [&] { Check(plain.Run(x, 0, codes, 0, n)); }));
    quantiser.Encode(x, 0, 0, n, {0, scales, {}, global}, codes, 0);
  }

  std::vector<std::byte> stored;
  if (FindType(scaling.scale)->bits == 8) {
    stored.resize(scales.size());
    Check(Cast(DataType::kFloat64, std::as_bytes(std::span(scales)), scaling.scale, stored,
               scales.size()));
  }
  for (const DataType to : {DataType::kBfloat16, DataType::kFloat16, DataType::kFloat32}) {
    const Applier applier(scaling, partition, global, to, {}, target);
    std::vector<std::byte> out(*StorageBytes(to, n));
    const CastPlan plain = Plan(scaling.element, to, target);
    Print("apply", format.name, to, shape,
          Times(
              n,
              [&] {
                applier.Run(codes, 0, 0, n, {0, scales, {}, 1, stored}, out);
              },
              [&] { Check(plain.Run(codes, 0, out, 0, n)); }));
    if (!applier.Transposes()) continue;
    const std::uint64_t stride = shape.columns / 2, cells = partition.cell_columns();
    Print("apply transposed", format.name, to, shape,
          Times(
              n,
              [&] {
                applier.RunTransposed(codes.data(), stride, {0, shape.rows, 0, shape.columns},
                                      stored.data(), cells, out.data(), shape.rows);
              },
              [&] { Check(plain.Run(codes, 0, out, 0, n)); }));
  }
}

// Tensors in memory.
class Tensors final : public formats::TensorReader {
 public:
  explicit Tensors(std::vector<std::vector<std::byte>> tensors) : tensors_(std::move(tensors)) {}
  const formats::FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), tensors_[tensor].data() + offset, out.size());
  }
  std::uint64_t file_bytes() const override { return 0; }
  void CheckUnchanged() const override {}

 private:
  std::vector<std::vector<std::byte>> tensors_;
  formats::FileContents contents_;
};

std::vector<std::byte> RandomBytes(std::uint64_t n) {
  std::mt19937_64 random(20261124);
  std::vector<std::byte> bytes(n);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void MeasurePacked(std::string_view name, DataType codes, const PackedWeight& weight,
                   const Tensors& tensors, Target target) {
  const Shape& shape = kShapes[0];
  const std::uint64_t n = shape.rows * shape.columns;
  const HeldParts parts(tensors);
  const std::vector<std::byte> bytes = RandomBytes(n);
  for (const DataType to : {DataType::kBfloat16, DataType::kFloat16, DataType::kFloat32}) {
    std::vector<std::byte> out(*StorageBytes(to, n));
    const CastPlan plain = Plan(codes, to, target),
                   of_double = Plan(DataType::kFloat64, to, target);
    Print("apply", name, to, shape,
          Times(
              n, [&] { parts.Cast(weight, of_double, 0, out); },
              [&] { Check(plain.Run(bytes, 0, out, 0, n)); }));
  }
}

// A GGUF type, where its blocks have float16s, and integers to compare it with.
struct Blocks {
  std::string_view type;
  std::vector<std::size_t> scales;
  DataType codes;
};

void MeasureBlocks(const Blocks& row, Target target) {
  const GgufBlocks& blocks = *FindGgufBlocks(row.type);
  const std::uint64_t n = kShapes[0].rows * kShapes[0].columns;
  std::vector<std::byte> bytes = RandomBytes(n / blocks.values * blocks.bytes);
  for (std::size_t block = 0; block < bytes.size(); block += blocks.bytes) {
    // 0.01 and a little, of all digits.
    for (const std::size_t at : row.scales) bytes[block + at + 1] = std::byte{0x22};
  }
  const Tensors tensors({std::move(bytes)});
  MeasurePacked(row.type, row.codes, *MakeGgufWeight(blocks, {0, n}), tensors, target);
}

struct Groups {
  std::string_view name;
  std::uint64_t group;
  int bits;
  DataType codes;
  bool has_zeros;
};

void MeasureGroups(const Groups& row, Target target) {
  const Shape& shape = kShapes[0];
  const auto matrix = [&](std::size_t tensor, std::uint64_t columns) {
    const WordShape words = WordsOf(CodeOrder::kRows, shape.rows, columns, row.bits);
    return CodeMatrix{tensor,   CodeOrder::kRows, shape.rows,   columns,
                      row.bits, words.rows,       words.columns};
  };
  IntegerGroups groups;
  groups.group = row.group;
  groups.codes = matrix(0, shape.columns);
  groups.scales = {1, DataType::kFloat16, false, shape.columns / row.group};
  if (row.has_zeros) {
    groups.zeros = matrix(2, groups.groups());
  } else {
    groups.zero = 1 << (row.bits - 1);
  }
  std::vector<std::byte> scales = RandomBytes(shape.rows * groups.groups() * 2);
  for (std::size_t i = 1; i < scales.size(); i += 2) scales[i] = std::byte{0x22};
  const auto bits = static_cast<std::uint64_t>(row.bits);
  const Tensors tensors({RandomBytes(shape.rows * shape.columns * bits / 8), std::move(scales),
                         RandomBytes(shape.rows * groups.groups() * 4)});
  MeasurePacked(row.name, row.codes, *MakeGroupedIntegers(std::move(groups)), tensors, target);
}

void MeasureAllPacked(std::string_view only, Target target) {
  const auto is_asked = [&](std::string_view name) { return only.empty() || only == name; };
  for (const Blocks& row : {Blocks{"Q8_0", {0}, DataType::kInt8},
                            {"Q6_K", {208}, DataType::kInt8},
                            {"Q5_K", {0, 2}, DataType::kInt8},
                            {"Q4_K", {0, 2}, DataType::kUint4},
                            {"Q4_0", {0}, DataType::kInt4},
                            {"Q4_1", {0, 2}, DataType::kUint4},
                            {"IQ4_NL", {0}, DataType::kInt4},
                            {"IQ4_XS", {0}, DataType::kInt4},
                            {"Q3_K", {108}, DataType::kInt4},
                            {"Q2_K", {80, 82}, DataType::kUint2}}) {
    if (is_asked(row.type)) MeasureBlocks(row, target);
  }
  // GPTQ, AWQ, pack-quantized: they differ in how parts are loaded.
  for (const Groups& row : {Groups{"int4-128", 128, 4, DataType::kUint4, false},
                            {"int4-128-zeros", 128, 4, DataType::kUint4, true},
                            {"int4-32", 32, 4, DataType::kUint4, false},
                            {"int8-128", 128, 8, DataType::kUint8, false}}) {
    if (is_asked(row.name)) MeasureGroups(row, target);
  }
}

int Main(int argc, char** argv) {
  const auto target = argc > 1 ? ParseTarget(argv[1]) : Target::kBest;
  if (!target) {
    std::fprintf(stderr, "scale_speed [TARGET [FORMAT]]: no target is called %s\n", argv[1]);
    return 2;
  }
  std::printf("what,format,type,where,ours_ns,plain_ns,plain_over_ours\n");
  for (const Shape& shape : kShapes) {
    for (const ScaledFormat& format : ScaledFormats()) {
      // Those have quantisers of their own.
      if (format.is_of_blocks || format.group_bits != 0) continue;
      if (argc <= 2 || format.name == argv[2]) Measure(format, shape, *target);
    }
  }
  MeasureAllPacked(argc > 2 ? argv[2] : std::string_view(), *target);
  return 0;
}

}  // namespace
}  // namespace tensorcast::scale

int main(int argc, char** argv) {
  try {
    return tensorcast::scale::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

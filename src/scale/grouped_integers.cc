// Rows are brought into lines (code_lines.h); then all layouts are one. Where scales have 16 bits
// every value is a float32: a code less a zero point has at most 9 bits, the scale at most 11. Sums
// with biases are, too, but for groups whose scale and bias lie far apart.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/grouped_integers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "core/fp_environment.h"
#include "core/round_to_odd.h"
#include "files/error.h"
#include "scale/cell_lanes.h"
#include "scale/integer_cells.h"
#include "scale/stored_codes.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

using core::ErrorKind;
using files::Error;

// Codes of a part: of rows that are read in order, and of rows that stand transposed, of which each
// word row is one read.
constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kTransposedPartBytes = std::uint64_t{8} << 20;
// No more than this, in the least number of rows that begins at a whole word.
constexpr std::uint64_t kMostPartBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kRowGrain = 32;
// Values that are made at once.
constexpr std::size_t kColumnBlock = 2048;
// A product of a code and a smaller scale is a float32 that is not Inf.
constexpr float kMostExactScale = 0x1p100f;

bool IsTransposed(CodeOrder order) {
  return order == CodeOrder::kWordRows || order == CodeOrder::kShuffledColumns;
}

// Rows [first, first + rows) of one of stacked matrices.
struct RowsOf {
  std::uint64_t batch, all_rows, first, rows;
};

// Numbers of these rows as they are stored, row by row.
std::vector<std::byte> LoadStored(const formats::TensorReader& reader, const GroupNumbers& numbers,
                                  const RowsOf& of, std::uint64_t groups) {
  const auto size = static_cast<std::uint64_t>(FindType(numbers.type)->bits) / 8;
  std::vector<std::byte> result(static_cast<std::size_t>(of.rows * groups * size)), read;
  const auto load = [&](std::uint64_t index, std::uint64_t n) {
    read.resize(static_cast<std::size_t>(n * size));
    reader.Read(numbers.tensor, index * size, read);
  };
  const auto put = [&](std::uint64_t to, std::uint64_t from, std::uint64_t n) {
    std::copy_n(read.begin() + static_cast<std::ptrdiff_t>(from * size),
                static_cast<std::ptrdiff_t>(n * size),
                result.begin() + static_cast<std::ptrdiff_t>(to * size));
  };
  if (numbers.width == 0) {
    load(0, 1);
    for (std::uint64_t i = 0; i < of.rows * groups; ++i) put(i, 0, 1);
  } else if (numbers.is_transposed) {
    for (std::uint64_t g = 0; g < groups; ++g) {
      load((of.batch * groups + g) * numbers.width + of.first, of.rows);
      for (std::uint64_t r = 0; r < of.rows; ++r) put(r * groups + g, r, 1);
    }
  } else {
    load((of.batch * of.all_rows + of.first) * numbers.width, of.rows * numbers.width);
    for (std::uint64_t r = 0; r < of.rows; ++r) put(r * groups, r * numbers.width, groups);
  }
  return result;
}

// The same as float32.
std::vector<float> LoadNumbers(const formats::TensorReader& reader, const GroupNumbers& numbers,
                               const RowsOf& of, std::uint64_t groups) {
  std::vector<float> result(static_cast<std::size_t>(of.rows * groups));
  Require(Cast(numbers.type, LoadStored(reader, numbers, of, groups), DataType::kFloat32,
               std::as_writable_bytes(std::span(result)), result.size()));
  return result;
}

// What is loaded of a part.
struct LoadedRows {
  std::uint64_t first_element = 0;
  std::uint64_t columns = 0, group = 1, groups = 1;
  CodeLines lines;
  std::vector<float> scales, biases;  // [rows, groups]
  std::vector<std::int16_t> zeros;    // [rows, groups]; empty: `zero`
  int zero = 0;
  std::vector<std::uint32_t> order;  // the group of each column; empty: its place
  bool has_sixteen_bits = false;     // the scales
  bool has_negative_scales = false;  // as they should
};

class GroupedRows final : public PackedWeight::Part {
 public:
  explicit GroupedRows(LoadedRows rows) : rows_(std::move(rows)) {
    float most = 0;
    bool is_finite = true;
    for (const float scale : rows_.scales) {
      const float size = std::fabs(scale);
      is_finite = is_finite && std::isfinite(scale);
      has_odd_scales_ = has_odd_scales_ || size == 0 || (scale < 0 && !rows_.has_negative_scales);
      most = std::max(most, size);
    }
    has_odd_scales_ = has_odd_scales_ || !is_finite;
    is_float_ = rows_.biases.empty()
                    ? rows_.has_sixteen_bits && is_finite && most <= kMostExactScale
                    : AreFloatSums(rows_.scales.data(), rows_.biases.data(), rows_.scales.size(),
                                   static_cast<float>((1 << rows_.lines.bits) - 1));
    offsets_ = Offsets();
    const DataType type = rows_.lines.bits == 4   ? DataType::kUint4
                          : rows_.lines.bits == 2 ? DataType::kUint2
                                                  : DataType::kUint8;
    is_packed_type_ = FindType(type)->bits == rows_.lines.bits;
    Require(CastPlan::Bind(type, DataType::kFloat32, {}, &to_float_));
  }

  bool IsFloat() const override { return is_float_; }
  bool HasOddScales() const override { return has_odd_scales_; }

  void Read(std::uint64_t first, std::span<float> values) const override {
    if (!rows_.biases.empty() && !is_float_) return Part::Read(first, values);
    ForEachStretch(first, values.size(), [&](const Stretch& stretch) {
      float* const out = values.data() + stretch.at;
      Decode(stretch, out);
      ForEachRun(stretch, [&](std::size_t cell, std::size_t from, std::size_t n) {
        Scale(out + from, n, ZeroOf(cell), rows_.scales[cell]);
        if (rows_.biases.empty()) return;
        const float bias = rows_.biases[cell];
        for (std::size_t i = from; i < from + n; ++i) out[i] += bias;
      });
    });
  }

  void Read(std::uint64_t first, Rounding rounding, std::span<double> values) const override {
    std::array<float, kColumnBlock> codes;
    ForEachStretch(first, values.size(), [&](const Stretch& stretch) {
      double* const out = values.data() + stretch.at;
      Decode(stretch, codes.data());
      ForEachRun(stretch, [&](std::size_t cell, std::size_t from, std::size_t n) {
        const double zero = ZeroOf(cell), scale = rows_.scales[cell];
        for (std::size_t i = from; i < from + n; ++i) out[i] = (codes[i] - zero) * scale;
        if (!rows_.biases.empty()) AddBias(out + from, n, rows_.biases[cell], rounding);
        MakeNansPositive(out + from, n, scale);
      });
    });
  }

  bool Cast(const CastPlan& plan, std::uint64_t first, std::span<std::byte> out) const override {
    if (offsets_.empty()) return false;
    const CellLanes* const lanes = LanesOfIntegers(plan);
    if (lanes == nullptr) return false;
    const auto bytes = static_cast<std::size_t>(FindType(plan.to())->bits) / 8;
    const bool is_one = rows_.groups == 1;
    const bool has_tables = rows_.lines.bits == 4 && bytes == 2 && (is_one || rows_.group >= 32);
    alignas(64) std::array<std::uint8_t, kColumnBlock> unpacked;
    ForEachStretch(first, out.size() / bytes, [&](const Stretch& stretch) {
      const std::byte* const line = rows_.lines.Row(static_cast<std::size_t>(stretch.row));
      const std::byte* codes = line + stretch.column;
      CodeRange range = CodeRange::kUint8;
      if (has_tables && stretch.column % 2 == 0) {
        codes = line + stretch.column / 2;
        range = CodeRange::kNibbles;
      } else if (rows_.lines.bits != 8) {
        const std::span some = std::span(unpacked).first(stretch.n);
        UnpackCodes(line, rows_.lines.bits, stretch.column, some);
        codes = std::as_bytes(some).data();
        if (rows_.lines.bits <= 4) range = CodeRange::kUint4;
      }
      CellsInOrder cells;
      std::uint64_t cell = stretch.row * rows_.groups;
      if (!is_one) {
        cell += stretch.column / rows_.group;
        cells = {static_cast<unsigned>(std::countr_zero(rows_.group)),
                 static_cast<std::size_t>(stretch.column % rows_.group)};
      }
      lanes->scale_integers(codes, stretch.n, range, rows_.scales.data() + cell,
                            offsets_.data() + cell, cells, plan.to(),
                            out.data() + stretch.at * bytes);
    });
    return true;
  }

 private:
  // What lanes add in each cell where they scale integers; empty: they do not.
  std::vector<float> Offsets() const {
    const bool has_lanes =
        rows_.order.empty() &&
        (rows_.groups == 1 || (rows_.group >= kLeastCell && std::has_single_bit(rows_.group)));
    if (!is_float_ || !has_lanes) return {};
    if (!rows_.biases.empty()) {
      // ComfyUI's have a zero point as well, which is more than lanes take from a code.
      const bool has_zeros = !rows_.zeros.empty() || rows_.zero != 0;
      return has_zeros ? std::vector<float>() : rows_.biases;
    }
    // Of a scale that is not positive a zero may be negative, which a sum's is not.
    if (has_odd_scales_) return {};
    const core::FpEnvironment environment;
    std::vector<float> offsets(rows_.scales.size());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offsets[i] = -ZeroOf(i) * rows_.scales[i];
    }
    return offsets;
  }

  // Columns [column, column + n) of a row of the part, to `at` of what is read.
  struct Stretch {
    std::uint64_t row, column;
    std::size_t n, at;
  };

  template <class Visit>
  void ForEachStretch(std::uint64_t first, std::size_t count, const Visit& visit) const {
    std::uint64_t next = first - rows_.first_element;
    for (std::size_t done = 0; done < count;) {
      const std::uint64_t row = next / rows_.columns, column = next % rows_.columns;
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(
          {count - done, rows_.columns - column, std::uint64_t{kColumnBlock}}));
      visit(Stretch{row, column, n, done});
      done += n;
      next += n;
    }
  }

  // Calls visit(cell, from, n) for columns next to each other that share a scale.
  template <class Visit> void ForEachRun(const Stretch& stretch, const Visit& visit) const {
    const std::size_t first_cell = static_cast<std::size_t>(stretch.row * rows_.groups);
    for (std::size_t i = 0; i < stretch.n;) {
      const std::uint64_t column = stretch.column + i;
      if (!rows_.order.empty()) {
        const std::uint32_t group = rows_.order[column];
        std::size_t n = 1;
        while (i + n < stretch.n && rows_.order[column + n] == group) ++n;
        visit(first_cell + group, i, n);
        i += n;
        continue;
      }
      const auto n = static_cast<std::size_t>(
          std::min<std::uint64_t>(stretch.n - i, rows_.group - column % rows_.group));
      visit(first_cell + static_cast<std::size_t>(column / rows_.group), i, n);
      i += n;
    }
  }

  // The codes as numbers.
  void Decode(const Stretch& stretch, float* out) const {
    const auto values = std::as_writable_bytes(std::span(out, stretch.n));
    const std::byte* const line = rows_.lines.Row(static_cast<std::size_t>(stretch.row));
    if (is_packed_type_) {
      const std::span codes(line, rows_.lines.stride);
      return Require(to_float_.Run(codes, stretch.column, values, 0, stretch.n));
    }
    std::array<std::uint8_t, kColumnBlock> codes;
    UnpackCodes(line, rows_.lines.bits, stretch.column, std::span(codes).first(stretch.n));
    Require(to_float_.Run(std::as_bytes(std::span(codes)), 0, values, 0, stretch.n));
  }

  float ZeroOf(std::size_t cell) const {
    return static_cast<float>(rows_.zeros.empty() ? rows_.zero : rows_.zeros[cell]);
  }

  static void Scale(float* values, std::size_t n, float zero, float scale) {
    for (std::size_t i = 0; i < n; ++i) values[i] = (values[i] - zero) * scale;
    MakeNansPositive(values, n, scale);
  }

  // Whatever sign a processor gives to those of the arithmetic; only Inf and NaN make them.
  template <class Value> static void MakeNansPositive(Value* values, std::size_t n, double scale) {
    if (std::isfinite(scale) && !(n > 0 && std::isnan(values[0]))) return;
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isnan(values[i])) values[i] = std::numeric_limits<Value>::quiet_NaN();
    }
  }

  static void AddBias(double* values, std::size_t n, double bias, Rounding rounding) {
    for (std::size_t i = 0; i < n; ++i) {
      const double product = values[i], sum = product + bias;
      // What the sum leaves out, exactly (Knuth).
      const double of_bias = sum - product, of_product = sum - of_bias;
      const double error = (product - of_product) + (bias - of_bias);
      values[i] = rounding == Rounding::kOdd && std::isfinite(sum) && error != 0
                      ? core::ToOdd(sum, error)
                      : sum;
    }
  }

  const LoadedRows rows_;
  bool is_float_ = false, has_odd_scales_ = false, is_packed_type_ = false;
  std::vector<float> offsets_;
  CastPlan to_float_;  // of the codes
};

class GroupedIntegers final : public PackedWeight, public StoredCodes {
 public:
  explicit GroupedIntegers(IntegerGroups groups) : groups_(std::move(groups)) {
    const CodeMatrix& codes = groups_.codes;
    form_.name = GroupedFormat(codes.bits);
    form_.bits = codes.bits;
    form_.is_integer = true;
    const bool is_row = groups_.groups() == 1;
    form_.group = is_row ? 0 : groups_.group;
    form_.cells = is_row ? "one scale for a row" : "groups of " + std::to_string(groups_.group);
    if (groups_.order) form_.cells += " in an order of their own";
    if (groups_.zeros) form_.cells += ", zero points";
    if (groups_.biases) form_.cells += ", biases";
    const std::uint64_t line = std::max<std::uint64_t>(
        WordsOf(CodeOrder::kRows, 1, codes.columns, codes.bits).columns * 4, 1);
    const std::uint64_t most = IsTransposed(codes.order) ? kTransposedPartBytes : kPartBytes;
    part_rows_ = std::max<std::uint64_t>(most / line / kRowGrain, 1) * kRowGrain;
    part_rows_ = std::min(part_rows_, std::max<std::uint64_t>(codes.rows, 1));
    parts_ = (codes.rows + part_rows_ - 1) / part_rows_;
    is_too_long_ = line > kMostPartBytes / kRowGrain;
    stored_.batches = groups_.batches;
    stored_.rows = codes.rows;
    stored_.columns = codes.columns;
    stored_.group = groups_.group;
    stored_.bits = codes.bits;
    stored_.scale = groups_.scales.type;
    stored_.zero = groups_.zero;
    stored_.has_zeros = groups_.zeros.has_value();
    if (groups_.biases) stored_.bias = groups_.biases->type;
    stored_.has_order = groups_.order.has_value();
  }

  const Form& form() const override { return form_; }
  bool HasNegativeScales() const override { return groups_.biases.has_value(); }

  const StoredCodes* stored_codes() const override { return this; }
  const StoredForm& stored() const override { return stored_; }
  bool IsReadInBands() const override { return IsTransposed(groups_.codes.order); }
  CodeLines ReadCodes(const formats::TensorReader& reader, std::uint64_t batch, std::uint64_t first,
                      std::uint64_t count) const override {
    return LoadLines(reader, groups_.codes, batch, first, count);
  }
  std::vector<std::byte> ReadScales(const formats::TensorReader& reader, std::uint64_t batch,
                                    std::uint64_t first, std::uint64_t count) const override {
    return LoadStored(reader, groups_.scales, {batch, stored_.rows, first, count}, groups());
  }
  std::vector<std::byte> ReadBiases(const formats::TensorReader& reader, std::uint64_t batch,
                                    std::uint64_t first, std::uint64_t count) const override {
    if (!groups_.biases) return {};
    return LoadStored(reader, *groups_.biases, {batch, stored_.rows, first, count}, groups());
  }
  std::vector<std::int16_t> ReadZeros(const formats::TensorReader& reader, std::uint64_t batch,
                                      std::uint64_t first, std::uint64_t count) const override {
    std::call_once(checked_, [&] { CheckZeros(reader); });
    return groups_.zeros ? LoadZeros(reader, batch, first, count) : std::vector<std::int16_t>();
  }
  std::vector<std::uint32_t> ReadOrder(const formats::TensorReader& reader) const override {
    return groups_.order ? LoadOrder(reader) : std::vector<std::uint32_t>();
  }

  Place PlaceOf(std::uint64_t element) const override {
    const CodeMatrix& codes = groups_.codes;
    const std::uint64_t row = element / codes.columns;
    const std::uint64_t batch = row / codes.rows, block = row % codes.rows / part_rows_;
    const std::uint64_t first = batch * codes.rows + block * part_rows_;
    const std::uint64_t end = std::min(first + part_rows_, (batch + 1) * codes.rows);
    return {batch * parts_ + block, first * codes.columns, end * codes.columns};
  }

  std::unique_ptr<const Part> Load(const formats::TensorReader& reader,
                                   std::uint64_t part) const override {
    const CodeMatrix& codes = groups_.codes;
    if (is_too_long_) {
      Fail(reader, ErrorKind::kUnsupported,
           "has rows of " + std::to_string(codes.columns) + " codes, which is more than is read");
    }
    std::call_once(checked_, [&] { CheckZeros(reader); });
    const std::uint64_t batch = part / parts_, first = part % parts_ * part_rows_;
    const std::uint64_t rows = std::min(part_rows_, codes.rows - first);
    LoadedRows loaded;
    loaded.first_element = (batch * codes.rows + first) * codes.columns;
    loaded.columns = codes.columns;
    loaded.group = groups_.group;
    loaded.groups = groups_.groups();
    loaded.lines = LoadLines(reader, codes, batch, first, rows);
    const auto numbers = [&](const GroupNumbers& of) {
      return LoadNumbers(reader, of, {batch, codes.rows, first, rows}, loaded.groups);
    };
    loaded.scales = numbers(groups_.scales);
    if (groups_.biases) loaded.biases = numbers(*groups_.biases);
    loaded.zero = groups_.zero;
    if (groups_.zeros) loaded.zeros = LoadZeros(reader, batch, first, rows);
    if (groups_.order) loaded.order = LoadOrder(reader);
    loaded.has_sixteen_bits = FindType(groups_.scales.type)->bits == 16;
    loaded.has_negative_scales = HasNegativeScales();
    return std::make_unique<GroupedRows>(std::move(loaded));
  }

 private:
  std::uint64_t groups() const { return groups_.groups(); }

  [[noreturn]] void Fail(const formats::TensorReader& reader, ErrorKind kind,
                         const std::string& why) const {
    const std::string& name = reader.contents().tensors[groups_.codes.tensor].name;
    throw Error(kind, words::EscapeName(name) + " " + why, Remedy::kKeepPacked, name);
  }

  std::vector<std::int16_t> LoadZeros(const formats::TensorReader& reader, std::uint64_t batch,
                                      std::uint64_t first, std::uint64_t rows) const {
    const auto count = static_cast<std::size_t>(groups_.groups());
    const CodeLines lines = LoadLines(reader, *groups_.zeros, batch, first, rows);
    std::vector<std::int16_t> zeros(static_cast<std::size_t>(rows) * count);
    std::vector<std::uint8_t> codes(count);
    for (std::size_t r = 0; r < rows; ++r) {
      UnpackCodes(lines.Row(r), lines.bits, 0, codes);
      for (std::size_t g = 0; g < count; ++g) {
        zeros[r * count + g] = static_cast<std::int16_t>(codes[g] + groups_.zero);
      }
    }
    return zeros;
  }

  // All zero points of the weight, before the first of its parts is used.
  void CheckZeros(const formats::TensorReader& reader) const {
    if (!groups_.zeros || !groups_.refused_zero) return;
    std::uint64_t found = 0;
    const int refused = *groups_.refused_zero + groups_.zero;
    for (std::uint64_t batch = 0; batch < groups_.batches; ++batch) {
      for (std::uint64_t first = 0; first < groups_.codes.rows; first += part_rows_) {
        const std::uint64_t rows = std::min(part_rows_, groups_.codes.rows - first);
        const std::vector<std::int16_t> zeros = LoadZeros(reader, batch, first, rows);
        found += static_cast<std::uint64_t>(std::ranges::count(zeros, refused));
      }
    }
    if (found == 0) return;
    Fail(reader, ErrorKind::kContents,
         "has " + words::CountText(found, "stored zero point") + " of " +
             std::to_string(*groups_.refused_zero) + ", " + groups_.why_refused);
  }

  std::vector<std::uint32_t> LoadOrder(const formats::TensorReader& reader) const {
    const std::uint64_t groups = groups_.groups();
    std::vector<std::int32_t> stored(static_cast<std::size_t>(groups_.codes.columns));
    reader.Read(*groups_.order, 0, std::as_writable_bytes(std::span(stored)));
    const std::string& name = reader.contents().tensors[*groups_.order].name;
    if (groups_.may_be_unordered && std::ranges::count(stored, -1) != 0) {
      const bool is_all = std::ranges::count(stored, -1) == std::ssize(stored);
      if (is_all) return {};
    }
    std::vector<std::uint32_t> order(stored.size());
    std::vector<bool> is_met(static_cast<std::size_t>(groups));
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (stored[i] < 0 || static_cast<std::uint64_t>(stored[i]) >= groups) {
        throw Error(ErrorKind::kContents,
                    words::EscapeName(name) + " names group " + std::to_string(stored[i]) +
                        " at index " + std::to_string(i) + ", and there are " +
                        words::CountText(groups, "group"),
                    Remedy::kKeepPacked, name);
      }
      order[i] = static_cast<std::uint32_t>(stored[i]);
      is_met[order[i]] = true;
    }
    const auto left = std::ranges::find(is_met, false);
    if (left != is_met.end()) {
      throw Error(ErrorKind::kContents,
                  words::EscapeName(name) + " leaves out group " +
                      std::to_string(left - is_met.begin()) + " of " + std::to_string(groups),
                  Remedy::kKeepPacked, name);
    }
    return order;
  }

  const IntegerGroups groups_;
  Form form_;
  StoredForm stored_;
  std::uint64_t part_rows_ = 1, parts_ = 1;  // of a matrix
  bool is_too_long_ = false;
  mutable std::once_flag checked_;
};

}  // namespace

std::shared_ptr<const PackedWeight> MakeGroupedIntegers(IntegerGroups groups) {
  return std::make_shared<const GroupedIntegers>(std::move(groups));
}

std::string_view GroupedFormat(int bits) {
  constexpr std::array<std::string_view, 9> kNames = {"",           "int1-group", "int2-group",
                                                      "int3-group", "int4-group", "int5-group",
                                                      "int6-group", "int7-group", "int8-group"};
  return kNames.at(static_cast<std::size_t>(bits));
}

}  // namespace tensorcast::scale

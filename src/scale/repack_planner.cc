// What a weight becomes in a layout, and every condition of it. docs/repacking.md has these as a
// table.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/shape.h"
#include "files/error.h"
#include "scale/gguf_blocks.h"
#include "scale/grouped_integers.h"
#include "scale/repacking.h"

namespace tensorcast::scale {

using core::ErrorKind;
using files::Error;

namespace {

// Bytes of codes whose groups are looked at together.
constexpr std::uint64_t kScannedBytes = std::uint64_t{16} << 20;

constexpr std::string_view kWeight = ".weight";

// How integers in groups stand in a dialect's layout, and which it has.
struct GroupLayout {
  std::string_view dialect;
  std::string_view codes, plain, scale;
  CodeOrder order;
  NumberPlaces::Order scales;
  std::string_view zeros = {}, bias = {}, shape = {}, group_order = {};
  CodeOrder zeros_order = CodeOrder::kColumns;
  bool always_has_zeros = false, always_has_order = false;
  bool holds_stacked = false;
  bool is_half = false;  // scales are float16
  DataType word = DataType::kInt32;
  std::uint64_t row_grain = 1;  // codes of a word across rows
  std::span<const int> bits = {};
  std::span<const std::uint64_t> groups = {};  // empty: any
  bool holds_ragged = false;                   // a last group of fewer columns
};

constexpr std::array kAllBits = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr std::array kGptqBits = {2, 3, 4, 8};
constexpr std::array kAwqBits = {4};
constexpr std::array kMlxBits = {2, 3, 4, 5, 6, 8};
constexpr std::array<std::uint64_t, 3> kMlxGroups = {32, 64, 128};

constexpr GroupLayout kGroupLayouts[] = {
    {.dialect = "compressed-tensors",
     .codes = "_packed",
     .plain = "",
     .scale = "_scale",
     .order = CodeOrder::kRows,
     .scales = NumberPlaces::Order::kRows,
     .zeros = "_zero_point",
     .shape = "_shape",
     .group_order = "_g_idx",
     .zeros_order = CodeOrder::kWordColumns,
     .holds_stacked = true,
     .bits = kAllBits},
    {.dialect = "gptq",
     .codes = ".qweight",
     .plain = kWeight,
     .scale = ".scales",
     .order = CodeOrder::kWordRows,
     .scales = NumberPlaces::Order::kColumns,
     .zeros = ".qzeros",
     .group_order = ".g_idx",
     .zeros_order = CodeOrder::kColumns,
     .always_has_zeros = true,
     .always_has_order = true,
     .bits = kGptqBits,
     .holds_ragged = true},
    {.dialect = "awq",
     .codes = ".qweight",
     .plain = kWeight,
     .scale = ".scales",
     .order = CodeOrder::kShuffledColumns,
     .scales = NumberPlaces::Order::kColumns,
     .zeros = ".qzeros",
     .zeros_order = CodeOrder::kShuffledColumns,
     .always_has_zeros = true,
     .is_half = true,
     .bits = kAwqBits},
    {.dialect = "mlx",
     .codes = ".weight",
     .plain = kWeight,
     .scale = ".scales",
     .order = CodeOrder::kRows,
     .scales = NumberPlaces::Order::kRows,
     .bias = ".biases",
     .holds_stacked = true,
     .word = DataType::kUint32,
     .bits = kMlxBits,
     .groups = kMlxGroups},
};

// Formats of floats in groups, told by the types of their parts.
struct FloatFormat {
  std::string_view name;
  DataType element, scale;
  std::uint64_t group;
};
constexpr FloatFormat kFloatFormats[] = {
    {"mxfp4", DataType::kFloat4E2M1, DataType::kFloat8E8M0, 32},
    {"mxfp8", DataType::kFloat8E4M3FN, DataType::kFloat8E8M0, 32},
    {"mxfp6", DataType::kFloat6E2M3, DataType::kFloat8E8M0, 32},
    {"nvfp4", DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, 16},
};

bool IsNumberType(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kBfloat16 || type == DataType::kFloat16;
}

}  // namespace

class RepackPlanner {
 public:
  RepackPlanner(const formats::TensorReader& reader, const ScaledWeight& weight,
                const Dialect& target)
      : reader_(reader), weight_(weight), target_(target) {}

  std::shared_ptr<const Repacking> Plan() {
    TakeCodes();
    made_->sources_ = {weight_.codes};
    made_->source_text_ = weight_.LayoutText();
    for (const std::size_t one : weight_.companions) made_->sources_.push_back(one);
    const StoredForm& from = made_->codes_->stored();
    made_->values_.from = from;
    made_->values_.group = from.group;
    made_->values_.scale = from.scale;
    if (from.bias != DataType::kUndefined && from.zero != 0) Refuse("has zero points and biases");
    std::string_view name = FormatName();
    // A layout without groups may have whole rows.
    constexpr std::string_view kRows = "int8-row";
    if (from.IsInteger() && GroupLayoutOf() == nullptr && IsWritten(kRows) && from.bits == 8 &&
        from.groups() == 1 && from.batches == 1 && from.bias == DataType::kUndefined &&
        IsSymmetric()) {
      RequireInOrder();
      name = kRows;
    }
    const WrittenLayout* const layout = LayoutOf(name);
    const bool is_of_groups = layout == nullptr || layout->groups != GroupPlacing::kNone;
    if (from.IsInteger() && is_of_groups) {
      target_.layout == "gguf" ? PlanBlocks(BlocksOfIntegers()) : PlanIntegers();
    } else if (target_.layout == "gguf") {
      PlanBlocks(name);
    } else {
      PlanNamed(name);
    }
    CheckGlobals();
    CheckNumbers();
    return std::move(made_);
  }

 private:
  // `why` goes on from "it".
  [[noreturn]] void Refuse(const std::string& why) const {
    throw Error(ErrorKind::kUnsupported,
                words::EscapeName(weight_.name) + " cannot be repacked as " +
                    std::string(target_.layout) + ": it " + why,
                Remedy::kLeaveOut, weight_.name);
  }

  const StoredForm& from() const { return made_->codes_->stored(); }

  void TakeCodes() {
    const Reading& reading = weight_.reading;
    if (reading.packed != nullptr) {
      made_->held_ = reading.packed;
      if (const StoredCodes* const codes = reading.packed->stored_codes()) {
        made_->codes_ = std::shared_ptr<const StoredCodes>(reading.packed, codes);
      }
    } else {
      if (weight_.zero_point)
        Refuse("has zero points, which codes in bytes have in no other layout");
      made_->codes_ = MakeStoredCells(weight_);
    }
    if (made_->codes_ == nullptr) {
      Refuse("is " + weight_.LayoutText() + ", whose codes no other layout has");
    }
    const bool is_swapped = reading.IsTransposed();
    shape_ = is_swapped ? reading.shape : weight_.shape;
    if (shape_.size() < 2 || shape_.back() != from().columns || shape_.end()[-2] != from().rows) {
      Refuse("has rows of several dimensions");
    }
    made_->name_ = weight_.name;
    // What is a parameter of its module alone is called so elsewhere.
    if (is_swapped && !made_->name_.ends_with(kWeight)) made_->name_ += kWeight;
  }

  // What the source is called as a format that is written.
  std::string_view FormatName() const {
    const StoredForm& form = from();
    for (const FloatFormat& format : kFloatFormats) {
      if (format.element == form.element && format.scale == form.scale &&
          format.group == form.group) {
        return format.name;
      }
    }
    return weight_.reading.Name();
  }

  const WrittenLayout* LayoutOf(std::string_view format) const {
    const auto layout = std::ranges::find(target_.written, format, &WrittenLayout::format);
    return layout != target_.written.end() ? &*layout : nullptr;
  }
  bool IsWritten(std::string_view format) const { return LayoutOf(format) != nullptr; }

  const GroupLayout* GroupLayoutOf() const {
    const auto* const layout =
        std::ranges::find(kGroupLayouts, target_.layout, &GroupLayout::dialect);
    return layout != std::end(kGroupLayouts) ? layout : nullptr;
  }

  // The weight's name in the layout: less `plain` at its end.
  std::string_view StemOf(std::string_view plain) const {
    std::string_view stem = made_->name_;
    if (!stem.ends_with(plain)) {
      Refuse("has a name that does not end in " + std::string(plain) + ", as the layout's do");
    }
    stem.remove_suffix(plain.size());
    return stem;
  }

  void AddTensor(std::string name, std::vector<std::uint64_t> shape, DataType type) {
    WrittenTensor& made = made_->tensors_.emplace_back();
    made.name = std::move(name);
    made.shape = std::move(shape);
    made.type = type;
    made.bytes = *StorageBytes(type, *core::CheckedProduct(made.shape));
  }
  // [batches ..., a, b]
  std::vector<std::uint64_t> Matrix(std::uint64_t a, std::uint64_t b) const {
    std::vector<std::uint64_t> shape = shape_;
    shape.end()[-2] = a;
    shape.back() = b;
    return shape;
  }

  void BeginPlaces() {
    made_->places_.rows = from().rows;
    made_->places_.columns = from().columns;
    made_->places_.groups = std::max<std::uint64_t>(made_->values_.groups(), 1);
    made_->places_.bits = from().bits;
  }

  // ------------------------------------------------------------------------- formats by name

  void PlanNamed(std::string_view name) {
    const WrittenLayout* const layout = LayoutOf(name);
    const ScaledFormat* const format = FindScaledFormat(name);
    if (layout == nullptr || format == nullptr) {
      Refuse("is " + weight_.LayoutText() + ", which the layout does not have");
    }
    WrittenForm& form = made_->form_;
    form.format = format;
    form.dialect = &target_;
    form.layout = layout;
    form.rule = format->rules.front().rule;
    // A layout whose weights stand turned calls them otherwise, and the other way.
    std::string& plain = made_->name_;
    if (layout->is_transposed && plain.ends_with(kWeight)) {
      plain.resize(plain.size() - kWeight.size());
    }
    StemOf(layout->plain);
    const std::vector<std::uint64_t> shape = form.ShapeOf(shape_);
    if (const std::string why = WhyNot(form, plain, shape); !why.empty()) {
      Refuse("is " + weight_.LayoutText() + " that the layout does not take: " + why);
    }
    made_->tensors_ = TensorsOf(form, plain, shape, from().scale);
    BeginPlaces();
    made_->places_.codes = CodePlaces{
        .in = layout->is_high_first ? CodePlaces::In::kHighFirstBytes : CodePlaces::In::kBytes,
        .is_int8 = from().IsInteger()};
    if (IsNumberType(from().scale)) {
      // The type is the weight's own.
      WrittenTensor& scale = made_->tensors_[1];
      scale.type = from().scale;
      scale.bytes = *StorageBytes(scale.type, *core::CheckedProduct(scale.shape));
    }
    const std::uint64_t size = static_cast<std::uint64_t>(FindType(from().scale)->bits) / 8;
    if (format->cells == CellsBy::kGroups || (from().IsInteger() && from().groups() == 1)) {
      made_->places_.scales = NumberPlaces{
          1, static_cast<std::size_t>(size),
          layout->has_tiled_scales ? NumberPlaces::Order::kTiles : NumberPlaces::Order::kRows};
    } else {
      CopyScales(*format);
    }
    if (!layout->global.empty()) made_->global_ = 2;
  }

  // Scales that are of more than a row's groups.
  void CopyScales(const ScaledFormat& format) {
    const Partition& cells = weight_.reading.partition;
    if (weight_.reading.layout == nullptr ||
        weight_.reading.scaling.element != format.scaling.element || !IsNumberType(from().scale) ||
        (format.cells == CellsBy::kBlocks &&
         (cells.block_rows != format.block_rows || cells.block_columns != format.block_columns)) ||
        reader_.contents().tensors[weight_.scale].bytes != made_->tensors_[1].bytes) {
      Refuse("is " + weight_.LayoutText() + ", " + weight_.reading.PartitionText() +
             ", which the layout does not have");
    }
    made_->copied_ = Repacking::Copy{weight_.scale, 1};
  }

  // ------------------------------------------------------------------------- GGUF

  std::string_view BlocksOfIntegers() {
    const StoredForm& form = from();
    const bool is_sum = form.bias != DataType::kUndefined;
    if (form.bits == 8 && !is_sum) return "q8_0";
    if (form.bits != 4) {
      Refuse("has codes of " + std::to_string(form.bits) + " bits" + (is_sum ? " and biases" : "") +
             ", and GGUF's blocks of that kind are of 4");
    }
    return is_sum || !IsSymmetric() ? "q4_1" : "q4_0";
  }

  void PlanBlocks(std::string_view name) {
    const WrittenLayout* const layout = LayoutOf(name);
    if (layout == nullptr)
      Refuse("is " + weight_.LayoutText() + ", which the layout does not have");
    const GgufBlocks& blocks = *FindGgufBlocks(layout->block);
    WrittenForm& form = made_->form_;
    form.format = FindScaledFormat(name);
    form.dialect = &target_;
    form.layout = layout;
    form.rule = RuleOfBlocks(*form.format);
    if (shape_.back() % blocks.values != 0) {
      Refuse("has rows of " + std::to_string(shape_.back()) + " codes, and " +
             layout->block.data() + " has blocks of " + std::to_string(blocks.values));
    }
    made_->tensors_ = TensorsOf(form, made_->name_, shape_, from().scale);
    BlockPlaces places;
    places.values = blocks.values;
    if (from().IsInteger()) {
      RequireInOrder();
      TakeGroup(32);
      made_->values_.scale = DataType::kFloat16;
      if (name == "q4_1") {
        made_->values_.bias = DataType::kFloat16;
        places.bias_bytes = 2;
      } else if (!IsSymmetric()) {
        Refuse("has zero points");
      }
    } else if (name == "nvfp4") {
      places.run = 16;
      places.scale_bytes = 4;
      if (from().globals != 0) {
        const std::uint64_t globals = from().globals;
        AddTensor(std::string(StemOf(kWeight)) + ".scale", {globals}, DataType::kFloat32);
        made_->global_ = 1;
      }
    } else {
      places.scale_bytes = 1;
    }
    BeginPlaces();
    made_->places_.blocks = places;
  }

  // ------------------------------------------------------------------------- integers

  void PlanIntegers() {
    const GroupLayout* const layout = GroupLayoutOf();
    const StoredForm& form = from();
    if (layout == nullptr) {
      Refuse("is " + weight_.LayoutText() + ", which the layout does not have");
    }
    if (std::ranges::count(layout->bits, form.bits) == 0) {
      Refuse("has codes of " + std::to_string(form.bits) + " bits, which the layout does not have");
    }
    if (form.batches != 1 && !layout->holds_stacked) Refuse("is stacked");
    RowChange& values = made_->values_;
    const bool is_sum = !layout->bias.empty();
    const bool is_ordered = IsOrdered();
    if (layout->group_order.empty()) RequireInOrder();
    if (!layout->groups.empty()) TakeGroupOf(layout->groups);
    if (!layout->holds_ragged && form.columns % values.group != 0) {
      Refuse("has a last group of fewer columns");
    }
    TakeScaleType(*layout);
    const bool is_symmetric = !is_sum && IsSymmetric();
    values.has_zeros = !is_sum && (layout->always_has_zeros || !is_symmetric);
    if (is_sum) values.bias = values.scale;

    const std::uint64_t groups = values.groups();
    const std::string stem(StemOf(layout->plain));
    BeginPlaces();
    WrittenPlaces& places = made_->places_;
    const WordShape words = WordsOf(layout->order, form.rows, form.columns, form.bits);
    RequireWholeWords(*layout);
    const CodeMatrix codes = {0,         layout->order, form.rows,    form.columns,
                              form.bits, words.rows,    words.columns};
    places.codes = CodePlaces{.in = CodePlaces::In::kWords, .matrix = codes};
    AddTensor(stem + std::string(layout->codes), Matrix(words.rows, words.columns), layout->word);
    const auto size = static_cast<std::size_t>(FindType(values.scale)->bits) / 8;
    const bool is_turned = layout->scales == NumberPlaces::Order::kColumns;
    const std::vector<std::uint64_t> grid =
        is_turned ? Matrix(groups, form.rows) : Matrix(form.rows, groups);
    places.scales = NumberPlaces{made_->tensors_.size(), size, layout->scales};
    AddTensor(stem + std::string(layout->scale), grid, values.scale);
    if (is_sum) {
      places.biases = NumberPlaces{made_->tensors_.size(), size, layout->scales};
      AddTensor(stem + std::string(layout->bias), grid, values.bias);
    }
    if (values.has_zeros) {
      const WordShape zeros = WordsOf(layout->zeros_order, form.rows, groups, form.bits);
      places.zeros = CodeMatrix{
          made_->tensors_.size(), layout->zeros_order, form.rows, groups, form.bits, zeros.rows,
          zeros.columns};
      AddTensor(stem + std::string(layout->zeros), Matrix(zeros.rows, zeros.columns),
                DataType::kInt32);
    }
    if (!layout->shape.empty()) {
      made_->shape_ = made_->tensors_.size();
      made_->written_shape_ = shape_;
      AddTensor(stem + std::string(layout->shape), {shape_.size()}, DataType::kInt64);
    }
    if (layout->always_has_order || is_ordered) {
      made_->order_ = made_->tensors_.size();
      AddTensor(stem + std::string(layout->group_order), {form.columns}, DataType::kInt32);
    }
    WrittenForm& made = made_->form_;
    made.dialect = &target_;
    const std::uint64_t group = groups == 1 && layout->groups.empty() ? 0 : values.group;
    const std::string_view name = GroupedFormat(form.bits);
    const ScaledFormat* const usual = FindScaledFormat(name);
    made.format =
        usual != nullptr && !is_ordered ? FindGroups(*usual, group, !is_symmetric) : nullptr;
    if (made.format != nullptr) {
      made.layout = LayoutOf(name);
    } else {
      made.integers = {form.bits, group, is_symmetric, is_ordered};
    }
  }

  void TakeScaleType(const GroupLayout& layout) {
    DataType& type = made_->values_.scale;
    if (layout.is_half || (layout.dialect == "gptq" && type == DataType::kFloat32)) {
      type = DataType::kFloat16;
    }
  }

  // Words of several rows, or of several columns, have to be whole.
  void RequireWholeWords(const GroupLayout& layout) const {
    const StoredForm& form = from();
    const auto bits = static_cast<std::uint64_t>(form.bits);
    const bool is_gptq = layout.order == CodeOrder::kWordRows;
    if (is_gptq && form.columns * bits % kWordBits != 0) {
      Refuse("has rows of " + std::to_string(form.columns) +
             " codes, which do not fill whole words");
    }
    if ((is_gptq || layout.order == CodeOrder::kShuffledColumns) &&
        form.rows * bits % kWordBits != 0) {
      Refuse("has " + std::to_string(form.rows) +
             " rows, whose zero points do not fill whole words");
    }
  }

  // Groups of this size, of which the source's are multiples.
  void TakeGroup(std::uint64_t group) {
    if (!FitsGroup(group)) {
      Refuse("has groups of " + std::to_string(from().group) +
             " columns, which are not whole groups of " + std::to_string(group));
    }
    made_->values_.group = group;
  }
  bool FitsGroup(std::uint64_t group) const {
    const StoredForm& form = from();
    return form.columns % group == 0 &&
           (form.group % group == 0 || (form.groups() == 1 && form.columns % group == 0));
  }
  // The largest of some that fits; its own where that is one.
  void TakeGroupOf(std::span<const std::uint64_t> groups) {
    std::uint64_t taken = 0;
    for (const std::uint64_t one : groups) {
      if (FitsGroup(one)) taken = one;
    }
    TakeGroup(taken == 0 ? groups.front() : taken);
  }

  void RequireInOrder() const {
    if (IsOrdered()) {
      Refuse("has groups in an order of their own, which the layout does not have");
    }
  }
  // Whether its columns are of other groups than their places say.
  bool IsOrdered() const {
    if (!from().has_order) return false;
    const std::vector<std::uint32_t> order = made_->codes_->ReadOrder(reader_);
    return !order.empty() && order != OrderOf(from().columns, from().group);
  }

  // Whether every zero point is the middle.
  bool IsSymmetric() {
    if (is_symmetric_) return *is_symmetric_;
    const int middle = 1 << (from().bits - 1);
    bool is_symmetric = true;
    if (from().bias == DataType::kUndefined && !from().has_zeros) {
      is_symmetric = from().zero == middle;
    } else {
      ForBands([&](const RowRange& rows) {
        is_symmetric =
            is_symmetric && AreZeros(reader_, *made_->codes_, made_->values_, rows, middle);
        return is_symmetric;
      });
    }
    is_symmetric_ = is_symmetric;
    return is_symmetric;
  }

  // ------------------------------------------------------------------------- conditions

  // Calls check(rows) for all of them, some at a time, while it returns true.
  template <class Check> void ForBands(const Check& check) const {
    const StoredForm& form = from();
    const std::uint64_t row = form.columns * static_cast<std::uint64_t>(form.bits) / 8 + 1;
    const std::uint64_t grain = ScaleTilesRows();
    const std::uint64_t band = std::max<std::uint64_t>(kScannedBytes / row / grain, 1) * grain;
    for (std::uint64_t batch = 0; batch < form.batches; ++batch) {
      for (std::uint64_t first = 0; first < form.rows; first += band) {
        if (!check(RowRange{batch, first, std::min(band, form.rows - first)})) return;
      }
    }
  }
  static std::uint64_t ScaleTilesRows() { return 128; }

  // Refuses numbers of groups that the target does not have.
  void CheckNumbers() {
    const RowChange& change = made_->values_;
    const bool is_changed =
        change.scale != change.from.scale || change.bias != change.from.bias || change.has_zeros;
    const bool is_of_bytes = !from().IsInteger() && from().group != 0;
    if (is_of_bytes) CheckBytes();
    if (!is_changed) return;
    ForBands([&](const RowRange& rows) {
      const std::string why = WhyNoValues(reader_, *made_->codes_, change, rows);
      if (!why.empty()) Refuse(why);
      return true;
    });
  }

  // Scales of a byte that GGUF's readers take for others.
  void CheckBytes() {
    const bool is_to = target_.layout == "gguf";
    const bool is_from = weight_.reading.dialect->layout == "gguf";
    const bool is_nvfp4 = from().scale == DataType::kFloat8E4M3FN;
    if (!(is_to || (is_from && is_nvfp4)) || !(is_nvfp4 || from().scale == DataType::kFloat8E8M0)) {
      return;
    }
    const std::byte least = is_nvfp4 ? std::byte{0x7F} : std::byte{0xFF};
    ForBands([&](const RowRange& rows) {
      const std::vector<std::byte> scales =
          made_->codes_->ReadScales(reader_, rows.batch, rows.first, rows.count);
      const auto found =
          std::ranges::find_if(scales, [&](std::byte scale) { return scale >= least; });
      if (found != scales.end()) {
        const int byte = std::to_integer<int>(*found);
        Refuse("has a scale of the byte " + std::to_string(byte) + ", which is " +
               (is_nvfp4 ? "no scale from 0 to 448" : "NaN") + " and something else in GGUF");
      }
      return true;
    });
  }

  void CheckGlobals() {
    const StoredForm& form = from();
    const std::vector<float> globals = made_->codes_->ReadGlobals(reader_);
    if (!made_->global_) {
      if (std::ranges::any_of(globals, [](float one) { return one != 1; })) {
        Refuse("has a global scale that is not 1, and the layout has none");
      }
      return;
    }
    if (globals.size() > 1 &&
        made_->tensors_[*made_->global_].bytes != globals.size() * sizeof(float)) {
      Refuse("has a global scale for each matrix");
    }
    const Factor use =
        target_.layout == "gguf" ? Factor::kMultiplies : made_->form_.layout->global_use;
    made_->is_reciprocal_ = !globals.empty() && form.global_use != use;
    if (!made_->is_reciprocal_) return;
    for (const float one : globals) {
      const float other = GlobalsOf({one}, true).front();
      const double product = static_cast<double>(one) * other;
      // The value changes by the quotient of what multiplies it now and what did.
      const double change =
          std::fabs(use == Factor::kMultiplies ? product - 1 : (1 - product) / product);
      if (!std::isnormal(one) || !std::isnormal(other) || !(change <= 0x1p-24)) {
        Refuse("has a global scale whose reciprocal is not a normal float32");
      }
      made_->change_ = std::max(made_->change_, change);
    }
  }

  const formats::TensorReader& reader_;
  const ScaledWeight& weight_;
  const Dialect& target_;
  std::shared_ptr<Repacking> made_ = std::make_shared<Repacking>();
  std::vector<std::uint64_t> shape_;  // [..., rows, columns]
  std::optional<bool> is_symmetric_;
};

std::shared_ptr<const Repacking> Repacking::Plan(const formats::TensorReader& reader,
                                                 const ScaledWeight& weight,
                                                 const Dialect& target) {
  return RepackPlanner(reader, weight, target).Plan();
}

}  // namespace tensorcast::scale

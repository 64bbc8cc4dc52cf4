// One list of parts for all layouts, in the order in which they are written.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/written_groups.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/shape.h"
#include "scale/scale_search.h"

namespace tensorcast::scale {
namespace {

using Shape = std::vector<std::uint64_t>;

constexpr std::uint64_t kGptqMultiple = 32;  // of outputs and inputs, for its readers' kernels

// What the shape of a weight comes to.
struct Matrices {
  Shape batches;  // the dimensions before the last two
  std::uint64_t rows, columns, groups;
};

Matrices MatricesOf(const WrittenForm& form, std::span<const std::uint64_t> shape) {
  Matrices made{{shape.begin(), shape.end() - 2}, shape.end()[-2], shape.back(), 1};
  if (const std::uint64_t group = form.format->block_columns; group != 0) {
    made.groups = made.columns / group + (made.columns % group != 0);
  }
  return made;
}

DataType ScaleTypeOf(const WrittenForm& form, DataType source) {
  switch (form.layout->groups) {
    case GroupPlacing::kAwq: return DataType::kFloat16;
    case GroupPlacing::kGptq: return source == DataType::kBfloat16 ? source : DataType::kFloat16;
    case GroupPlacing::kPackQuantized:
    case GroupPlacing::kMlx:
    case GroupPlacing::kNone: break;
  }
  return source == DataType::kBfloat16 || source == DataType::kFloat16 ? source
                                                                       : DataType::kFloat32;
}

bool HasZeros(const WrittenForm& form) {
  const GroupPlacing placing = form.layout->groups;
  return placing == GroupPlacing::kGptq || placing == GroupPlacing::kAwq ||
         (placing == GroupPlacing::kPackQuantized && form.format->is_asymmetric);
}

CodeOrder OrderOfCodes(const WrittenForm& form) {
  switch (form.layout->groups) {
    case GroupPlacing::kGptq: return CodeOrder::kWordRows;
    case GroupPlacing::kAwq: return CodeOrder::kShuffledColumns;
    case GroupPlacing::kPackQuantized:
    case GroupPlacing::kMlx:
    case GroupPlacing::kNone: break;
  }
  return CodeOrder::kRows;
}

CodeOrder OrderOfZeros(const WrittenForm& form) {
  switch (form.layout->groups) {
    case GroupPlacing::kGptq: return CodeOrder::kColumns;
    case GroupPlacing::kAwq: return CodeOrder::kShuffledColumns;
    case GroupPlacing::kPackQuantized:
    case GroupPlacing::kMlx:
    case GroupPlacing::kNone: break;
  }
  return CodeOrder::kWordColumns;
}

enum class Part : std::uint8_t { kCodes, kScales, kZeros, kBiases, kShape, kOrder };

// The parts that a form has, and their endings.
std::vector<std::pair<Part, std::string_view>> PartsOf(const WrittenForm& form) {
  const WrittenLayout& layout = *form.layout;
  std::vector<std::pair<Part, std::string_view>> parts = {{Part::kCodes, layout.codes},
                                                          {Part::kScales, layout.scale}};
  if (HasZeros(form)) parts.emplace_back(Part::kZeros, layout.zeros);
  if (!layout.biases.empty()) parts.emplace_back(Part::kBiases, layout.biases);
  if (!layout.shape.empty()) parts.emplace_back(Part::kShape, layout.shape);
  if (!layout.order.empty()) parts.emplace_back(Part::kOrder, layout.order);
  return parts;
}

std::optional<std::size_t> PlaceOf(const WrittenForm& form, Part part, std::size_t first) {
  const auto parts = PartsOf(form);
  const auto found = std::ranges::find(parts, part, &std::pair<Part, std::string_view>::first);
  if (found == parts.end()) return std::nullopt;
  return first + static_cast<std::size_t>(found - parts.begin());
}

CodeMatrix MatrixOf(std::size_t tensor, CodeOrder order, std::uint64_t rows, std::uint64_t columns,
                    int bits) {
  const WordShape words = WordsOf(order, rows, columns, bits);
  return {tensor, order, rows, columns, bits, words.rows, words.columns};
}

}  // namespace

GroupRule RuleOfGroups(const WrittenForm& form, DataType source) {
  GroupRule rule;
  rule.bits = form.format->group_bits;
  rule.is_asymmetric = form.format->is_asymmetric;
  rule.rule = form.rule;
  if (form.layout == nullptr) {
    rule.scale = source == DataType::kBfloat16 ? source : DataType::kFloat16;
    return rule;
  }
  rule.has_biases = !form.layout->biases.empty();
  rule.scale = ScaleTypeOf(form, source);
  return rule;
}

std::string WhyNotPlaced(const WrittenForm& form, std::span<const std::uint64_t> shape) {
  const GroupPlacing placing = form.layout->groups;
  if (!IsTurned(form.layout->groups)) return {};
  const std::string whose(form.dialect->name);
  if (shape.size() != 2) return "it is not a matrix, as all of " + whose + "'s are";
  const std::uint64_t multiple = placing == GroupPlacing::kAwq ? 8 : kGptqMultiple;
  const auto why = [&](std::uint64_t n, const char* what) {
    return "its " + std::to_string(n) + " " + what + " are not a multiple of " +
           std::to_string(multiple) + ", as " + whose + "'s are";
  };
  if (shape[0] % multiple != 0) return why(shape[0], "rows");
  if (placing == GroupPlacing::kGptq && shape[1] % multiple != 0) return why(shape[1], "columns");
  return {};
}

std::vector<WrittenTensor> GroupTensorsOf(const WrittenForm& form, std::string_view name,
                                          std::span<const std::uint64_t> shape, DataType source) {
  const WrittenLayout& layout = *form.layout;
  if (name.ends_with(layout.plain)) name.remove_suffix(layout.plain.size());
  const Matrices of = MatricesOf(form, shape);
  const int bits = form.format->group_bits;
  const DataType word = layout.groups == GroupPlacing::kMlx ? DataType::kUint32 : DataType::kInt32;
  std::vector<WrittenTensor> made;
  for (const auto& [part, ending] : PartsOf(form)) {
    WrittenTensor& one =
        made.emplace_back(WrittenTensor{std::string(name).append(ending), of.batches, word});
    const auto add = [&](std::uint64_t rows, std::uint64_t columns) {
      one.shape.push_back(rows);
      one.shape.push_back(columns);
    };
    switch (part) {
      case Part::kCodes: {
        const WordShape words = WordsOf(OrderOfCodes(form), of.rows, of.columns, bits);
        add(words.rows, words.columns);
        break;
      }
      case Part::kZeros: {
        const WordShape words = WordsOf(OrderOfZeros(form), of.rows, of.groups, bits);
        add(words.rows, words.columns);
        break;
      }
      case Part::kScales:
      case Part::kBiases:
        one.type = ScaleTypeOf(form, source);
        if (IsTurned(form.layout->groups)) {
          add(of.groups, of.rows);
        } else {
          add(of.rows, of.groups);
        }
        break;
      case Part::kShape:
        one.type = DataType::kInt64;
        one.shape = {shape.size()};
        break;
      case Part::kOrder:
        one.type = DataType::kInt32;
        one.shape = {of.columns};
        break;
    }
    one.bytes = *StorageBytes(one.type, *core::CheckedProduct(one.shape));
  }
  return made;
}

WrittenPlaces GroupPlacesOf(const WrittenForm& form, std::span<const std::uint64_t> shape,
                            DataType source, std::size_t first) {
  const Matrices of = MatricesOf(form, shape);
  const int bits = form.format->group_bits;
  const auto bytes = static_cast<std::size_t>(FindType(ScaleTypeOf(form, source))->bits) / 8;
  const auto order =
      IsTurned(form.layout->groups) ? NumberPlaces::Order::kColumns : NumberPlaces::Order::kRows;
  WrittenPlaces places;
  places.rows = of.rows;
  places.columns = of.columns;
  places.groups = of.groups;
  places.bits = bits;
  places.codes = CodePlaces{CodePlaces::In::kWords,
                            MatrixOf(first, OrderOfCodes(form), of.rows, of.columns, bits)};
  places.scales = NumberPlaces{*PlaceOf(form, Part::kScales, first), bytes, order};
  if (const auto biases = PlaceOf(form, Part::kBiases, first)) {
    places.biases = NumberPlaces{*biases, bytes, order};
  }
  if (const auto zeros = PlaceOf(form, Part::kZeros, first)) {
    places.zeros = MatrixOf(*zeros, OrderOfZeros(form), of.rows, of.groups, bits);
  }
  return places;
}

std::vector<ConstantTensor> GroupConstantsOf(const WrittenForm& form,
                                             std::span<const std::uint64_t> shape,
                                             std::size_t first) {
  std::vector<ConstantTensor> constants;
  const auto add = [&](std::size_t tensor, const auto& numbers) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
    constants.push_back({tensor, {bytes.begin(), bytes.end()}});
  };
  if (const auto tensor = PlaceOf(form, Part::kShape, first)) {
    add(*tensor, std::vector<std::int64_t>(shape.begin(), shape.end()));
  }
  if (const auto tensor = PlaceOf(form, Part::kOrder, first)) {
    const std::uint64_t group =
        form.format->block_columns != 0 ? form.format->block_columns : shape.back();
    std::vector<std::int32_t> order(static_cast<std::size_t>(shape.back()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i / group);
    add(*tensor, order);
  }
  return constants;
}

}  // namespace tensorcast::scale

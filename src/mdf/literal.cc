// Literals to tensors and back.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/literal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/failure.h"
#include "core/little_endian.h"
#include "core/shape.h"
#include "mdf/number_text.h"
#include "words/error_text.h"

namespace tensorcast::mdf {
namespace {

// What the scalars of a literal are.
struct Kinds {
  bool has_bool = false;
  bool has_whole = false;
  bool has_negative = false;
  bool has_large = false;  // beyond int64
  bool has_number = false;
  bool has_text = false;
};

class Scan {
 public:
  explicit Scan(const std::string& what) : what_(what) {}

  // `depth`: in lists.
  void Visit(const Value& value, std::size_t depth) {
    const auto* const list = value.As<List>();
    if (list == nullptr) return Leaf(value, depth);
    if (scalar_depth_ <= depth) FailLengths();
    if (depth == core::kMostDimensions) {
      Refuse(what_ + " has more than " + std::to_string(core::kMostDimensions) + " dimensions");
    }
    if (rank_ == depth) {
      sizes_[rank_++] = list->size();
    } else if (sizes_[depth] != list->size()) {
      FailLengths();
    }
    for (const Value& each : *list) Visit(each, depth + 1);
  }

  std::vector<std::uint64_t> shape() const {
    return {sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(rank_)};
  }
  const Kinds& kinds() const { return kinds_; }
  const std::vector<const Value*>& scalars() const { return scalars_; }

 private:
  [[noreturn]] void FailLengths() const {
    Wrong(what_ + " has lists that differ in their lengths, which are not a tensor");
  }

  void Leaf(const Value& value, std::size_t depth) {
    if (rank_ > depth) FailLengths();
    scalar_depth_ = depth;
    scalars_.push_back(&value);
    if (const auto* const whole = value.As<Integer>()) {
      kinds_.has_whole = true;
      kinds_.has_negative = kinds_.has_negative || whole->negative;
      kinds_.has_large = kinds_.has_large || (!whole->negative && whole->magnitude > INT64_MAX);
    } else if (value.As<bool>() != nullptr) {
      kinds_.has_bool = true;
    } else if (value.As<double>() != nullptr) {
      kinds_.has_number = true;
    } else if (value.As<std::string>() != nullptr) {
      kinds_.has_text = true;
    } else {
      Refuse(what_ + " holds " + std::string(value.Kind()) +
             ", which is not a number, a truth value or a text");
    }
  }

  const std::string& what_;
  std::array<std::uint64_t, core::kMostDimensions> sizes_{};
  std::size_t rank_ = 0;
  std::size_t scalar_depth_ = SIZE_MAX;
  Kinds kinds_;
  std::vector<const Value*> scalars_;
};

DataType TypeOf(const Kinds& kinds, const std::string& what) {
  const bool has_others = kinds.has_bool || kinds.has_whole || kinds.has_number;
  if (kinds.has_text) {
    if (has_others) Refuse(what + " has texts among numbers");
    return DataType::kString;
  }
  if (kinds.has_number || !has_others) return DataType::kFloat64;
  if (!kinds.has_whole) return DataType::kBool;
  if (!kinds.has_large) return DataType::kInt64;
  if (kinds.has_negative) {
    Refuse(what + " has negative numbers beside some beyond int64, which no type holds together");
  }
  return DataType::kUint64;
}

// The double of a whole number, where it is one.
double Exact(const Integer& value, const std::string& what) {
  const auto number = static_cast<double>(value.magnitude);
  // 2^64 is the one double here that no uint64 is.
  if (number >= 0x1p64 || static_cast<std::uint64_t>(number) != value.magnitude) {
    Refuse(what + " has the whole number " + IntegerText(value) +
           " among others, and is float64, which does not hold it");
  }
  return value.negative ? -number : number;
}

std::uint64_t CodeOf(const Value& scalar, DataType type, const std::string& what) {
  const auto* const whole = scalar.As<Integer>();
  const auto* const flag = scalar.As<bool>();
  if (type == DataType::kFloat64) {
    double number = 0;
    if (const auto* const held = scalar.As<double>()) number = *held;
    if (whole != nullptr) number = Exact(*whole, what);
    if (flag != nullptr) number = *flag ? 1 : 0;
    return std::bit_cast<std::uint64_t>(number);
  }
  if (flag != nullptr) return *flag ? 1 : 0;
  return whole->bits();
}

// Lists of scalars, `at` being the next of them.
template <class ScalarAt>
Value ListsOf(std::span<const std::uint64_t> shape, std::uint64_t& at, const ScalarAt& scalar) {
  if (shape.empty()) return scalar(at++);
  List list;
  list.reserve(static_cast<std::size_t>(shape.front()));
  for (std::uint64_t i = 0; i < shape.front(); ++i) {
    list.push_back(ListsOf(shape.subspan(1), at, scalar));
  }
  return list;
}

std::uint64_t WordAt(std::span<const std::byte> words, std::uint64_t i) {
  return core::LoadLittle(&words[static_cast<std::size_t>(i) * 8], 8);
}

// Texts have one NaN, without a sign.
void MakeNansOne(std::span<std::byte> doubles) {
  constexpr auto kNan = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < doubles.size() / 8; ++i) {
    if (!std::isnan(std::bit_cast<double>(WordAt(doubles, i)))) continue;
    core::StoreLittle(&doubles[i * 8], kNan, 8);
  }
}

CastOptions WithoutSaturation() {
  CastOptions options;
  options.saturate = false;
  return options;
}

std::vector<std::byte> CastAll(DataType from, std::span<const std::byte> source, DataType to,
                               std::uint64_t n, const std::string& what) {
  std::vector<std::byte> made(static_cast<std::size_t>(*StorageBytes(to, n)));
  const Status status = Cast(from, source, to, made, n, WithoutSaturation());
  if (!status.ok()) throw core::Failure(status, what + ": " + std::string(status.message()));
  return made;
}

// The type whose numbers are written.
DataType WrittenType(DataType type) {
  const TypeInfo& row = *FindType(type);
  if (row.is_float()) return DataType::kFloat64;
  if (type == DataType::kBool) return DataType::kBool;
  return type == DataType::kUint64 ? DataType::kUint64 : DataType::kInt64;
}

}  // namespace

std::optional<Value> NumberOfText(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t end = text.find_last_not_of(" \t\r\n") + 1;
  const std::string_view word =
      begin < end ? std::string_view(text).substr(begin, end - begin) : std::string_view();
  const bool has_sign = word.starts_with('-') || word.starts_with('+');
  const bool negative = word.starts_with('-');
  const std::string_view bare = word.substr(has_sign ? 1 : 0);
  if (const auto whole = ParseDigits(bare, 10, negative)) return Value(*whole);
  if (const auto number = ParseDecimal(word)) return Value(*number);
  std::string lower(bare);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (lower == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
  if (lower == "inf" || lower == "infinity") {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return Value(negative ? -kInfinity : kInfinity);
  }
  return std::nullopt;
}

graph::Constant TensorOf(const Value& literal, const std::string& what) {
  Scan scan(what);
  scan.Visit(literal, 0);
  graph::Constant tensor;
  tensor.type = TypeOf(scan.kinds(), what);
  tensor.shape = scan.shape();
  tensor.elements = scan.scalars().size();
  if (tensor.type == DataType::kString) {
    for (const Value* const text : scan.scalars()) tensor.Append(*text->As<std::string>());
    return tensor;
  }
  const std::size_t size = tensor.type == DataType::kBool ? 1 : 8;
  const std::span<std::byte> bytes = tensor.Allocate(tensor.elements * size);
  for (std::size_t i = 0; i < scan.scalars().size(); ++i) {
    const std::uint64_t code = CodeOf(*scan.scalars()[i], tensor.type, what);
    core::StoreLittle(&bytes[i * size], code, size);
  }
  return tensor;
}

Literal LiteralOf(const graph::Constant& tensor, const std::string& what) {
  if (tensor.shape.empty()) {
    Refuse(what +
           " has no dimensions; MDF makes a number a vector of one where a function reads it");
  }
  if (tensor.elements > kMostValues / 2) {
    Refuse(what + " has " + std::to_string(tensor.elements) + " elements; MDF files of more than " +
           std::to_string(kMostValues / 2) + " are not written");
  }
  if (tensor.elements == 0 && tensor.shape.front() == 0 && tensor.shape.size() > 1) {
    Refuse(what + " has the shape " + words::ShapeText(tensor.shape) +
           ", which lists cannot express, as the first of them is empty");
  }
  std::uint64_t at = 0;
  if (tensor.type == DataType::kString) {
    const Strings texts = tensor.strings();
    if (tensor.elements == 0)
      Refuse(what + " is an empty tensor of strings, which lists cannot express");
    return {
        ListsOf(tensor.shape, at, [&](std::uint64_t i) { return Value(std::string(texts[i])); }),
        DataType::kString};
  }
  if (tensor.elements == 0) {
    const auto nothing = [](std::uint64_t) { return Value(); };
    return {ListsOf(tensor.shape, at, nothing), DataType::kFloat64};
  }
  const DataType type = WrittenType(tensor.type);
  std::vector<std::byte> words = CastAll(tensor.type, tensor.data, type, tensor.elements, what);
  if (type == DataType::kFloat64) MakeNansOne(words);
  const std::vector<std::byte> back = CastAll(type, words, tensor.type, tensor.elements, what);
  if (!std::equal(back.begin(), back.end(), tensor.data.begin(), tensor.data.end())) {
    Refuse(what + " holds a NaN with a sign or a payload, which MDF's numbers do not");
  }
  const auto scalar = [&](std::uint64_t i) -> Value {
    if (type == DataType::kBool) return words[static_cast<std::size_t>(i)] != std::byte{0};
    const std::uint64_t word = WordAt(words, i);
    if (type == DataType::kFloat64) return std::bit_cast<double>(word);
    if (type == DataType::kUint64) return Integer{false, word};
    return Integer::OfSigned(static_cast<std::int64_t>(word));
  };
  Literal literal{ListsOf(tensor.shape, at, scalar), type};
  // numpy finds uint64 only where a number asks for it.
  if (type == DataType::kUint64) literal.type = TensorOf(literal.value, what).type;
  return literal;
}

}  // namespace tensorcast::mdf

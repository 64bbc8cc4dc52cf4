// Integers of 1 to 8 bits in words along the rows, dense or, as versions before 0.17 pack 3, 5, 6
// and 7 bits, with bits to spare in each word; of one matrix or of stacked ones.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/pack_quantized.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/grouped_integers.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

using formats::TensorInfo;

// Numbers in dimensions, as far as they can be had; nothing where they cannot.
std::optional<std::vector<std::uint64_t>> StoredShape(const PackedTensors& tensors,
                                                      std::size_t tensor) {
  const TensorInfo& info = tensors.Info(tensor);
  if (info.shape.size() != 1 || info.elements < 2 || info.elements > 8) {
    return std::nullopt;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(info.bytes));
  tensors.reader.Read(tensor, 0, bytes);
  std::vector<std::int64_t> stored(static_cast<std::size_t>(info.elements));
  Require(Cast(info.type, bytes, DataType::kInt64, std::as_writable_bytes(std::span(stored)),
               info.elements));
  std::vector<std::uint64_t> shape;
  for (const std::int64_t n : stored) {
    if (n <= 0) return std::nullopt;
    shape.push_back(static_cast<std::uint64_t>(n));
  }
  return shape;
}

// Whether the configuration's version packs as those before 0.17.0; nothing where it does not say.
std::optional<bool> IsPaddedVersion(const QuantizationConfig& config) {
  if (config.json == nullptr) return std::nullopt;
  const std::string version = Text(Member(*config.json, "version"));
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return std::nullopt;
  return major == 0 && minor < 17;
}

// Whether the zero points of so many rows stand with bits to spare; nothing where their shape does
// not tell.
std::optional<bool> HasPaddedZeros(const PackedTensors& tensors, std::uint64_t rows, int bits) {
  const std::optional<std::size_t> zeros = tensors.Find("_zero_point");
  if (!zeros || tensors.Info(*zeros).shape.size() < 2) return std::nullopt;
  const std::uint64_t height = tensors.Info(*zeros).shape.end()[-2];
  const bool is_dense = WordsOf(CodeOrder::kWordColumns, rows, 1, bits).rows == height;
  const bool is_padded = WordsOf(CodeOrder::kPaddedWordColumns, rows, 1, bits).rows == height;
  return is_dense != is_padded ? std::optional(is_padded) : std::nullopt;
}

// A way to understand the words: bits of a code, and how rows stand.
struct Packing {
  int bits = 0;
  CodeOrder order = CodeOrder::kRows;
};

// The one way in which rows of so many columns take so many words; where there are several, why.
std::optional<Packing> PackingOf(const PackedTensors& tensors, std::uint64_t rows,
                                 std::uint64_t columns, std::string& why) {
  const QuantizationConfig& config = tensors.config;
  const std::uint64_t words = tensors.Info(tensors.codes).shape.back();
  std::vector<int> tried;
  for (const WeightScheme& scheme : config.schemes) {
    if (scheme.is_integer && scheme.bits >= 1 && scheme.bits <= 8 &&
        std::ranges::count(tried, scheme.bits) == 0) {
      tried.push_back(scheme.bits);
    }
  }
  if (tried.empty()) tried = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<Packing> found;
  for (const int bits : tried) {
    const bool is_dense = WordsOf(CodeOrder::kRows, 1, columns, bits).columns == words;
    const bool is_padded = WordsOf(CodeOrder::kPaddedRows, 1, columns, bits).columns == words;
    if (!is_dense && !is_padded) continue;
    if (is_dense && is_padded && 32 % bits != 0) {
      std::optional<bool> said = HasPaddedZeros(tensors, rows, bits);
      if (!said) said = IsPaddedVersion(config);
      if (!said) {
        why = "has rows of " + words::CountText(words, "word") + " that " +
              std::to_string(columns) + " codes of " + std::to_string(bits) +
              " bits take with and without spare bits; the configuration's \"version\" can say";
        return std::nullopt;
      }
      found.push_back({bits, *said ? CodeOrder::kPaddedRows : CodeOrder::kRows});
      continue;
    }
    found.push_back({bits, is_dense ? CodeOrder::kRows : CodeOrder::kPaddedRows});
  }
  if (found.size() == 1) return found.front();
  why = "has rows of " + words::CountText(words, "word") + " for " + std::to_string(columns) +
        " columns, which " +
        (found.empty() ? "fit no number of bits" : "fit several numbers of bits") +
        (config.file.empty() ? "" : " that " + config.file + " says");
  return std::nullopt;
}

// The scheme that a weight has, or null; of several that which has zero points, or none, as it has,
// and needs no order that it does not have.
const WeightScheme* SchemeOf(const PackedTensors& tensors, int bits, std::uint64_t columns,
                             std::uint64_t groups) {
  const bool has_zeros = tensors.Find("_zero_point").has_value();
  const bool has_order = tensors.Find("_g_idx").has_value();
  const WeightScheme* found = nullptr;
  for (const WeightScheme& scheme : tensors.config.schemes) {
    if (!scheme.is_integer || scheme.bits != bits) continue;
    const std::uint64_t group = scheme.group == 0 ? columns : scheme.group;
    if ((columns + group - 1) / group != groups) continue;
    if (scheme.is_symmetric != has_zeros && (has_order || !scheme.is_ordered)) return &scheme;
    if (found == nullptr) found = &scheme;
  }
  return found;
}

// "4-bit floats, groups of 32"
std::string SaidText(const WeightScheme& scheme) {
  std::string text = scheme.Text();
  if (scheme.bits == 0 || !scheme.misread.empty() || text.find("-bit") != std::string::npos) {
    return text;
  }
  return std::to_string(scheme.bits) + (scheme.is_integer ? "-bit integers, " : "-bit floats, ") +
         text;
}

}  // namespace

PackedReading ReadPackQuantized(const PackedTensors& tensors) {
  PackedReading reading;
  const TensorInfo& codes = tensors.Info(tensors.codes);
  const std::optional<std::size_t> scales = tensors.Find("_scale");
  if (!IsWord(codes.type) || codes.shape.size() < 2 || codes.elements == 0 || !scales) {
    return reading;
  }
  const TensorInfo& scale = tensors.Info(*scales);
  const TypeInfo* const scale_type = FindType(scale.type);
  if (scale_type == nullptr || !scale_type->is_float() || scale_type->bits < 16 ||
      scale_type->bits > 32) {
    return reading;
  }
  if (tensors.config.json != nullptr) {
    const std::string format = Text(Member(*tensors.config.json, "format"));
    if (format == "marlin-24") {
      reading.opaque = "compressed-tensors in the format " + words::Quoted(format);
      return reading;
    }
  }
  const auto refuse = [&](std::string why) {
    reading.why_not = std::move(why);
    return std::move(reading);
  };
  const std::optional<std::size_t> stored = tensors.Find("_shape");
  if (!stored) return refuse("has no shape: a tensor called weight_shape is missing");
  const DataType shape_type = tensors.Info(*stored).type;
  if (shape_type != DataType::kInt64 && shape_type != DataType::kInt32) {
    return refuse(WrongType("its shape", tensors.Info(*stored), "int64 or int32"));
  }
  const auto shape = StoredShape(tensors, *stored);
  if (!shape || shape->size() != codes.shape.size() || !core::CheckedProduct(*shape) ||
      !std::equal(shape->begin(), shape->end() - 1, codes.shape.begin())) {
    return refuse("does not fit the shape that " + words::EscapeName(tensors.Info(*stored).name) +
                  " says" + (shape ? ", " + words::ShapeText(*shape) : ""));
  }
  const std::uint64_t rows = shape->end()[-2], columns = shape->back();
  std::string why;
  const std::optional<Packing> packing = PackingOf(tensors, rows, columns, why);
  if (!packing) return refuse(std::move(why));
  const int bits = packing->bits;

  IntegerGroups made;
  for (std::size_t i = 0; i + 2 < shape->size(); ++i) made.batches *= (*shape)[i];
  made.codes = {tensors.codes, packing->order, rows, columns, bits, rows, codes.shape.back()};
  made.zero = 1 << (bits - 1);
  made.scales = {*scales, scale.type, false, 1};
  std::vector<std::uint64_t> scale_shape = *shape;
  scale_shape.back() = scale.shape.empty() ? 1 : scale.shape.back();
  const bool is_one = scale.elements == 1;
  const bool is_list = scale.shape == std::vector{rows} && shape->size() == 2;
  if (is_list) scale_shape.back() = 1;
  if (!is_one && !is_list && scale.shape != scale_shape) {
    return refuse("and " + words::EscapeName(scale.name) + " " + words::ShapeText(scale.shape) +
                  " do not fit: of " + words::ShapeText(*shape) + " each row has its scales");
  }
  const std::uint64_t groups = is_one ? 1 : scale_shape.back();
  made.scales.width = is_one ? 0 : groups;
  const WeightScheme* const scheme = SchemeOf(tensors, bits, columns, groups);
  if (scheme == nullptr && !tensors.config.schemes.empty()) {
    return refuse("has " + std::to_string(bits) + "-bit integers, " +
                  words::CountText(groups, "scale") + " for " + std::to_string(columns) +
                  " columns, and " + tensors.config.file + " says " +
                  SaidText(tensors.config.schemes.front()));
  }
  if (scheme == nullptr && columns % groups != 0) {
    return refuse("has " + std::to_string(columns) + " columns in " +
                  words::CountText(groups, "group") + ", and nothing says their size");
  }
  made.group = scheme != nullptr && scheme->group != 0 ? scheme->group : columns / groups;

  const auto zeros = tensors.Find("_zero_point");
  if (zeros && tensors.Info(*zeros).type == DataType::kInt8) {
    // That of the whole tensor is a signed integer, and not packed.
    const TensorInfo& info = tensors.Info(*zeros);
    std::int8_t zero = 0;
    if (is_one && info.elements == 1) {
      tensors.reader.Read(*zeros, 0, std::as_writable_bytes(std::span(&zero, 1)));
    }
    if (!is_one || info.elements != 1 || zero < -made.zero || zero >= made.zero) {
      return refuse("has the zero point " + words::EscapeName(info.name) + " " +
                    words::ShapeText(info.shape) + ", " + std::to_string(zero) + ", and " +
                    std::to_string(bits) + " bits hold one of " + std::to_string(-made.zero) +
                    " to " + std::to_string(made.zero - 1));
    }
    made.zero += zero;
  } else if (zeros) {
    const TensorInfo& info = tensors.Info(*zeros);
    const CodeOrder order = packing->order == CodeOrder::kPaddedRows ? CodeOrder::kPaddedWordColumns
                                                                     : CodeOrder::kWordColumns;
    const WordShape words = WordsOf(order, rows, groups, bits);
    std::vector<std::uint64_t> wanted = *shape;
    wanted.end()[-2] = words.rows;
    wanted.back() = words.columns;
    if (!IsWord(info.type)) return refuse(WrongType("zero points", info, "int32"));
    if (info.shape != wanted) {
      return refuse("has zero points in " + words::EscapeName(info.name) + " " +
                    words::ShapeText(info.shape) + ", and " + words::ShapeText(wanted) +
                    " words of 32 bits fit");
    }
    made.zeros = CodeMatrix{*zeros, order, rows, groups, bits, words.rows, words.columns};
    made.zero = 0;
  } else if (scheme != nullptr && !scheme->is_symmetric) {
    return refuse("has no zero points, and " + tensors.config.file +
                  " says that its integers are not symmetric");
  }
  if (const auto order = tensors.Find("_g_idx")) {
    const TensorInfo& info = tensors.Info(*order);
    if (info.type != DataType::kInt32) {
      return refuse(WrongType("the order of its groups", info, "int32"));
    }
    if (info.shape != std::vector{columns}) {
      return refuse("has an order of groups in " + words::EscapeName(info.name) + " " +
                    words::ShapeText(info.shape) + ", and there are " +
                    words::CountText(columns, "column"));
    }
    made.order = order;
    made.may_be_unordered = true;
  } else if (scheme != nullptr && scheme->is_ordered && groups > 1) {
    return refuse("has no order of its groups, which " + tensors.config.file +
                  " says it has (\"actorder\"): a tensor called weight_g_idx is missing");
  }
  reading.said = scheme != nullptr ? scheme->Text() : std::string();
  reading.name = tensors.Stem("_packed");
  reading.shape = *shape;
  reading.weight = MakeGroupedIntegers(std::move(made));
  return reading;
}

}  // namespace tensorcast::scale

// The words for the options of a cast, and one of them changed by its word.
//
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "tensorcast/explain.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace {

// A member of CastOptions; get and set are of an index among its values.
struct OptionRow {
  std::string_view name;
  std::span<const std::string_view> values;
  std::size_t (*get)(const CastOptions& options);
  void (*set)(CastOptions& options, std::size_t value);
};

constexpr std::string_view kBooleans[] = {"true", "false"};
constexpr std::string_view kRoundModes[] = {"up", "down", "nearest"};
constexpr std::string_view kIntegerOverflows[] = {"wrap", "saturate"};
constexpr std::string_view kFnuzInfinities[] = {"max", "nan"};
constexpr std::string_view kFiniteOnlyNans[] = {"zero", "max"};
constexpr std::string_view kStringStyles[] = {"numpy", "ort"};

// Of an enum, whose values are the indices.
template <auto kMember>
constexpr OptionRow Row(std::string_view name, std::span<const std::string_view> values) {
  return {name, values,
          [](const CastOptions& options) { return static_cast<std::size_t>(options.*kMember); },
          [](CastOptions& options, std::size_t value) {
            using Value = std::remove_reference_t<decltype(options.*kMember)>;
            options.*kMember = static_cast<Value>(value);
          }};
}

constexpr std::array<OptionRow, kCastOptions> kRows = {
    OptionRow{"saturate", kBooleans,
              [](const CastOptions& options) -> std::size_t { return options.saturate ? 0 : 1; },
              [](CastOptions& options, std::size_t value) { options.saturate = value == 0; }},
    Row<&CastOptions::round_mode>("round_mode", kRoundModes),
    Row<&CastOptions::integer_overflow>("integer_overflow", kIntegerOverflows),
    Row<&CastOptions::fnuz_infinity>("fnuz_infinity", kFnuzInfinities),
    Row<&CastOptions::finite_only_nan>("finite_only_nan", kFiniteOnlyNans),
    Row<&CastOptions::string_style>("string_style", kStringStyles),
};

// Null for a number that is not an option's.
const OptionRow* Find(CastOption option) {
  const auto index = static_cast<std::size_t>(option);
  return index < kRows.size() ? &kRows[index] : nullptr;
}

}  // namespace

std::string_view CastOptionName(CastOption option) {
  const OptionRow* const row = Find(option);
  return row != nullptr ? row->name : "unknown";
}

std::span<const std::string_view> CastOptionValues(CastOption option) {
  const OptionRow* const row = Find(option);
  return row != nullptr ? row->values : std::span<const std::string_view>();
}

std::string_view CastOptionValue(CastOption option, const CastOptions& options) {
  const OptionRow* const row = Find(option);
  return row != nullptr && IsValid(options) ? row->values[row->get(options)] : "unknown";
}

bool SetCastOption(CastOption option, std::string_view value, CastOptions* options) {
  const OptionRow* const row = Find(option);
  if (row == nullptr) return false;
  for (std::size_t i = 0; i < row->values.size(); ++i) {
    if (row->values[i] != value) continue;
    row->set(*options, i);
    return true;
  }
  return false;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

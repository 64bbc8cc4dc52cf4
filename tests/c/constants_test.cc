// The constants of the C headers are those of C++, name by name and number by number: a constant
// that is missing, superfluous or different on either side does not compile.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string_view>
#include <utility>

#include "tensorcast/graph.hpp"
#include "tensorcast/onnx.hpp"
#include "tensorcast/session.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
namespace {

// The name of an enumerator as the compiler writes it, without a scope; empty for a number that
// has none, which it writes as a cast: "(E)5".
template <auto kValue> constexpr std::string_view EnumeratorName() {
  constexpr std::string_view kMark = "kValue = ";
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find(kMark) + kMark.size());
  text = text.substr(0, text.find_first_of(";]"));
  if (text.starts_with('(')) return {};
  return text.substr(text.rfind(':') + 1);
}

constexpr char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Whether `c_name` is `prefix` and then `cpp_name` without its k, in C's spelling: kToNan, TO_NAN.
constexpr bool AreSameName(std::string_view c_name, std::string_view prefix,
                           std::string_view cpp_name) {
  if (c_name.empty() || cpp_name.empty()) return c_name.empty() && cpp_name.empty();
  if (!c_name.starts_with(prefix) || !cpp_name.starts_with('k')) return false;
  std::size_t at = 1;
  for (const char c : c_name.substr(prefix.size())) {
    if (c == '_') continue;
    if (at == cpp_name.size() || Lower(cpp_name[at]) != Lower(c)) return false;
    ++at;
  }
  return at == cpp_name.size();
}

// Asserts it for the numbers from kFirst to kLast.
template <class C, class Cpp, std::size_t kFirst, std::size_t kLast>
constexpr bool AreSame(std::string_view prefix) {
  return [prefix]<std::size_t... kNumber>(std::index_sequence<kNumber...>) {
    return (AreSameName(EnumeratorName<static_cast<C>(kFirst + kNumber)>(), prefix,
                        EnumeratorName<static_cast<Cpp>(kFirst + kNumber)>()) &&
            ...);
  }
  (std::make_index_sequence<kLast - kFirst + 1>());
}

static_assert(AreSame<decltype(TENSORCAST_OK), StatusCode, 0, 31>("TENSORCAST_"));
static_assert(AreSame<decltype(TENSORCAST_REMEDY_NONE), Remedy, 0, 15>("TENSORCAST_REMEDY_"));
static_assert(AreSame<decltype(TENSORCAST_FLOAT32), DataType, 1, 31>("TENSORCAST_"));
static_assert(AreSame<decltype(TENSORCAST_CLASS_BOOL), TypeClass, 0, 7>("TENSORCAST_CLASS_"));
static_assert(AreSame<decltype(TENSORCAST_TARGET_BEST), Target, 0, 7>("TENSORCAST_TARGET_"));
static_assert(AreSame<decltype(TENSORCAST_ROUND_UP), RoundingMode, 0, 3>("TENSORCAST_ROUND_"));
static_assert(
    AreSame<decltype(TENSORCAST_OVERFLOW_WRAP), IntegerOverflow, 0, 1>("TENSORCAST_OVERFLOW_"));
static_assert(AreSame<decltype(TENSORCAST_FNUZ_INFINITY_MAX), FnuzInfinity, 0, 1>(
    "TENSORCAST_FNUZ_INFINITY_"));
static_assert(AreSame<decltype(TENSORCAST_FINITE_ONLY_NAN_ZERO), FiniteOnlyNan, 0, 1>(
    "TENSORCAST_FINITE_ONLY_NAN_"));
static_assert(AreSame<decltype(TENSORCAST_STRING_STYLE_NUMPY), StringStyle, 0, 1>(
    "TENSORCAST_STRING_STYLE_"));
// The numbers beside the kinds are how many there are.
static_assert(AreSame<decltype(TENSORCAST_LOSS_NAN), Loss, 0, kLossKinds - 1>("TENSORCAST_LOSS_"));
static_assert(TENSORCAST_LOSS_KINDS == kLossKinds && kLossKinds <= TENSORCAST_LOSS_SLOTS);
static_assert(TENSORCAST_LOSS_PARTITION == kLossPartition);
static_assert(AreSame<decltype(TENSORCAST_CONTRADICTIONS_TEXT), onnx::Contradictions, 0, 1>(
    "TENSORCAST_CONTRADICTIONS_"));
static_assert(AreSame<decltype(TENSORCAST_VALUE_INPUT), GraphValueKind, 0, 3>("TENSORCAST_VALUE_"));
static_assert(
    AreSame<decltype(TENSORCAST_SUMMARY_TEXT), SummaryFormat, 0, 1>("TENSORCAST_SUMMARY_"));

}  // namespace
}  // namespace tensorcast

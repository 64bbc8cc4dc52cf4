// PCRE2, which keeps what it backtracks to on the heap, with limits on steps, depth and memory.
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/regular_expression.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "files/error.h"

namespace tensorcast::naming {
namespace {

// Far beyond what names of layers need: "(.*)\\.(.*)" on a name of 100 characters takes some 10,000
// steps. All of them take some tens of milliseconds.
constexpr std::uint32_t kMostSteps = 1'000'000;
constexpr std::uint32_t kDeepest = 100'000;       // choices that are open at once
constexpr std::uint32_t kMostKibibytes = 16'384;  // for these
constexpr std::uint32_t kDeepestGroups = 100;     // the compiler of expressions calls itself
constexpr std::size_t kLongest = 65'536;          // of an expression
// A step goes over a name once, so that the time of one match is bounded by the product.
constexpr std::size_t kLongestName = 4096;

PCRE2_SPTR Units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string MessageOf(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct RegularExpression::Compiled {
  using Code = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;
  using Limits = std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>;
  Code code{nullptr, pcre2_code_free};
  Limits limits{pcre2_match_context_create(nullptr), pcre2_match_context_free};
};

RegularExpression::RegularExpression(std::string_view text, std::string quoted)
    : quoted_(std::move(quoted)) {
  auto compiled = std::make_shared<Compiled>();
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (context == nullptr || compiled->limits == nullptr) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_max_pattern_length(context.get(), kLongest);
  pcre2_set_parens_nest_limit(context.get(), kDeepestGroups);
  pcre2_set_match_limit(compiled->limits.get(), kMostSteps);
  pcre2_set_depth_limit(compiled->limits.get(), kDeepest);
  pcre2_set_heap_limit(compiled->limits.get(), kMostKibibytes);
  int error = 0;
  PCRE2_SIZE at = 0;
  compiled->code.reset(pcre2_compile(Units(text), text.size(),
                                     PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                                     &error, &at, context.get()));
  if (compiled->code == nullptr) {
    throw files::Error(core::ErrorKind::kArguments, quoted_ + " is not a regular expression (" +
                                                        MessageOf(error) + ", behind " +
                                                        words::CountText(at, "byte") + ")");
  }
  compiled_ = std::move(compiled);
}

bool RegularExpression::Matches(std::string_view name, bool is_whole,
                                std::vector<std::string_view>* groups) const {
  if (name.size() > kLongestName) {
    throw files::Error(core::ErrorKind::kArguments,
                       "a tensor's name of " + words::CountText(name.size(), "byte") +
                           " is too long for the regular expression " + quoted_ + "; use a glob");
  }
  // One pair of offsets is that of the whole; where nothing is asked of the groups it is all.
  const std::size_t pairs = groups != nullptr ? this->groups() + 1 : 1;
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create(static_cast<std::uint32_t>(pairs), nullptr), pcre2_match_data_free);
  if (match == nullptr) throw std::bad_alloc();
  const std::uint32_t options = PCRE2_ANCHORED | (is_whole ? PCRE2_ENDANCHORED : 0U);
  const int result = pcre2_match(compiled_->code.get(), Units(name), name.size(), 0, options,
                                 match.get(), compiled_->limits.get());
  // To the matcher a name ends where it is no longer UTF-8.
  if (result >= 0) {
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(match.get());
    for (std::size_t i = 0; groups != nullptr && i < pairs; ++i) {
      const PCRE2_SIZE begin = ends[2 * i], end = ends[2 * i + 1];
      const bool is_set = begin != PCRE2_UNSET && begin <= end && end <= name.size();  // \K
      groups->push_back(is_set ? name.substr(begin, end - begin) : std::string_view());
    }
    return !is_whole || ends[1] == name.size();
  }
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
  throw files::Error(core::ErrorKind::kArguments,
                     quoted_ + " takes too long on the name " + words::Quoted(name) + " (" +
                         MessageOf(result) + "); write it with fewer ways to match, or use a glob");
}

bool RegularExpression::MatchesWhole(std::string_view name) const { return Matches(name, true); }
bool RegularExpression::MatchesBeginning(std::string_view name) const {
  return Matches(name, false);
}

std::optional<std::vector<std::string_view>> RegularExpression::GroupsOf(
    std::string_view name) const {
  std::vector<std::string_view> groups;
  if (!Matches(name, true, &groups)) return std::nullopt;
  return groups;
}

std::size_t RegularExpression::groups() const {
  std::uint32_t count = 0;
  pcre2_pattern_info(compiled_->code.get(), PCRE2_INFO_CAPTURECOUNT, &count);
  return count;
}

}  // namespace tensorcast::naming

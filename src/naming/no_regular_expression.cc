// Regular expressions in a build without PCRE2.
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/regular_expression.h"

#include <utility>

#include "files/error.h"

namespace tensorcast::naming {

struct RegularExpression::Compiled {};

RegularExpression::RegularExpression(std::string_view /*text*/, std::string quoted)
    : quoted_(std::move(quoted)) {
  throw files::Error(core::ErrorKind::kUnsupported,
                     quoted_ +
                         " is a regular expression, which this build was made without (PCRE2); use "
                         "globs");
}

bool RegularExpression::MatchesWhole(std::string_view name) const { return Matches(name, true); }
bool RegularExpression::MatchesBeginning(std::string_view name) const {
  return Matches(name, false);
}
bool RegularExpression::Matches(std::string_view /*name*/, bool /*is_whole*/,
                                std::vector<std::string_view>* /*groups*/) const {
  return false;
}
std::optional<std::vector<std::string_view>> RegularExpression::GroupsOf(
    std::string_view /*name*/) const {
  return std::nullopt;
}
std::size_t RegularExpression::groups() const { return 0; }

}  // namespace tensorcast::naming

// Parses sizes.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/size_argument.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <system_error>

#include "files/error.h"

namespace tensorcast::tool {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr Unit kUnits[] = {{"", 1}, {"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};

}  // namespace

std::uint64_t ParseSizeArgument(std::string_view where, std::string_view text) {
  const char* const end = text.data() + text.size();
  double value = 0;
  const std::from_chars_result number =
      std::from_chars(text.data(), end, value, std::chars_format::fixed);
  std::string name(number.ptr, end);
  name.erase(0, name.find_first_not_of(' '));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto* const unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                        [&](const Unit& one) { return one.name == name; });
  constexpr double kMost = 1e18;
  const double bytes =
      unit != std::end(kUnits) && number.ec == std::errc() ? value * unit->bytes : 0;
  // Also false where a number is none.
  if (!(bytes >= 1 && bytes <= kMost)) {
    throw io::Error(io::ErrorKind::kArguments,
                    std::string(where) + ": " + io::Quoted(text) +
                        " is not a size of at least a byte; expected a number and KB, MB, GB or "
                        "TB, as in 5GB");
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace tensorcast::tool

// The names of an enumeration's members, which count from 0.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_ENUM_NAMES_H_
#define TENSORCAST_SRC_CORE_ENUM_NAMES_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace tensorcast::core {

// "unknown" for a number that is no member's.
template <class Enum>
constexpr std::string_view NameOf(std::span<const std::string_view> names, Enum member) {
  const auto index = static_cast<std::size_t>(member);
  return index < names.size() ? names[index] : "unknown";
}

// The member that is called so, by `name_of`.
template <class Enum, class Name>
std::optional<Enum> MemberNamed(std::span<const Enum> members, const Name& name_of,
                                std::string_view name) {
  for (const Enum member : members) {
    if (name_of(member) == name) return member;
  }
  return std::nullopt;
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_ENUM_NAMES_H_

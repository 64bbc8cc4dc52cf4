// Tensors, or members of an archive, in the order of their names: whether a name is there twice,
// and who has one.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_NAME_ORDER_H_
#define TENSORCAST_SRC_FORMATS_NAME_ORDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tensorcast::formats {

// Indices, at 4 bytes each, and no copies: `all` has to stay where it is.
template <class Named> class NameOrder {
 public:
  explicit NameOrder(std::span<const Named> all) : all_(all), order_(all.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::ranges::sort(order_, {}, [&](std::uint32_t i) { return std::pair(NameOf(i), i); });
  }

  const std::vector<std::uint32_t>& indices() const { return order_; }

  // The first two that share a name, if any do.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> Twice() const {
    const auto twice =
        std::ranges::adjacent_find(order_, {}, [&](std::uint32_t i) { return NameOf(i); });
    if (twice == order_.end()) return std::nullopt;
    return std::pair(twice[0], twice[1]);
  }

  std::optional<std::uint32_t> Find(std::string_view name) const {
    const auto place =
        std::ranges::lower_bound(order_, name, {}, [&](std::uint32_t i) { return NameOf(i); });
    if (place == order_.end() || NameOf(*place) != name) return std::nullopt;
    return *place;
  }

 private:
  std::string_view NameOf(std::uint32_t i) const { return all_[i].name; }

  std::span<const Named> all_;
  std::vector<std::uint32_t> order_;
};

template <class Range> NameOrder(const Range& all) -> NameOrder<typename Range::value_type>;

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_NAME_ORDER_H_

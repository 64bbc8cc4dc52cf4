// JSON whose objects keep their members' order, and find a member by its name in the same time
// however many there are: those of nlohmann::ordered_json look at one after the other.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_JSON_ORDERED_JSON_H_
#define TENSORCAST_SRC_JSON_ORDERED_JSON_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "json/ordered_json_fwd.h"

namespace tensorcast::json {

// What nlohmann's basic_json asks of an object: a vector of members, with a hash table of their
// places where there are more than a few.
template <class Key, class T, class Less, class Allocator>
class IndexedMembers : public std::vector<std::pair<Key, T>> {
  using Members = std::vector<std::pair<Key, T>>;

 public:
  using key_type = Key;
  using mapped_type = T;
  using key_compare = std::equal_to<>;
  using typename Members::const_iterator;
  using typename Members::iterator;
  using typename Members::size_type;
  using typename Members::value_type;

  IndexedMembers() = default;
  template <class Iterator> IndexedMembers(Iterator first, Iterator last) { insert(first, last); }

  template <class Name> std::pair<iterator, bool> emplace(Name&& key, T&& value) {
    const size_type place = PlaceOf(key);
    const bool is_new = place == this->size();
    if (is_new) {
      this->emplace_back(std::forward<Name>(key), std::move(value));
      AddLast();
    }
    return {this->begin() + static_cast<std::ptrdiff_t>(place), is_new};
  }
  template <class Name> T& operator[](Name&& key) {
    return emplace(std::forward<Name>(key), T{}).first->second;
  }
  iterator find(std::string_view key) {
    return this->begin() + static_cast<std::ptrdiff_t>(PlaceOf(key));
  }
  const_iterator find(std::string_view key) const {
    return this->begin() + static_cast<std::ptrdiff_t>(PlaceOf(key));
  }
  size_type count(std::string_view key) const { return PlaceOf(key) == this->size() ? 0 : 1; }
  T& at(std::string_view key) {
    if (count(key) == 0) throw std::out_of_range("no such member");
    return find(key)->second;
  }
  const T& at(std::string_view key) const {
    if (count(key) == 0) throw std::out_of_range("no such member");
    return find(key)->second;
  }
  std::pair<iterator, bool> insert(const value_type& member) {
    return emplace(member.first, T(member.second));
  }
  template <class Iterator> void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace(first->first, T(first->second));
  }

  // Each moves all members behind it: of many, filter.
  size_type erase(std::string_view key) {
    const iterator found = find(key);
    if (found == this->end()) return 0;
    erase(found);
    return 1;
  }
  iterator erase(const_iterator at) { return erase(at, at + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const iterator next = Members::erase(first, last);
    Index();
    return next;
  }
  // Takes away those for which `is_one` of the name is true.
  template <class IsOne> void EraseIf(const IsOne& is_one) {
    std::erase_if(static_cast<Members&>(*this),
                  [&](const value_type& member) { return is_one(member.first); });
    Index();
  }
  void clear() {
    Members::clear();
    Index();
  }

 private:
  static constexpr size_type kFew = 16;

  static std::size_t HashOf(std::string_view key) { return std::hash<std::string_view>()(key); }

  // size() where there is no such member.
  size_type PlaceOf(std::string_view key) const {
    if (slots_.empty()) {
      const auto found = std::find_if(this->begin(), this->end(),
                                      [&](const value_type& one) { return one.first == key; });
      return static_cast<size_type>(found - this->begin());
    }
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t slot = HashOf(key) & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
      if (this->data()[slots_[slot] - 1].first == key) return slots_[slot] - 1;
    }
    return this->size();
  }

  void AddLast() {
    if (2 * this->size() > slots_.size()) return Index();
    Take(this->size() - 1);
  }

  void Index() {
    slots_.clear();
    if (this->size() <= kFew) return;
    slots_.resize(std::bit_ceil(4 * this->size()));
    for (size_type place = 0; place < this->size(); ++place) Take(place);
  }

  void Take(size_type place) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = HashOf(this->data()[place].first) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(place + 1);
  }

  std::vector<std::uint32_t> slots_;  // places from 1 on, 0: none; at most half full; of few none
};

// What is built is begun as Json::object() or Json::array(), and no member as operator[] of a null
// value: nlohmann 3.11.2 gives such a value its new kind before the memory, and if there is no
// memory its destructor follows a null pointer.

// Both stand here alone: nlohmann's templates take seconds to compile wherever they are called.
inline constexpr std::size_t kDeepestJson = 64;  // of arrays and objects; configurations have 6
inline constexpr int kOneLine = -1;

// A text as JSON is: NaN, Infinity and -Infinity, which Python's module writes into configurations
// and nlohmann refuses, are null.
std::string WithoutInfinities(std::string_view text);
// Gives nothing if the text, so understood, is no JSON, or nests deeper than so many arrays and
// objects. (nlohmann's parser with a callback, which could count them, looks at all of an array for
// each object in it.)
std::optional<OrderedJson> ParseJson(std::string_view text, std::size_t deepest = kDeepestJson);
// The same, with null in the place of nothing.
OrderedJson JsonOrNull(std::string_view text);

// The JSON as text, with that many spaces for a level, or all in one line. Bytes that are not UTF-8
// become U+FFFD.
std::string Dumped(const OrderedJson& json, int indent = kOneLine);

}  // namespace tensorcast::json

#endif  // TENSORCAST_SRC_JSON_ORDERED_JSON_H_

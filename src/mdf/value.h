// A document as JSON, YAML and BSON have it, whichever of them it was: null, truth values, numbers,
// texts, lists and objects, whose members keep their order.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_MDF_VALUE_H_
#define TENSORCAST_SRC_MDF_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tensorcast::mdf {

// What bounds the memory that a document takes, and the depth of recursions over it.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{64} << 20;
inline constexpr std::size_t kMostValues = std::size_t{1} << 22;
inline constexpr std::size_t kMostDepth = 100;

// A whole number of Python's that fits 64 bits, with a sign or without; 0 is not negative.
struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
  bool operator==(const Integer&) const = default;

  static Integer OfSigned(std::int64_t value) {
    return {value < 0, value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value)
                                 : static_cast<std::uint64_t>(value)};
  }
  // The bits of an int64 or uint64.
  std::uint64_t bits() const { return negative ? std::uint64_t{0} - magnitude : magnitude; }
};

// Throw graph::Error, whose one line is `what`: that a document breaks a rule of MDF (contents), or
// that a document or a graph has what the other cannot (unsupported).
[[noreturn]] void Wrong(const std::string& what);
[[noreturn]] void Refuse(const std::string& what);

class Value;
struct Member;
using List = std::vector<Value>;
using Object = std::vector<Member>;

class Value {
 public:
  Value() = default;  // null
  // Not explicit: a tree is written down as what it holds.
  template <class T> Value(T held) : held_(std::move(held)) {}
  Value(const char* text);

  template <class T> const T* As() const { return std::get_if<T>(&held_); }
  template <class T> T* As() { return std::get_if<T>(&held_); }
  bool IsNull() const { return std::holds_alternative<std::monostate>(held_); }
  // What it is, for messages: "a list".
  std::string_view Kind() const;

  // The member of an object; null where it has none of that name, or is no object.
  const Value* Find(std::string_view name) const;

 private:
  std::variant<std::monostate, bool, Integer, double, std::string, List, Object> held_;
};

struct Member {
  std::string name;
  Value value;
};

// Puts a document together from its parts, in their order. Throws graph::Error (contents) where it
// is larger or deeper than documents may be, or an object has a name twice, of which readers would
// take another.
class ValueBuilder {
 public:
  void BeginList();
  void BeginObject();
  void Key(std::string name);  // of the member that comes next
  void Add(Value value);       // a scalar, or what was put together before
  void End();                  // of the list or object that began last
  // How many lists and objects are open.
  std::size_t depth() const { return open_.size(); }
  // What was added last to the innermost list or object, or the document itself.
  const Value& last() const;

  // The document, when nothing is open.
  Value Take() { return std::move(root_); }

 private:
  struct Open {
    Value value;
    std::string key;
  };
  void Count(const Value& value, std::size_t depth);
  void Place(Value value);

  std::vector<Open> open_;
  Value root_;
  std::size_t count_ = 0;
};

}  // namespace tensorcast::mdf

#endif  // TENSORCAST_SRC_MDF_VALUE_H_

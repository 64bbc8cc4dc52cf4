// The tool's JSON: a printer of documents, and the pieces that several commands write.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_TOOL_JSON_H_
#define TENSORCAST_PROGRAMS_DISPLAY_TOOL_JSON_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "convert/exponents.h"
#include "convert/request_json.h"
#include "formats/tensor_info.h"
#include "json/ordered_json.h"
#include "shell/streams.h"
#include "tensorcast/report.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

using Json = json::OrderedJson;

// Where a text goes, piece by piece.
using TakeText = std::function<void(std::string_view)>;

// Every JSON the tool writes has it; it is raised when a member changes its meaning or goes away.
inline constexpr int kJsonSchemaVersion = 1;

using convert::OptionsJson;
// Null where it is empty.
inline Json TextOrNull(std::string_view text) { return text.empty() ? Json() : Json(text); }
// How many values each kind of loss took, by its name.
Json CountsJson(std::span<const std::uint64_t, kLossKinds> counts);
// Null where nothing was compared.
Json SnrJson(const LossReport& loss);
// A limit of a share has a member "unit" that says "%".
Json CrossedJson(const CrossedLimit& crossed);
// Counts and figures; one that is infinite or undefined is null.
Json FiguresJson(const LossReport& loss);
// What the code of a result stands for.
enum class ResultIs : std::uint8_t { kValue, kCodeOfScale };
// Counts and figures with the examples, whose indices are those of `info`.
Json LossOfTensorJson(const formats::TensorInfo& info, const LossReport& loss,
                      ResultIs result = ResultIs::kValue);
Json TensorJson(const formats::TensorInfo& info);
// Null where nothing was counted.
Json ExponentsJson(const convert::ExponentCounts& exponents);
// The type's name; null where none is known.
Json TypeJson(DataType type);
// Indented, with a newline at the end.
std::string JsonText(const Json& json);
// JSON that is text, as JsonText writes it.
std::string IndentedJson(std::string_view json);

// Prints a document, one object, as JsonText would give it, member by member: a checkpoint may have
// many tensors, and a tree for each of them takes kilobytes. Begin and End nest; members
// have keys, elements of arrays have none.
class JsonPrinter {
 public:
  // Begins with the members that every document of the tool has. `print` takes what is printed,
  // piece by piece: Print (shell/streams.h), or what writes a file.
  explicit JsonPrinter(std::string_view command, TakeText print = tool::Print);
  void End();  // once, after all else; a document that an error cut short has none

  void Member(std::string_view key, const Json& value);
  void Element(const Json& value);

  void BeginArray(std::string_view key);
  void EndArray();
  // An array of what `made` makes of each of `range`.
  template <class Range, class Made>
  void Array(std::string_view key, const Range& range, const Made& made) {
    BeginArray(key);
    for (const auto& one : range) Element(made(one));
    EndArray();
  }
  // An object that is an element.
  void BeginObject();
  void EndObject();

 private:
  void NewLine();
  void Separate();
  void Key(std::string_view key);
  void Value(const Json& value);
  void Open(char bracket);
  void Close(char bracket);

  TakeText print_;
  std::size_t depth_ = 0;
  bool empty_ = true;  // nothing stands yet in what is open
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_TOOL_JSON_H_

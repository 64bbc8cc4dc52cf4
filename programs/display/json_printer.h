// Prints a JSON document member by member: a checkpoint may have many tensors, and a tree of what
// is said of each takes kilobytes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_JSON_PRINTER_H_
#define TENSORCAST_PROGRAMS_DISPLAY_JSON_PRINTER_H_

#include <cstddef>
#include <string_view>

#include "display/loss_json.h"

namespace tensorcast::tool {

// The document, one object, is printed to stdout as JsonText would give it. Begin and End nest;
// members have keys, elements of arrays have none.
class JsonPrinter {
 public:
  JsonPrinter();
  void End();  // once, after all else; a document that an error cut short has none

  void Member(std::string_view key, const Json& value);
  // Each member of an object, in its order.
  void Members(const Json& object);
  void Element(const Json& value);

  void BeginArray(std::string_view key);
  void EndArray();
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

  std::size_t depth_ = 0;
  bool empty_ = true;  // nothing stands yet in what is open
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_JSON_PRINTER_H_

// Parses type names; an unknown one is answered with its neighbours.
//
// SPDX-License-Identifier: Apache-2.0
#include "type_argument.h"

#include <optional>
#include <string>
#include <string_view>

#include "io/tensor_file.h"

namespace tensorcast::tool {
namespace {

// "float16, bfloat16, float32".
std::string NearestNames(std::string_view name) {
  std::string names;
  for (const std::string_view near : NearestTypeNames(name)) {
    names.append(names.empty() ? "" : ", ").append(near);
  }
  return names;
}

}  // namespace

DataType ParseTypeArgument(std::string_view where, std::string_view name) {
  const std::optional<DataType> type = ParseType(name);
  if (!type) {
    throw io::Error(io::ErrorKind::kArguments,
                    std::string(where) + ": '" + io::Escape(name.substr(0, 64)) +
                        "' is no type; the nearest are " + NearestNames(name) +
                        " ('tensorcast types' lists all)");
  }
  return *type;
}

DataType ParseNumberTypeArgument(std::string_view where, std::string_view name,
                                 std::string_view why) {
  const DataType type = ParseTypeArgument(where, name);
  if (type == DataType::kString) {
    throw io::Error(io::ErrorKind::kArguments,
                    std::string(where) + ": string is not taken here: " + std::string(why));
  }
  return type;
}

}  // namespace tensorcast::tool

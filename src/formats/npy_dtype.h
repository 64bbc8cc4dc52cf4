// numpy's dtype strings (descr): which type of ours each one is, and how it is written.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_NPY_DTYPE_H_
#define TENSORCAST_SRC_FORMATS_NPY_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::formats {

// How a file's elements are to be read.
struct NpyDtype {
  DataType type = DataType::kUndefined;
  // What an element takes in the file; 1 for types below a byte; 0 for strings without room for a
  // character.
  std::uint64_t item_bytes = 0;
  bool is_ucs4 = false;  // strings: four bytes a character, else bytes
  bool big_endian = false;
  std::string note;  // empty, or what the user should know of this reading
};

// Throws Error where the dtype is none of ours, or needs `assume` and there is none, or does not
// go with it. `path` begins the messages.
NpyDtype UnderstandDescr(const std::string& path, const std::string& descr,
                         std::optional<DataType> assume);

// Whether a descr leaves open which type of this size it holds: |V1, <V2, <f1.
bool TakesAssumedType(const std::string& descr, DataType assume);

// The strings that a descr declares (<U, >U, |S); nothing for another.
std::optional<NpyDtype> StringsOf(std::string_view descr);

// The descr that strings are saved with: their width kept, big-endian made little.
std::string DescrOf(const NpyDtype& strings);

// The descr that a type of numbers is saved with; ml_dtypes' types are saved as void of their size.
std::string DescrOf(DataType type);

// Bytes of an element in a file: types below a byte are saved one byte each.
constexpr std::uint64_t ItemBytes(DataType type) {
  const TypeInfo* row = FindType(type);
  return row == nullptr ? 0 : static_cast<std::uint64_t>(row->bits + 7) / 8;
}

// ml_dtypes' name of a type, or empty where numpy itself has it.
std::string_view MlDtypesName(DataType type);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_NPY_DTYPE_H_

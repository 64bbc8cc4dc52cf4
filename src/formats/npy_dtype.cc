// Reads dtype strings; what cannot be read is refused with the reason that applies to it.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/npy_dtype.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include "files/error.h"
#include "text/string_piece.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

struct NumpyType {
  std::string_view code;  // kind and bytes
  DataType type;
};

constexpr NumpyType kNumpyTypes[] = {
    {"b1", DataType::kBool},  {"i1", DataType::kInt8},   {"u1", DataType::kUint8},
    {"i2", DataType::kInt16}, {"u2", DataType::kUint16}, {"f2", DataType::kFloat16},
    {"i4", DataType::kInt32}, {"u4", DataType::kUint32}, {"f4", DataType::kFloat32},
    {"i8", DataType::kInt64}, {"u8", DataType::kUint64}, {"f8", DataType::kFloat64},
};

struct MlDtype {
  std::string_view name;
  DataType type;
};

constexpr MlDtype kMlDtypes[] = {
    {"bfloat16", DataType::kBfloat16},
    {"float8_e4m3fn", DataType::kFloat8E4M3FN},
    {"float8_e4m3fnuz", DataType::kFloat8E4M3FNUZ},
    {"float8_e5m2", DataType::kFloat8E5M2},
    {"float8_e5m2fnuz", DataType::kFloat8E5M2FNUZ},
    {"float8_e8m0fnu", DataType::kFloat8E8M0},
    {"float6_e2m3fn", DataType::kFloat6E2M3},
    {"float6_e3m2fn", DataType::kFloat6E3M2},
    {"float4_e2m1fn", DataType::kFloat4E2M1},
    {"int4", DataType::kInt4},
    {"uint4", DataType::kUint4},
    {"int2", DataType::kInt2},
    {"uint2", DataType::kUint2},
};

[[noreturn]] void Refuse(ErrorKind kind, const std::string& path, const std::string& descr,
                         const std::string& why, Remedy remedy = Remedy::kNone) {
  throw Error(kind, words::PathText(path) + ": has the dtype " + words::Quoted(descr) + ": " + why,
              remedy, path);
}

// ml_dtypes saves its types as void (or, float8_e5m2, as a float that numpy does not have): the
// size alone is certain.
NpyDtype UnderstandVoid(const std::string& path, const std::string& descr, std::uint64_t bytes,
                        std::optional<DataType> usual, std::optional<DataType> assume) {
  if (!assume && !usual) {
    std::string names;
    for (const MlDtype& row : kMlDtypes) {
      if (ItemBytes(row.type) != bytes) continue;
      names += (names.empty() ? "" : ", ") + std::string(TypeName(row.type));
    }
    Refuse(ErrorKind::kArguments, path, descr,
           "elements of one byte without a type, which may be " + names, Remedy::kAssumeType);
  }
  const DataType type = assume ? *assume : *usual;
  if (ItemBytes(type) != bytes) {
    Refuse(ErrorKind::kArguments, path, descr,
           "elements of " + words::CountText(bytes, "byte") + ", which the assumed type " +
               std::string(TypeName(type)) + " does not fit");
  }
  NpyDtype dtype;
  dtype.type = type;
  dtype.item_bytes = bytes;
  dtype.note = "dtype " + words::Quoted(descr) + " is read as " + std::string(TypeName(type)) +
               (assume ? ", as assumed" : "; another type can be assumed");
  return dtype;
}

// Kinds of numpy that are none of ours.
std::string_view WhyNotKind(char kind) {
  switch (kind) {
    case 'O':
      return "it is an object array, which is a pickle and could run code; it is never read";
    case 'T': return "strings of any length are a pickle in a file; save them .astype('U')";
    case 'U':
    case 'S': return "these are not strings: expected <U or |S and the number of characters";
    case 'c': return "complex numbers are not cast; save .real and .imag apart";
    case 'M':
    case 'm': return "dates and times are not cast; save them .view('int64')";
    case 'V': return "raw records are not cast";
    case 'f':
    case 'i':
    case 'u':
    case 'b': return "no type has this size";
    default: return "no such dtype is known";
  }
}

// A descr without its byte order, which is '\0' if it names none.
std::pair<char, std::string_view> SplitDescr(std::string_view descr) {
  if (descr.empty() || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
    return {'\0', descr};
  }
  return {descr[0], descr.substr(1)};
}

// The bytes of an element of void, or of the float that numpy does not have.
std::uint64_t VoidBytes(char order, std::string_view code) {
  if (code == "f1") return 1;
  if (order == '>') return 0;
  return code == "V1" ? 1 : code == "V2" ? 2 : 0;
}

}  // namespace

bool TakesAssumedType(const std::string& descr, DataType assume) {
  const auto [order, code] = SplitDescr(descr);
  return VoidBytes(order, code) != 0 && VoidBytes(order, code) == ItemBytes(assume);
}

std::optional<NpyDtype> StringsOf(std::string_view descr) {
  const auto [order, code] = SplitDescr(descr);
  if (code.size() < 2 || (code[0] != 'U' && code[0] != 'S')) return std::nullopt;
  NpyDtype dtype;
  dtype.type = DataType::kString;
  dtype.is_ucs4 = code[0] == 'U';
  std::uint64_t width = 0;
  const char* const end = code.data() + code.size();
  const auto [stop, error] = std::from_chars(code.data() + 1, end, width);
  if (error != std::errc() || stop != end || width > UINT64_MAX / 4) return std::nullopt;
  dtype.item_bytes = dtype.is_ucs4 ? width * 4 : width;
  if (dtype.is_ucs4 && width > 0 && order != '<' && order != '>') return std::nullopt;
  dtype.big_endian = dtype.is_ucs4 && order == '>';
  return dtype;
}

NpyDtype UnderstandDescr(const std::string& path, const std::string& descr,
                         std::optional<DataType> assume) {
  const auto [order, code] = SplitDescr(descr);
  if (code.empty()) Refuse(ErrorKind::kContents, path, descr, "it is empty");
  if (const std::uint64_t bytes = VoidBytes(order, code)) {
    std::optional<DataType> usual;
    if (bytes == 2) usual = DataType::kBfloat16;
    if (code == "f1") usual = DataType::kFloat8E5M2;
    return UnderstandVoid(path, descr, bytes, usual, assume);
  }

  const std::optional<NpyDtype> strings = StringsOf(descr);
  const std::string_view wanted = code;  // a structured binding is not captured
  const auto row = std::find_if(std::begin(kNumpyTypes), std::end(kNumpyTypes),
                                [&](const NumpyType& type) { return type.code == wanted; });
  if (!strings && row == std::end(kNumpyTypes)) {
    Refuse(ErrorKind::kUnsupported, path, descr, std::string(WhyNotKind(code[0])));
  }
  if (assume) {
    Refuse(ErrorKind::kArguments, path, descr,
           std::string(TypeName(strings ? DataType::kString : row->type)) +
               "; a type is assumed only of |V1, <V2 and <f1, which do not name theirs");
  }
  if (strings) {
    if (strings->item_bytes > text::kMostStringBytes) {
      Refuse(ErrorKind::kUnsupported, path, descr,
             "strings of " + std::to_string(strings->item_bytes) + " bytes each; at most " +
                 std::to_string(text::kMostStringBytes) + " are read");
    }
    return *strings;
  }
  NpyDtype dtype;
  dtype.type = row->type;
  dtype.item_bytes = ItemBytes(row->type);
  if (dtype.item_bytes > 1 && order != '<' && order != '>') {
    Refuse(ErrorKind::kUnsupported, path, descr,
           "it does not say its byte order; expected '<' or '>' before it");
  }
  dtype.big_endian = order == '>' && dtype.item_bytes > 1;
  return dtype;
}

std::string DescrOf(const NpyDtype& strings) {
  return strings.is_ucs4 ? "<U" + std::to_string(strings.item_bytes / 4)
                         : "|S" + std::to_string(strings.item_bytes);
}

std::string DescrOf(DataType type) {
  for (const NumpyType& row : kNumpyTypes) {
    if (row.type == type) return (ItemBytes(type) == 1 ? '|' : '<') + std::string(row.code);
  }
  return MlDtypesName(type).empty() ? std::string() : "<V" + std::to_string(ItemBytes(type));
}

std::string_view MlDtypesName(DataType type) {
  for (const MlDtype& row : kMlDtypes) {
    if (row.type == type) return row.name;
  }
  return {};
}

}  // namespace tensorcast::formats

// Reads dtype strings; what cannot be read is refused with the reason that applies to it.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/npy_dtype.h"

#include <algorithm>
#include <iterator>

#include "io/error_text.h"
#include "io/tensor_file.h"

namespace tensorcast::io {
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
                         const std::string& why) {
  throw Error(kind, PathText(path) + ": has the dtype " + Quoted(descr) + ": " + why);
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
           "elements of one byte without a type; name it with --assume-type (" + names + ")");
  }
  const DataType type = assume ? *assume : *usual;
  if (ItemBytes(type) != bytes) {
    Refuse(ErrorKind::kArguments, path, descr,
           "elements of " + CountText(bytes, "byte") + ", which --assume-type " +
               std::string(TypeName(type)) + " does not fit");
  }
  NpyDtype dtype;
  dtype.type = type;
  dtype.item_bytes = bytes;
  dtype.note = "dtype " + Quoted(descr) + " is read as " + std::string(TypeName(type)) +
               (assume ? ", as --assume-type says" : "; --assume-type reads it as another type");
  return dtype;
}

// Kinds of numpy that are none of ours.
std::string_view WhyNotKind(char kind) {
  switch (kind) {
    case 'O': return "an object array, which is a pickle and could run code; it is never read";
    case 'U':
    case 'S':
    case 'a':
    case 'T': return "strings come in a later version";
    case 'c': return "complex numbers are no type of a cast; save .real and .imag apart";
    case 'M':
    case 'm': return "dates and times are no type of a cast; save them .view('int64')";
    case 'V': return "raw records are no type of a cast";
    case 'f':
    case 'i':
    case 'u':
    case 'b': return "no type of a cast has this size";
    default: return "no such dtype is known";
  }
}

}  // namespace

NpyDtype UnderstandDescr(const std::string& path, const std::string& descr,
                         std::optional<DataType> assume) {
  std::string_view code = descr;
  char order = '\0';
  if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
    order = code[0];
    code.remove_prefix(1);
  }
  if (code.empty()) Refuse(ErrorKind::kContents, path, descr, "no dtype");
  if (order != '>' && code == "V1") return UnderstandVoid(path, descr, 1, std::nullopt, assume);
  if (order != '>' && code == "V2") {
    return UnderstandVoid(path, descr, 2, DataType::kBfloat16, assume);
  }
  if (code == "f1") return UnderstandVoid(path, descr, 1, DataType::kFloat8E5M2, assume);

  const auto row = std::find_if(std::begin(kNumpyTypes), std::end(kNumpyTypes),
                                [&](const NumpyType& type) { return type.code == code; });
  if (row == std::end(kNumpyTypes)) {
    Refuse(ErrorKind::kUnsupported, path, descr, std::string(WhyNotKind(code[0])));
  }
  if (assume) {
    Refuse(ErrorKind::kArguments, path, descr,
           std::string(TypeName(row->type)) + "; --assume-type is for |V1, <V2 and <f1, which do " +
               "not name their type");
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

}  // namespace tensorcast::io

// torch's files put together byte by byte, so that each of their pickles can lie.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_IO_TORCH_BYTES_H_
#define TENSORCAST_TESTS_IO_TORCH_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zip_bytes.h"

namespace tensorcast::io {

// Opcodes by what they leave on the stack.
namespace pickle {

inline std::string Proto() { return "\x80\x02"; }
inline std::string Int(std::int32_t value) {
  return 'J' + LittleEndian(static_cast<std::uint32_t>(value), 4);
}
inline std::string Text(std::string_view text) {
  return 'X' + LittleEndian(text.size(), 4) + std::string(text);
}
inline std::string Global(const std::string& module, const std::string& name) {
  return 'c' + module + '\n' + name + '\n';
}
inline std::string Tuple(const std::vector<std::string>& items) {
  std::string bytes = "(";
  for (const std::string& item : items) bytes += item;
  return bytes + 't';
}
inline std::string Ints(const std::vector<std::int32_t>& values) {
  std::vector<std::string> items;
  for (const std::int32_t value : values) items.push_back(Int(value));
  return Tuple(items);
}
inline std::string Call(const std::string& global, const std::vector<std::string>& arguments) {
  return global + Tuple(arguments) + 'R';
}
// Keys and values in turn.
inline std::string Dict(const std::vector<std::string>& items) {
  std::string bytes = "}(";
  for (const std::string& item : items) bytes += item;
  return bytes + 'u';
}
inline std::string Storage(const std::string& type, const std::string& key, std::int32_t elements) {
  return Tuple({Text("storage"), Global("torch", type), Text(key), Text("cpu"), Int(elements)}) +
         'Q';
}
inline std::string Rebuild(const std::string& storage, std::int32_t offset,
                           const std::vector<std::int32_t>& sizes,
                           const std::vector<std::int32_t>& strides, const std::string& more = {}) {
  return Global("torch._utils", "_rebuild_tensor_v2") + '(' + storage + Int(offset) + Ints(sizes) +
         Ints(strides) + "\x89" + Call(Global("collections", "OrderedDict"), {}) + more + "tR";
}
inline std::string Whole(const std::string& value) { return Proto() + value + '.'; }

}  // namespace pickle

struct TorchData {
  std::string key;
  std::string bytes;
};

inline std::string TorchZip(const std::string& pickle, const std::vector<TorchData>& storages,
                            const std::string& byte_order = "little") {
  std::vector<ZipEntry> entries = {ZipEntry("m/data.pkl", pickle),
                                   ZipEntry("m/byteorder", byte_order)};
  for (const TorchData& one : storages) entries.emplace_back("m/data/" + one.key, one.bytes);
  return Zip(entries);
}

// Of storages with the number of elements that stands before each.
inline std::string LegacyTorch(const std::string& pickle, const std::string& keys,
                               const std::string& storages) {
  const std::string magic("\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.", 15);
  return magic + "\x80\x02M\xE9\x03." + pickle::Whole("}") + pickle + keys + storages;
}

}  // namespace tensorcast::io

#endif  // TENSORCAST_TESTS_IO_TORCH_BYTES_H_

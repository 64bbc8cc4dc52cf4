// The keys of a GGUF file: what their values are stored as, those that tell of the container
// itself, and where each stands in its file.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_GGUF_KEYS_H_
#define TENSORCAST_SRC_FORMATS_GGUF_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.h"

namespace tensorcast::formats {

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr std::uint64_t kDefaultGgufAlignment = 32;

// The format's own limits.
inline constexpr std::uint64_t kMostGgufDimensions = 4;
// Of names: ComfyUI-GGUF's, which is more than llama.cpp's own programs take.
inline constexpr std::uint64_t kMostGgufNameBytes = 127;
inline constexpr std::uint64_t kMostLlamaNameBytes = 63;

inline constexpr std::string_view kArchitectureKey = "general.architecture";
inline constexpr std::string_view kAlignmentKey = "general.alignment";
inline constexpr std::string_view kFileTypeKey = "general.file_type";
inline constexpr std::string_view kQuantizationVersionKey = "general.quantization_version";
inline constexpr std::string_view kSplitPartKey = "split.no";
inline constexpr std::string_view kSplitPartsKey = "split.count";
inline constexpr std::string_view kSplitTensorsKey = "split.tensors.count";
// ComfyUI's, with the tensor's name behind it: the shape that a tensor has, where GGUF's types or
// dimensions ask for another; int32, the slowest dimension first.
inline constexpr std::string_view kShapeKey = "comfy.gguf.orig_shape.";

// They describe this container and its blocks, and would be wrong of another.
inline constexpr std::string_view kContainerKeys[] = {kAlignmentKey,           kFileTypeKey,
                                                      kQuantizationVersionKey, kSplitPartKey,
                                                      kSplitPartsKey,          kSplitTensorsKey};

enum class GgufValue : std::uint8_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
};

// A key as it stands in a file, with its name and its value in so many bytes.
struct GgufKey {
  std::string name;
  const files::ByteSource* file = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};
// In the file's order; their reader outlives them.
using GgufKeys = std::vector<GgufKey>;

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_GGUF_KEYS_H_

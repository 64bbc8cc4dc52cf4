// npz: arrays in a ZIP archive, as numpy.savez and numpy.savez_compressed save them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_NPZ_H_
#define TENSORCAST_SRC_IO_NPZ_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/byte_source.h"
#include "io/tensor_file.h"

namespace tensorcast::io {

// What follows a tensor's name in its member's.
inline constexpr std::string_view kNpzMemberEnding = ".npy";

// Whether a file that begins so is a ZIP archive; `head` is its first 16 bytes, or all.
bool LooksLikeNpz(std::span<const std::byte> head);

// The tensors are the members, in the order of the central directory, without ".npy".
std::unique_ptr<TensorReader> OpenNpz(std::unique_ptr<ByteSource> source,
                                      const OpenOptions& options);

// Members are stored, not deflated, and their data aligned to 64 bytes in the file.
std::unique_ptr<TensorWriter> CreateNpz(const std::string& path, FileContents contents,
                                        const CreateOptions& options);

std::uint64_t CheckNpz(const std::string& path, const FileContents& contents,
                       const CreateOptions& options);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_NPZ_H_

// safetensors: one JSON header, then the tensors' bytes without gaps.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_SAFETENSORS_H_
#define TENSORCAST_SRC_IO_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/byte_source.h"
#include "io/tensor_file.h"

namespace tensorcast::io {

// Whether a file that begins so is one; `head` is its first 16 bytes, or all.
bool LooksLikeSafetensors(std::span<const std::byte> head);

std::unique_ptr<TensorReader> OpenSafetensors(std::unique_ptr<ByteSource> source,
                                              const OpenOptions& options);

std::unique_ptr<TensorWriter> CreateSafetensors(const std::string& path, FileContents contents,
                                                const CreateOptions& options);

std::uint64_t CheckSafetensors(const std::string& path, const FileContents& contents,
                               const CreateOptions& options);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_SAFETENSORS_H_

// npy: one array in a file, as numpy and ml_dtypes save it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_NPY_H_
#define TENSORCAST_SRC_IO_NPY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/byte_source.h"
#include "io/tensor_file.h"

namespace tensorcast::io {

// Whether a file that begins so is one; `head` is its first 16 bytes, or all.
bool LooksLikeNpy(std::span<const std::byte> head);

// The tensor's name is the file's, without the ending.
std::unique_ptr<TensorReader> OpenNpy(std::unique_ptr<ByteSource> source,
                                      const OpenOptions& options);

std::unique_ptr<TensorWriter> CreateNpy(const std::string& path, FileContents contents,
                                        const CreateOptions& options);

std::uint64_t CheckNpy(const std::string& path, const FileContents& contents,
                       const CreateOptions& options);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_NPY_H_

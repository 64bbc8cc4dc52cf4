// pb: one ONNX TensorProto in a file, as onnx.save_tensor writes it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_TENSOR_PROTO_H_
#define TENSORCAST_SRC_IO_TENSOR_PROTO_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/system.h"
#include "io/tensor_file.h"

namespace tensorcast::io {

// Always false: a protobuf message begins with no magic number, so the name's ending decides.
bool LooksLikeTensorProto(std::span<const std::byte> head);

// The tensor's name is its own or, where it has none, the file's without the ending.
std::unique_ptr<TensorReader> OpenTensorProto(std::unique_ptr<ByteSource> source,
                                              const OpenOptions& options);

std::unique_ptr<TensorWriter> CreateTensorProto(const std::string& path, FileContents contents,
                                                const CreateOptions& options);

std::uint64_t CheckTensorProto(const std::string& path, const FileContents& contents,
                               const CreateOptions& options);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_TENSOR_PROTO_H_

// Files of tensors as the tool opens them, and whole tensors in memory: read as a model wants them,
// written to files.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_TENSOR_FILES_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_TENSOR_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/output_options.h"
#include "formats/tensor_file.h"
#include "formats/tensor_reader.h"
#include "formats/tensor_writer.h"
#include "tensorcast/tensor_view.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// What bounds the tool's memory: deflated members go to a file where the system wants temporary
// files.
formats::OpenOptions ToolOpenOptions();

// A tensor and its values.
struct HeldTensor {
  std::string name;
  DataType type = DataType::kUndefined;
  std::vector<std::uint64_t> shape;
  std::unique_ptr<std::byte[]> data;  // `bytes` of them, dense
  std::uint64_t bytes = 0;
  text::StringPiece strings;  // of kString

  TensorView view() const;
};

// Opens a file whose one type that it does not name, if it has one (npy's |V1), is `wanted`.
std::shared_ptr<const formats::TensorReader> OpenAs(const std::string& path, DataType wanted);

// Reads a tensor that is to be `wanted`: of that type, or unsigned integers of its width, which are
// taken as its codes (UINT16 for BFLOAT16, as old ONNX files have it). `what` names what it is for:
// "input \"x\"". Throws files::Error (arguments) for another type.
HeldTensor ReadHeld(const formats::TensorReader& reader, std::size_t tensor, DataType wanted,
                    const std::string& path, const std::string& what);

// Writes tensors to one new file of the format of its name's ending, as yet under a temporary name:
// the caller commits.
std::unique_ptr<formats::TensorWriter> WriteTensors(const std::string& path,
                                                    const std::vector<std::string>& names,
                                                    const std::vector<TensorView>& tensors,
                                                    const files::CreateOptions& options);

// Throws what a status of onnx.hpp is to the tool: files::Error with the exit code of its kind,
// files::Interrupted, std::bad_alloc.
void CheckStatus(Status status, const std::string& error);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_TENSOR_FILES_H_

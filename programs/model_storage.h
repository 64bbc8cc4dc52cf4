// convert's side of ONNX models: when a model is written as a model, and what stays as it is in it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_MODEL_STORAGE_H_
#define TENSORCAST_PROGRAMS_MODEL_STORAGE_H_

#include <functional>
#include <string>
#include <vector>

#include "io/conversion.h"
#include "io/onnx_tensors.h"
#include "io/tensor_file.h"
#include "selection.h"

namespace tensorcast::tool {

// The model that is read, where a model is to be written; nullptr where none is. Throws io::Error
// (unsupported) where a model is to be written from another file.
const io::OnnxTensorReader* ModelToStore(const io::TensorReader& reader, const std::string& output);

// Takes back what cannot be stored in another type, with the reason, and what a default selection
// leaves alone (storage_defaults.h): for that it reads tensors. Throws io::Error (arguments) where
// the model's opset does not know a type, and what RunConversion throws.
void LeaveUnstorable(const io::OnnxTensorReader& model, const io::ConversionOptions& options,
                     std::vector<Decision>& decisions);

// Which types the model's opset can store a tensor of its contents in. The model must outlive it.
std::function<bool(const io::TensorInfo&, DataType)> StorableTypes(
    const io::OnnxTensorReader& model);

// The paths that are read: the file's and, of a model, those of its data files.
std::vector<std::string> InputFiles(const io::TensorReader& reader, const std::string& path);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_MODEL_STORAGE_H_

// Opens what is converted: the one place that decides what the tensors of an input are.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_INPUT_H_
#define TENSORCAST_SRC_CONVERT_INPUT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/tensor_file.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

// What an input is taken to mean; a part of the plan.
struct InputOptions {
  std::optional<DataType> assume_type;  // of npy files that do not name theirs
  bool allow_hard_links = false;        // of files that hold a model's data
  bool ignore_scales = false;           // tensors that have scales are their bare codes
};

InputOptions InputOptionsOf(const Request& request);

// Opens the input of a plan, and that of a measurement. `spool`, `interrupted`: see
// io::OpenOptions. Throws io::Error, io::Interrupted.
std::unique_ptr<io::TensorReader> OpenInput(
    const std::string& path, const InputOptions& options, const io::SpoolOptions& spool,
    std::shared_ptr<const io::CurrentInterrupt> interrupted);

// The paths that an output must not be: that of the input and of what it reads beside itself.
std::vector<std::string> InputPaths(const io::TensorReader& reader, const std::string& path);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_INPUT_H_

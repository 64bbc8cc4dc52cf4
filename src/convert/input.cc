// Files of tensors as inputs.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/input.h"

#include <utility>

namespace tensorcast::convert {

InputOptions InputOptionsOf(const Request& request) {
  return {request.assume_type, request.allow_hard_links, request.ignore_scales};
}

std::unique_ptr<io::TensorReader> OpenInput(
    const std::string& path, const InputOptions& options, const io::SpoolOptions& spool,
    std::shared_ptr<const io::CurrentInterrupt> interrupted) {
  return io::OpenTensorFile(
      path, {options.assume_type, std::move(interrupted), options.allow_hard_links, spool});
}

std::vector<std::string> InputPaths(const io::TensorReader& reader, const std::string& path) {
  std::vector<std::string> paths = reader.external_paths();
  paths.insert(paths.begin(), path);
  return paths;
}

}  // namespace tensorcast::convert

// As any input, but that the types are known which npy files leave open.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/open_made.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "files/error.h"
#include "formats/npy_dtype.h"

namespace tensorcast::convert {

namespace {

std::vector<DataType> UnnamedOf(const std::string& path, const std::set<DataType>& made) {
  std::vector<DataType> unnamed;
  if (!formats::HasEnding(path, ".npy") && !formats::HasEnding(path, ".npz")) return unnamed;
  std::ranges::copy_if(made, std::back_inserter(unnamed),
                       [](DataType type) { return !formats::MlDtypesName(type).empty(); });
  return unnamed;
}

}  // namespace

void RequireTold(const std::string& path, const std::set<DataType>& made) {
  const std::vector<DataType> unnamed = UnnamedOf(path, made);
  if (unnamed.size() < 2) return;
  throw files::Error(core::ErrorKind::kUnsupported,
                     words::PathText(path) + ": has " + std::string(TypeName(unnamed[0])) +
                         " and " + std::string(TypeName(unnamed[1])) +
                         ", which npy files do not tell apart; .safetensors does",
                     path);
}

checkpoint::OpenedInput OpenMade(const std::string& path, const std::set<DataType>& made,
                                 const files::SpoolOptions& spool,
                                 const std::atomic<bool>* interrupted) {
  formats::OpenOptions options;
  options.interrupted = std::make_shared<files::CurrentInterrupt>(interrupted);
  options.spool = spool;
  const std::vector<DataType> unnamed = UnnamedOf(path, made);
  if (unnamed.empty()) return checkpoint::OpenTensorFile(path, options);
  try {
    checkpoint::OpenedInput opened = checkpoint::OpenTensorFile(path, options);
    const auto is_open = [](const formats::TensorInfo& info) {
      return info.type == DataType::kUndefined;
    };
    if (std::ranges::none_of(opened.reader->contents().tensors, is_open)) return opened;
  } catch (const files::Error& error) {
    if (error.kind() != core::ErrorKind::kArguments) throw;  // else it asks for a type
  }
  RequireTold(path, made);
  options.assume_type = unnamed.front();
  return checkpoint::OpenTensorFile(path, options);
}

}  // namespace tensorcast::convert

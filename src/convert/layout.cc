// From decisions to jobs and to what the output holds.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>

#include "convert/file_plan.h"
#include "io/error_text.h"

namespace tensorcast::convert {

using io::Error;
using io::ErrorKind;

void LayOut(const io::TensorReader& reader, const std::string& path,
            const std::vector<std::size_t>* taken, FilePlan& plan) {
  const std::vector<io::TensorInfo>& tensors = reader.contents().tensors;
  const std::size_t count = taken != nullptr ? taken->size() : tensors.size();
  plan.jobs.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    TensorJob& job = plan.jobs.emplace_back();
    job.tensor = taken != nullptr ? (*taken)[k] : k;
    job.output = k;
    const DataType to = plan.decisions[job.tensor].to;
    if (to == DataType::kUndefined) continue;
    job.to = {to};
    const io::TensorInfo& info = tensors[job.tensor];
    if (to == DataType::kString || StorageBytes(to, info.elements)) continue;
    throw Error(ErrorKind::kContents, io::PathText(path) + ": " + io::EscapeName(info.name) +
                                          " has more " + std::string(TypeName(to)) +
                                          " elements than 64 bits can count the bytes of");
  }
}

io::FileContents ContentsOf(const io::TensorReader& reader, const FilePlan& plan) {
  const io::FileContents& input = reader.contents();
  io::FileContents output;
  // A checkpoint's metadata is not of one of its tensors.
  if (plan.jobs.size() + plan.left_out == input.tensors.size()) output.metadata = input.metadata;
  output.is_dequantised = input.is_dequantised;
  output.tensors.reserve(plan.jobs.size());
  for (const TensorJob& job : plan.jobs) {
    io::TensorInfo& info = output.tensors.emplace_back(input.tensors[job.tensor]);
    if (const auto text = plan.texts.find(job.output); text != plan.texts.end()) {
      info.text = text->second;
    }
    if (job.to.empty()) continue;
    info.type = job.to.front();
    info.dtype.clear();  // the format's own word for it
    info.layout = {};
    info.bytes = info.type == DataType::kString ? 0 : *StorageBytes(info.type, info.elements);
  }
  return output;
}

}  // namespace tensorcast::convert

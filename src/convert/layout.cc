// From decisions to jobs and to what the output holds.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>

#include "convert/plan.h"
#include "io/error_text.h"

namespace tensorcast::convert {

using io::Error;
using io::ErrorKind;

void LayOut(const io::TensorReader& reader, const std::string& path,
            const std::vector<std::size_t>* taken, FilePlan& plan) {
  const io::FileContents& input = reader.contents();
  const std::size_t count = taken != nullptr ? taken->size() : input.tensors.size();
  // A checkpoint's metadata is not of one of its tensors.
  if (count == input.tensors.size()) plan.output.metadata = input.metadata;
  plan.output.tensors.reserve(count);
  plan.jobs.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    TensorJob& job = plan.jobs.emplace_back();
    job.tensor = taken != nullptr ? (*taken)[k] : k;
    job.output = k;
    io::TensorInfo& info = plan.output.tensors.emplace_back(input.tensors[job.tensor]);
    const DataType to = plan.decisions[job.tensor].to;
    if (to == DataType::kUndefined) continue;
    job.to = {to};
    info.type = to;
    info.dtype.clear();  // the format's own word for it
    info.bytes = 0;
    if (to == DataType::kString) continue;
    const std::optional<std::uint64_t> bytes = StorageBytes(to, info.elements);
    if (!bytes) {
      throw Error(ErrorKind::kContents, io::PathText(path) + ": " + io::EscapeName(info.name) +
                                            " has more " + std::string(TypeName(to)) +
                                            " elements than 64 bits can count the bytes of");
    }
    info.bytes = *bytes;
  }
}

}  // namespace tensorcast::convert

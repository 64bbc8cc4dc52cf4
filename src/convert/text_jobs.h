// The streaming job's other half: tensors of strings, parsed, printed and copied in bounded memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_TEXT_JOBS_H_
#define TENSORCAST_SRC_CONVERT_TEXT_JOBS_H_

#include <cstdint>
#include <functional>

#include "convert/runner.h"
#include "formats/tensor_reader.h"
#include "formats/tensor_writer.h"

namespace tensorcast::convert {

// Whether a job reads strings or makes them.
bool IsTextJob(const formats::TensorReader& reader, const TensorJob& job);

// What the texts take that a job will write: the tensor is read, and where it holds numbers it is
// printed. A writer needs it before it begins (TensorInfo::text). Of `options` the progress counts
// this tensor alone. Throws as RunJobs does.
text::TextSize MeasureTexts(const formats::TensorReader& reader, const TensorJob& job,
                            const JobOptions& options);

// Runs one job, chunk after chunk, with the executor inside each. Calls `done` after a chunk with
// the bytes of the input's tensor that it took and the bytes that it wrote. Throws Error (the text
// with the lowest index that is no number), Interrupted, std::bad_alloc.
using TextProgress = std::function<void(std::uint64_t read, std::uint64_t written)>;
void RunTextJob(const formats::TensorReader& reader, const TensorJob& job,
                formats::TensorWriter& writer, const JobOptions& options, const TextProgress& done);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_TEXT_JOBS_H_

// What is decided of one file before the first value is read: which tensors become what, and the
// jobs that make them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_PLAN_H_
#define TENSORCAST_SRC_CONVERT_PLAN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "convert/runner.h"
#include "convert/selection.h"
#include "convert/sink.h"
#include "io/scale_companions.h"
#include "io/tensor_file.h"

namespace tensorcast::convert {

struct FilePlan {
  io::ScaleCompanions scales;
  std::vector<Decision> decisions;  // of each of the input's tensors
  std::vector<TensorJob> jobs;      // one for each of the output's, in its order
  io::FileContents output;
};

// Plans the conversion of a file; RequireMatches has been asked. `options`: of a sink that reads
// tensors to decide. With `ignore_scales` tensors that have scales are cast by their bare codes;
// without, they are refused. Throws io::Error, and what Sink::Restrict throws.
FilePlan PlanFile(const io::TensorReader& reader, const std::string& path, const Sink& sink,
                  const SelectionRequest& request, bool ignore_scales, const JobOptions& options);

// The rest of it, of decisions however they were taken: `jobs` and `output`, of the tensors `taken`
// or of all. Throws io::Error (contents) where a tensor would be too large to count.
void LayOut(const io::TensorReader& reader, const std::string& path,
            const std::vector<std::size_t>* taken, FilePlan& plan);

// Sets what texts will take, where the sink must know it: reads and prints them. Checks before that
// the output can be made. Throws as RunJobs.
void MeasureTexts(const io::TensorReader& reader, const Sink& sink, const io::CreateOptions& create,
                  const JobOptions& options, FilePlan& plan);

// The paths that an output must not be: that of the input and of what it reads beside itself.
std::vector<std::string> InputPaths(const io::TensorReader& reader, const std::string& path);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_PLAN_H_

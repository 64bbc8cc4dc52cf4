// What is decided of one file before the first value is read: which tensors become what, and the
// jobs that make them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_FILE_PLAN_H_
#define TENSORCAST_SRC_CONVERT_FILE_PLAN_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "convert/decide.h"
#include "convert/new_names.h"
#include "convert/runner.h"
#include "convert/selection.h"
#include "convert/shared_globals.h"
#include "convert/sink.h"
#include "convert/written_config.h"
#include "files/output_options.h"
#include "formats/tensor_reader.h"
#include "scale/scaled_reader.h"

namespace tensorcast::convert {

struct FilePlan {
  // The input, with the scales of those applied that are cast.
  std::shared_ptr<const formats::TensorReader> reader;
  const scale::ScaledReader* scaled = nullptr;  // the reader, where it applies scales
  std::vector<Decision> decisions;              // of each of the input's tensors
  std::vector<TensorJob> jobs;                  // one for each of the output's, in its order
  // Of each of the reader's tensors the name in the output; empty: they keep theirs.
  std::vector<std::string> names;
  // What the texts that jobs make will take, where the sink must know it; by job.
  std::map<std::size_t, text::TextSize> texts;
  OutputConfig config;  // of the scaled weights that are made
  // Tensors that have no job because they only serve weights whose scales are applied.
  std::size_t left_out = 0;
  bool repacks = false;      // weights go into another layout as they are
  bool repacks_all = false;  // no weight stays in the one it had
  std::vector<FusedFile> fused;
  std::unique_ptr<SharedGlobals> globals;  // of jobs that make global scales

  // What a tensor of the reader's is called in the output.
  const std::string& NameOf(std::size_t tensor) const {
    return names.empty() ? reader->contents().tensors[tensor].name : names[tensor];
  }
};

// The jobs of what is decided, and what serves them. Throws files::Error.
FilePlan PlanFile(const Survey& survey, Decided decided, const Sink& sink,
                  const std::string& output, const NewNames& names = {});

// Refuses scaled weights in an output that cannot hold them: none (unsupported), or none in the
// layout of models (arguments). Throws files::Error.
void CheckScaled(const Sink& sink, const std::string& path, std::span<const TensorJob> jobs);

// The jobs of decisions however they were taken, for the tensors `taken` or for all. Throws
// files::Error (contents) where a tensor would be too large to count.
void AddJobs(const formats::TensorReader& reader, const std::string& path,
             const std::vector<std::size_t>* taken, FilePlan& plan);

// What the output holds. Made when it is asked for: of a checkpoint of many tensors it takes as
// much memory as the input's.
formats::FileContents ContentsOf(const formats::TensorReader& reader, const FilePlan& plan);

// Sets what texts will take, where the sink must know it: reads and prints them. Checks before that
// the output can be made. Throws as RunJobs.
void MeasureTexts(const formats::TensorReader& reader, const Sink& sink,
                  const files::CreateOptions& create, const JobOptions& options, FilePlan& plan);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_FILE_PLAN_H_

// Several destination types beside each other: what is cast to which of them, and what each loses.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_COMMANDS_COMPARISON_H_
#define TENSORCAST_PROGRAMS_COMMANDS_COMPARISON_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convert/exponents.h"
#include "convert/runner.h"
#include "convert/selection.h"
#include "convert/sink.h"
#include "display/notices.h"
#include "display/tool_json.h"
#include "formats/tensor_reader.h"
#include "report/keep_advice.h"
#include "report/packed_reports.h"
#include "tensorcast/report.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// What one destination type does to the file.
struct Candidate {
  convert::Goal to;
  std::uint64_t bytes = 0;           // of all the file's tensors
  std::uint64_t cast_bytes = 0;      // of those that are cast, scales included
  LossReport total;                  // over all cast
  std::unique_ptr<LossMeter> meter;  // gathers the total of a scaled format
  LossSum sum;
};

// One bit for each type, in the order of --to: all types and scaled formats, 35, may be asked for
// at once. Beyond its size set() throws.
using TypeSet = std::bitset<64>;

// What was measured of each tensor, kept for a report.
struct ComparedTensors {
  std::vector<report::PackedReports> reports;  // of each type, in the order of the file
  // Of each type and tensor of the file one more than its place among these; 0: it has none.
  std::vector<std::vector<std::uint32_t>> places;
  std::vector<convert::ExponentCounts> exponents;  // of each tensor of the file

  ComparedTensors(std::size_t types, std::size_t tensors)
      : reports(types), places(types, std::vector<std::uint32_t>(tensors)), exponents(tensors) {}
};

// What is cast to which of the types.
struct Comparison {
  std::vector<Candidate> candidates;
  std::vector<TypeSet> cast_to;  // one for each tensor
  // The tensors that rules take, and their types: the same whatever the others are cast to, so that
  // they count in the bytes and are not compared.
  std::map<std::size_t, convert::Goal> ruled;
  std::uint64_t data_bytes = 0;  // of the tensors as they are stored
  std::vector<Notice> notices;
  std::unique_ptr<convert::Sink> sink;
  std::unique_ptr<ComparedTensors> kept;  // null: nothing is

  // What one of the types is to a tensor: in a model scales stand along the axis of its channels.
  convert::Goal GoalFor(const convert::Goal& to, std::size_t tensor) const {
    return to.scaled ? convert::Goal{to.type, sink->FormOf(tensor, to.scaled)} : to;
  }
};

// The bytes of a tensor that is cast.
std::uint64_t BytesOf(const convert::Goal& goal, const formats::TensorInfo& info);

// Measures the tensors that are cast to one of `types`, in one pass over the file; `keep` gets
// each report, in the order of the file.
using KeepReport =
    std::function<void(std::size_t type, std::size_t tensor, const LossReport& loss)>;
void MeasurePass(const formats::TensorReader& reader, Comparison& comparison, const TypeSet& types,
                 convert::JobOptions options, const KeepReport& keep);

// Where keeping all tensors of a kind would pay, under one type; `decibel` is asked for the k-th of
// the tensors that are cast, which is tensor i.
std::optional<report::KeepAdvice> AdviceFor(
    const std::vector<formats::TensorInfo>& tensors, const Comparison& comparison, std::size_t type,
    const std::function<double(std::size_t k, std::uint32_t i)>& decibel);

struct CompareOptions {
  std::string input;  // as it was given
  bool verbose = false;
  std::vector<LossLimit> limits;
  convert::JobOptions jobs;
};
// Measure, and print what was measured: tables, or JSON.
void CompareForPeople(const formats::TensorReader& reader, Comparison& comparison,
                      const CompareOptions& options);
void CompareForPrograms(const formats::TensorReader& reader, Comparison& comparison,
                        const CompareOptions& options);
// The same JSON of what was kept.
void PrintComparisonJson(const formats::TensorReader& reader, const Comparison& comparison,
                         const CompareOptions& options, const TakeText& print);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_COMMANDS_COMPARISON_H_

// A conversion done again and held against the output that stands: every tensor is made of the
// input as a run would write it, and compared with what the output has, bit by bit.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_VERIFICATION_H_
#define TENSORCAST_SRC_CONVERT_VERIFICATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "convert/conversion_plan.h"
#include "convert/run_conversion.h"
#include "convert/sink.h"
#include "formats/tensor_info.h"

namespace tensorcast::convert {

// The worst first.
enum class Fault : std::uint8_t {
  kMissing,  // a tensor of the conversion that the output has not
  kExtra,    // one of the output that the conversion does not make
  kType,
  kShape,
  kBytes,
  kLoss,  // the bytes are right; what its cast lost is not what the record says
};

// A tensor that is not what the conversion makes.
struct FaultyTensor {
  std::string name;  // any bytes
  Fault fault = Fault::kMissing;
  std::string made = {}, found = {};  // kType, kShape: in words
  std::uint64_t different = 0;        // kBytes: how many differ, and the first
  std::uint64_t first = 0;
  bool is_text = false;  // kBytes: these are texts, not bytes
};

struct Verification {
  std::uint64_t tensors = 0;         // that the conversion makes
  std::uint64_t bytes = 0;           // of the output that were compared
  std::vector<FaultyTensor> faulty;  // the worst first, then as the conversion has them
  std::vector<FaultyFile> files;

  bool IsRight() const { return faulty.empty() && files.empty(); }
};

inline constexpr std::size_t kNotFound = SIZE_MAX;

// Which of the tensors that stand has each of these names, or kNotFound. Those that are missing,
// and those that are too many, are put among the faulty.
std::vector<std::size_t> FindByName(std::span<const std::string> names,
                                    const std::vector<formats::TensorInfo>& found,
                                    Verification& verification);

// What casts lost, by the names of their tensors: FiguresOf.
using RecordedLosses = std::map<std::string, std::string, std::less<>>;

// All figures of a loss as JSON, exactly: the same text of the same figures.
std::string FiguresOf(const LossReport& loss);

// Makes again what the plan, which is of one file, says of the output at its name. Where a record
// has them, `losses` are held against what is lost now. Memory is that of a run. Throws what
// opening and reading the two throw.
Verification Verify(PlanState& state, const RunSettings& settings, const RecordedLosses& losses);

// The request of which the output holds the result, as its tensors' types tell: of those that both
// have by name. `request` has the two files, and how they are read. Throws files::Error (arguments)
// where types do not tell it: weights are scaled.
void AskAsOutputTells(Request& request, const files::SpoolOptions& spool);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_VERIFICATION_H_

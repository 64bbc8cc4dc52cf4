// Weights of an open file that are codes times scales: found, and read as values.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_SCALED_WEIGHTS_H_
#define TENSORCAST_PYTHON_SCALED_WEIGHTS_H_

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/open_tensor_file.h"
#include "convert/survey.h"
#include "scale/scaled_reader.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

// Several threads may use one. Its functions may read files, and throw io::Error.
class WeightsOfFile {
 public:
  // `path` is what it was opened by.
  WeightsOfFile(io::OpenedInput opened, std::string path);

  // The weights whose scales can be applied, in the order of their codes.
  const std::vector<scale::ScaledWeight>& Applicable();
  // Tensors that are codes, or serve some, and whose scales cannot be applied; by index.
  std::vector<std::size_t> Refused();
  // Says why one of them is not cast: throws.
  [[noreturn]] void Refuse(std::size_t tensor, DataType to);
  // The file with each such weight in the place of its codes, as float64 that may be cast to `to`:
  // then what was rounded is the exact product, once.
  std::shared_ptr<const scale::ScaledReader> ReaderFor(DataType to);
  // A line for each weight with scales that no quantiser writes, of what was read so far.
  std::vector<std::string> Findings();

 private:
  // Found when it is first asked for: not every file's scales are.
  const convert::Survey& Survey();

  const io::OpenedInput opened_;
  const std::string path_;
  std::mutex mutex_;  // guards what follows
  std::optional<convert::Survey> survey_;
  std::array<std::shared_ptr<const scale::ScaledReader>, 2> readers_;  // by scale::Rounding
};

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_SCALED_WEIGHTS_H_

// See scaled_weights.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "scaled_weights.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "convert/scaled_tensors.h"
#include "convert/selection.h"

namespace tensorcast::python {
WeightsOfFile::WeightsOfFile(io::OpenedInput opened, std::string path)
    : opened_(std::move(opened)), path_(std::move(path)) {}

const convert::Survey& WeightsOfFile::Survey() {
  const std::lock_guard lock(mutex_);
  if (!survey_) survey_ = convert::SurveyOf(opened_, path_, false);
  return *survey_;  // never changed again
}

const std::vector<scale::ScaledWeight>& WeightsOfFile::Applicable() {
  return Survey().scales.weights.weights;
}

std::vector<std::size_t> WeightsOfFile::Refused() {
  const convert::InputScales& scales = Survey().scales;
  std::unordered_set<std::size_t> applied;
  for (const scale::ScaledWeight& one : scales.weights.weights) applied.insert(one.codes);
  std::vector<std::size_t> refused;
  for (const scale::UnreadWeight& one : scales.weights.unread) refused.push_back(one.tensor);
  for (const scale::OpaqueTensor& one : scales.weights.opaque) refused.push_back(one.tensor);
  for (const scale::ScaledTensor& one : scales.companions.scaled) {
    if (!applied.contains(one.tensor)) refused.push_back(one.tensor);
  }
  return refused;
}

void WeightsOfFile::Refuse(std::size_t tensor, DataType to) {
  const convert::Survey& survey = Survey();
  for (const scale::OpaqueTensor& one : survey.scales.weights.opaque) {
    if (one.tensor == tensor) convert::RefuseOpaque(one, survey.tensors()[tensor]);
  }
  std::vector<convert::Decision> decisions(survey.tensors().size());
  decisions.at(tensor).to = to;
  convert::RefuseScaled(survey, decisions);
  throw io::Error(io::ErrorKind::kArguments, "the tensor has no scales");
}

std::shared_ptr<const scale::ScaledReader> WeightsOfFile::ReaderFor(DataType to) {
  const std::vector<scale::ScaledWeight>& weights = Applicable();
  const scale::Rounding rounding = convert::RoundingFor(to);
  const std::lock_guard lock(mutex_);
  auto& reader = readers_.at(static_cast<std::size_t>(rounding));
  if (reader == nullptr) {
    std::vector<scale::AppliedWeight> applied;
    applied.reserve(weights.size());
    for (const scale::ScaledWeight& one : weights) applied.push_back({one, rounding});
    reader = std::make_shared<scale::ScaledReader>(opened_.reader, std::move(applied), false);
  }
  return reader;
}

std::vector<std::string> WeightsOfFile::Findings() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& reader : readers_) {
    if (reader == nullptr) continue;
    for (std::string& line : reader->Findings()) {
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
        lines.push_back(std::move(line));
      }
    }
  }
  return lines;
}

}  // namespace tensorcast::python

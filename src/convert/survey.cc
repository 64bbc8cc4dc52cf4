// Three looks, each at what the one before left open: names and shapes, configurations and marks,
// then what only sounds like a scale.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/survey.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "convert/bare_weights.h"
#include "convert/component_scales.h"
#include "files/system_directory.h"
#include "scale/graph_companions.h"
#include "scale/quantization_config.h"

namespace tensorcast::convert {
namespace {

// What a configuration beside the tensors says. Where no scales are applied only names are told by
// it, and one that cannot be read keeps nothing from being converted: it is taken to say that
// tensors are quantised.
scale::QuantizationConfig ReadConfig(const std::string& path, bool applies_scales) {
  try {
    return scale::ReadQuantizationConfig(path);
  } catch (const files::Error&) {
    if (applies_scales) throw;
  }
  scale::QuantizationConfig config;
  config.says_quantised = true;
  return config;
}

// `model`: the reader itself where it is a model's.
InputScales FindScales(const formats::TensorReader& reader, const formats::OnnxTensorReader* model,
                       const std::string& path, bool is_directory, bool ignore_scales) {
  scale::QuantizationConfig config = ReadConfig(path, model == nullptr && !ignore_scales);
  InputScales scales;
  scales.companions = scale::FindScaleCompanions(reader.contents(), path, config);
  scales.is_ignored = ignore_scales;
  if (model != nullptr) {
    scale::AddGraphCompanions(*model, scales.companions);
    return scales;
  }
  if (!ignore_scales) {
    scales.weights = scale::FindScaledWeights(reader, path, scales.companions, std::move(config));
    std::vector<scale::Companion>& companions = scales.companions.companions;
    std::ranges::move(scales.weights.companions, std::back_inserter(companions));
    std::ranges::sort(companions, {}, &scale::Companion::tensor);
  }
  FindBareWeights(reader.contents().tensors, path, is_directory, scales);
  return scales;
}

InputScales FindScalesOfComponents(const checkpoint::OpenedInput& opened, const std::string& path,
                                   bool ignore_scales) {
  InputScales all;
  all.is_ignored = ignore_scales;
  for (std::uint32_t i = 0; i < opened.checkpoint->parts().size(); ++i) {
    const auto component = std::make_shared<ComponentReader>(opened.reader, *opened.checkpoint, i);
    AddComponent(component,
                 FindScales(*component, nullptr, files::Joined(path, component->part().directory),
                            true, ignore_scales),
                 all);
  }
  return all;
}

}  // namespace

InputOptions InputOptionsOf(const Request& request) {
  return {request.assume_type, request.allow_hard_links, request.ignore_scales, request.root};
}

formats::OpenOptions OpenOptionsOf(const Opening& opening) {
  const InputOptions& inputs = opening.inputs;
  return {inputs.assume_type, opening.interrupted, inputs.allow_hard_links,
          opening.spool,      inputs.root,         opening.passed_over};
}

Survey OpenSurvey(const std::string& path, const Opening& opening) {
  return SurveyOf(checkpoint::OpenTensorFile(path, OpenOptionsOf(opening)), path,
                  opening.inputs.ignore_scales);
}

Survey SurveyOf(checkpoint::OpenedInput opened, const std::string& path, bool ignore_scales) {
  Survey survey{path, std::move(opened), {}};
  const checkpoint::OpenedInput& input = survey.opened;
  survey.scales = survey.IsPipeline() ? FindScalesOfComponents(input, path, ignore_scales)
                                      : FindScales(*input.reader, input.model, path,
                                                   input.checkpoint != nullptr, ignore_scales);
  return survey;
}

std::vector<std::string> InputPaths(const formats::TensorReader& reader, const std::string& path) {
  std::vector<std::string> paths = reader.external_paths();
  paths.insert(paths.begin(), path);
  return paths;
}

}  // namespace tensorcast::convert

// transformers reads "quantization_config" of a component's config.json. diffusers reads one too,
// but of other methods than those that are written here.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/component_loaders.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "files/error.h"

namespace tensorcast::convert {
namespace {

// A pipeline's own code may define a class on top of transformers', whose configuration tells it.
bool IsLoadedByTransformers(const Survey& survey, std::uint32_t part) {
  return survey.opened.checkpoint->parts()[part].library == "transformers" ||
         !survey.scales.ConfigOf(part).architecture.empty();
}

// "unet (UNet2DConditionModel) and vae (AutoencoderKL)".
template <class Text>
std::string Listed(const std::vector<std::uint32_t>& parts, const Text& text) {
  std::string all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) all += i + 1 < parts.size() ? ", " : " and ";
    all += text(parts[i]);
  }
  return all;
}

}  // namespace

void RefuseUnloadable(const Survey& survey, std::span<const Decision> decisions) {
  if (!survey.IsPipeline()) return;
  const std::span<const checkpoint::CheckpointPart> parts = survey.opened.checkpoint->parts();
  const auto name = [&](std::uint32_t part) {
    const std::string& directory = parts[part].directory;
    return words::EscapeName(directory.substr(0, directory.size() - 1));
  };
  std::vector<const scale::WrittenForm*> made(survey.parts());  // the first of each
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const scale::WrittenForm& form = decisions[i].scaled;
    if (!form) continue;
    const std::uint32_t part = survey.PartOf(i);
    if (!IsLoadedByTransformers(survey, part)) {
      if (made[part] == nullptr) made[part] = &form;
    } else if (form.dialect == nullptr || !form.dialect->is_read_by_transformers) {
      throw files::Error(core::ErrorKind::kUnsupported,
                         words::PathText(survey.path) + ": " + name(part) +
                             " is loaded by transformers, which does not read " + form.Text() +
                             "; ask for another layout, or convert this component by itself",
                         survey.path);
    }
  }
  std::vector<std::uint32_t> refused;
  for (std::uint32_t part = 0; part < made.size(); ++part) {
    if (made[part] != nullptr) refused.push_back(part);
  }
  if (refused.empty()) return;
  const std::string& library = parts[refused.front()].library;
  throw files::Error(
      core::ErrorKind::kUnsupported,
      words::PathText(survey.path) + ": " +
          Listed(refused,
                 [&](std::uint32_t part) {
                   return name(part) + " (" + words::EscapeName(parts[part].class_name) + ")";
                 }) +
          (refused.size() == 1 ? " is" : " are") + " loaded by " + words::EscapeName(library) +
          ", which does not read " + made[refused.front()]->Text() + "; exclude " +
          Listed(refused, [&](std::uint32_t part) { return "'" + name(part) + "/*'"; }) +
          ", or cast " + (refused.size() == 1 ? "it" : "them") + " to an element type",
      survey.path);
}

}  // namespace tensorcast::convert

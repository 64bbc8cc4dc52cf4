// A dialect says what its own weights need; what is decided here is who speaks where weights of the
// input stay beside those that are made.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/written_config.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "checkpoint/model_config.h"
#include "convert/file_plan.h"
#include "convert/quantised_modules.h"
#include "convert/renamed_config.h"
#include "convert/survey.h"
#include "files/error.h"
#include "files/system_directory.h"
#include "scale/written_form.h"

namespace tensorcast::convert {
namespace {

using scale::Dialect;
using scale::QuantisedModules;
using scale::WrittenConfig;

[[noreturn]] void RefuseConfig(const std::string& path, const std::string& why) {
  throw files::Error(core::ErrorKind::kUnsupported, words::PathText(path) + ": " + why, path);
}

// The configuration of the weights that are made, as if there were no others.
WrittenConfig WrittenAlone(const std::string& path, const QuantisedModules& modules) {
  if (modules.written.empty()) return {};
  const scale::WrittenForm& first = modules.written.front().form;
  const Dialect& dialect = *first.dialect;
  for (const scale::WrittenGroup& group : modules.written) {
    const bool is_said_together =
        group.form.dialect == &dialect &&
        ((group.form.format == first.format && group.form.integers == first.integers) ||
         first.IsOfModel() || dialect.says_several_formats);
    if (is_said_together) continue;
    std::string several, last;  // "a, b or c"
    for (const Dialect* const one : scale::Dialects()) {
      if (!one->says_several_formats) continue;
      if (!last.empty()) several.append(several.empty() ? "" : ", ").append(last);
      last = one->layout;
    }
    if (!several.empty()) several += " or ";
    several += last;
    RefuseConfig(path, first.Text() + " and " + group.form.Text() +
                           " in one model; only several formats of " + several +
                           " have a configuration: name that layout, or one format");
  }
  if (!dialect.only_format.empty() && !formats::HasEnding(path, dialect.only_format)) {
    RefuseConfig(path, std::string(dialect.name) + " reads one " +
                           std::string(dialect.only_format) + " file, no directory");
  }
  return dialect.write_config != nullptr ? dialect.write_config(modules) : WrittenConfig();
}

// Whether weights are stored as the form that others are made in stores its own.
bool IsOfForm(const scale::KeptWeight& kept, const scale::WrittenForm& form) {
  if (kept.weight == nullptr) return false;
  const scale::Reading& reading = kept.weight->reading;
  if (form.format == nullptr) return false;
  return reading.dialect == form.dialect && reading.Name() == form.format->name &&
         (form.format->cells != scale::CellsBy::kBlocks ||
          (reading.partition.block_rows == form.format->block_rows &&
           reading.partition.block_columns == form.format->block_columns));
}

// The configuration of modules some of which are kept. `written`: the configuration of those that
// are made, as if they were alone. Empty texts: the input's stay as they are.
WrittenConfig KeptConfig(const std::string& path, const QuantisedModules& modules,
                         const scale::QuantizationConfig& config, WrittenConfig written) {
  const std::unordered_set<std::string_view> freed(modules.freed.begin(), modules.freed.end());
  for (const scale::KeptWeight& kept : modules.kept) {
    if (config.file.empty() || !freed.contains(kept.module)) continue;
    RefuseConfig(path,
                 "one weight of " + words::EscapeName(kept.module) +
                     " keeps its scales and another does not; a configuration names the whole "
                     "layer: cast both or none");
  }
  const Dialect* const dialect = config.dialect;
  if (modules.written.empty()) {
    // How a method that is not known names layers is not known either.
    const bool is_edited = !modules.freed.empty() && !config.file.empty() && dialect != nullptr &&
                           dialect->edit_config != nullptr;
    return is_edited ? dialect->edit_config(modules, config) : WrittenConfig();
  }
  const scale::WrittenForm& form = modules.written.front().form;
  std::string unclear = modules.kept.front().module;
  if (!config.file.empty()) {
    if (dialect == form.dialect && dialect->join_config != nullptr) {
      if (auto joined = dialect->join_config(modules, config, &unclear)) return *std::move(joined);
    }
  } else {
    const auto other = std::ranges::find_if(
        modules.kept, [&](const scale::KeptWeight& kept) { return !IsOfForm(kept, form); });
    // What is described layer by layer may be of any kinds.
    if (other == modules.kept.end() || !form.dialect->metadata_key.empty()) return written;
    unclear = other->module;
  }
  const auto found = std::ranges::find(modules.kept, unclear, &scale::KeptWeight::module);
  RefuseConfig(path,
               words::EscapeName(unclear) + " stays " +
                   (found->weight != nullptr ? found->weight->LayoutText() : "as it is quantised") +
                   " and others become " + form.Text() +
                   "; one configuration cannot say both: cast all of them, or none" +
                   (found->weight != nullptr ? ", or make all plain (bfloat16) first" : ""));
}

// Weights that stay in another layout than that which all others are put into are none that the
// configuration speaks of. Says so.
std::string LeaveForeign(QuantisedModules& modules) {
  const Dialect* const dialect = modules.written.front().form.dialect;
  std::size_t count = 0;
  std::string first;
  std::erase_if(modules.kept, [&](const scale::KeptWeight& kept) {
    if (kept.weight != nullptr && kept.weight->reading.dialect == dialect) return false;
    if (count++ == 0) {
      first = words::EscapeName(kept.module) + " stays " +
              (kept.weight != nullptr ? kept.weight->LayoutText() : "as it is quantised");
    }
    modules.plain.push_back(kept.module);
    return true;
  });
  if (count == 0) return {};
  return first + (count > 1 ? ", and so do " + std::to_string(count - 1) + " more" : "") +
         ", which the configuration of the others does not mention";
}

// Descriptions of layers in the metadata of a file, which stay beside others.
void KeepDescriptions(const formats::FileContents& contents, const QuantisedModules& modules,
                      const std::map<std::string, std::string>& made, WrittenConfig& config) {
  for (const Dialect* const dialect : scale::Dialects()) {
    const auto old = contents.metadata.find(std::string(dialect->metadata_key));
    if (dialect->metadata_key.empty() || old == contents.metadata.end()) continue;
    const auto added = made.find(old->first);
    std::string text = dialect->edit_metadata(old->second, modules,
                                              added != made.end() ? added->second : std::string());
    if (!text.empty()) config.metadata[old->first] = std::move(text);
  }
}

// The type that a part of the model is built in; kUndefined: nothing that the plan makes or leaves
// says it. Scales, and codes that stay, say nothing of it.
DataType ModelTypeOf(const Survey& survey, const FilePlan& plan, std::uint32_t part) {
  const std::vector<formats::TensorInfo>& tensors = plan.reader->contents().tensors;
  const InputScales& scales = survey.scales;
  std::vector<bool> serves(tensors.size()), holds_codes(tensors.size());
  for (const scale::Companion& one : scales.companions.companions) serves[one.tensor] = true;
  for (const scale::ScaledTensor& one : scales.companions.scaled) holds_codes[one.tensor] = true;
  for (const scale::OpaqueTensor& one : scales.weights.opaque) holds_codes[one.tensor] = true;
  checkpoint::ModelTypeCount count;
  for (const TensorJob& job : plan.jobs) {
    const formats::TensorInfo& info = tensors[job.tensor];
    const bool stays = job.to.empty();
    if (survey.PartOf(job.tensor) != part || job.scaled || job.repacked != nullptr ||
        serves[job.tensor] || (stays && holds_codes[job.tensor])) {
      continue;
    }
    count.Add(stays ? info.type : job.to.front(), info.elements);
  }
  return count.Most();
}

// Whether a part of the input has weights with scales.
bool HasScaled(const Survey& survey, std::uint32_t part) {
  return std::ranges::any_of(survey.scales.companions.scaled, [&](const scale::ScaledTensor& one) {
    return survey.PartOf(one.tensor) == part;
  });
}

}  // namespace

OutputConfig ConfigOf(const Survey& survey, const std::string& path, const FilePlan& plan,
                      const NewNames& names, bool names_type) {
  OutputConfig config;
  const bool is_pipeline = survey.IsPipeline();
  std::vector<bool> is_changed(survey.parts(), !is_pipeline);
  for (const TensorJob& job : plan.jobs) {
    if (job.scaled || job.repacked != nullptr || !job.to.empty()) {
      is_changed[survey.PartOf(job.tensor)] = true;
    }
  }
  for (std::uint32_t part = 0; part < survey.parts(); ++part) {
    if (!is_changed[part]) continue;
    const std::string directory(survey.DirectoryOf(part));
    const std::string whole = is_pipeline ? files::Joined(path, directory) : path;
    // Where weights stay quantised what the input says of them is edited, in which layers have
    // their old names.
    QuantisedModules modules = ModulesOf(survey, plan, part, false);
    if (names.HasAny() && modules.kept.empty()) modules = ModulesOf(survey, plan, part, true);
    if (plan.repacks && !modules.written.empty()) config.note = LeaveForeign(modules);
    WrittenConfig texts = WrittenAlone(whole, modules);
    if (!modules.kept.empty()) {
      const std::map<std::string, std::string> made = texts.metadata;
      texts = KeptConfig(whole, modules, survey.scales.ConfigOf(part), std::move(texts));
      KeepDescriptions(plan.reader->contents(), modules, made, texts);
      if (names.HasAny()) RenameLayers(survey, plan, part, names, whole, texts);
    }
    formats::Configuration& said = config.configurations[directory];
    said.is_dequantised =
        is_pipeline ? modules.kept.empty() && modules.written.empty() && HasScaled(survey, part)
                    : plan.reader->contents().is_dequantised || plan.repacks_all;
    if (names_type) said.model_type = ModelTypeOf(survey, plan, part);
    said.quantization_config = std::move(texts.quantization_config);
    said.files = std::move(texts.files);
    config.metadata.merge(texts.metadata);
  }
  return config;
}

}  // namespace tensorcast::convert

// tensorcast loss: several target types compared side by side; nothing is written.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cast_flags.h"
#include "commands.h"
#include "conversion_summary.h"
#include "io/conversion.h"
#include "io/tensor_file.h"
#include "loss_json.h"
#include "process.h"
#include "progress_display.h"
#include "quantities.h"
#include "scaled_tensors.h"
#include "streams.h"
#include "terminal.h"
#include "text_table.h"
#include "type_argument.h"

namespace tensorcast::tool {
namespace {

using io::Error;
using io::ErrorKind;

struct LossFlags {
  CastFlags cast;
  std::string input;
  std::vector<std::string> to;
};

constexpr const char* kDescription =
    R"(Compare what several types would lose. Nothing is written.

Examples:
  tensorcast loss model.safetensors --to float8e4m3fn --to float8e5m2 --to bfloat16
  tensorcast loss model.safetensors --to fp16,bf16 --tensor '*.weight' --json
  tensorcast loss weights.npy --to float4e2m1

All types are measured in one pass over the file.
)";

// What one destination type does to the file.
struct Candidate {
  DataType to = DataType::kUndefined;
  std::uint64_t bytes = 0;  // of all the file's tensors
  std::vector<CastTensor> cast;
  const LossReport* total = nullptr;  // over all cast; nullptr where nothing was
};

std::vector<DataType> ParseTypes(const std::vector<std::string>& names) {
  std::vector<DataType> types;
  for (const std::string& name : names) {
    const DataType type = ParseNumberTypeArgument(
        "--to", name, "the loss of texts is not measured; convert prints numbers as texts");
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return types;
}

std::uint64_t Lost(const LossReport& loss) {
  std::uint64_t lost = 0;
  for (const Loss kind :
       {Loss::kNanLost, Loss::kToNan, Loss::kWrapped, Loss::kToInfinity, Loss::kToLimit}) {
    lost += loss.count(kind);
  }
  return lost;
}

const CastTensor* WorstOf(const Candidate& candidate) {
  const CastTensor* worst = nullptr;
  for (const CastTensor& tensor : candidate.cast) {
    if (worst == nullptr || ComparableDecibel(tensor.loss) < ComparableDecibel(worst->loss)) {
      worst = &tensor;
    }
  }
  return worst;
}

std::string TypeTable(const std::vector<Candidate>& candidates) {
  TextTable table({{"type"},
                   {"data", true},
                   {"SNR dB", true},
                   {"lost", true},
                   {"→ zero", true},
                   {"subnormal", true, 0, 2},
                   {"max abs error", true, 0, 1},
                   {"worst dB", true},
                   {"in tensor", false, 12}});
  for (const Candidate& candidate : candidates) {
    std::vector<std::string> cells = {std::string(TypeName(candidate.to)),
                                      BytesText(candidate.bytes)};
    if (candidate.total != nullptr) {
      const LossReport& loss = *candidate.total;
      const CastTensor& worst = *WorstOf(candidate);
      const std::uint64_t lost = Lost(loss);
      cells.push_back(DecibelText(loss.snr_db));
      cells.push_back(lost == 0 ? "·" : CountText(lost));
      cells.push_back(ShareText(loss.count(Loss::kToZero), loss.elements));
      cells.push_back(ShareText(loss.count(Loss::kToSubnormal), loss.elements));
      cells.push_back(loss.max_abs_error > 0 ? MagnitudeText(loss.max_abs_error) : "·");
      cells.push_back(DecibelText(worst.loss.snr_db));
      cells.push_back(io::Escape(worst.info->name));
    }
    table.Add(std::move(cells));
  }
  return table.Render(kReportColumns, false);
}

const CastTensor* Find(const Candidate& candidate, const io::TensorInfo* info) {
  for (const CastTensor& tensor : candidate.cast) {
    if (tensor.info == info) return &tensor;
  }
  return nullptr;
}

// SNR of each tensor under each type, the tensor that fares worst under any of them first.
std::string TensorTable(const std::vector<io::TensorInfo>& tensors,
                        const std::vector<Candidate>& candidates, bool verbose) {
  constexpr std::size_t kRowsShown = 12;
  constexpr std::size_t kTypesAside = 5;  // more columns than this leave no room for names
  if (candidates.size() > kTypesAside) return {};
  std::vector<Column> columns = {{"SNR dB by tensor", false, 16}, {"shape", false, 8}};
  for (const Candidate& candidate : candidates) {
    columns.push_back({std::string(TypeName(candidate.to)), true});
  }
  struct Row {
    double worst;
    std::vector<std::string> cells;
  };
  std::vector<Row> rows;
  for (const io::TensorInfo& info : tensors) {
    Row row{std::numeric_limits<double>::infinity(),
            {io::Escape(info.name), ShapeText(info.shape)}};
    bool cast = false;
    for (const Candidate& candidate : candidates) {
      const CastTensor* tensor = Find(candidate, &info);
      cast = cast || tensor != nullptr;
      if (tensor != nullptr) row.worst = std::min(row.worst, ComparableDecibel(tensor->loss));
      row.cells.push_back(tensor == nullptr        ? "·"
                          : Lost(tensor->loss) > 0 ? "✗ " + DecibelText(tensor->loss.snr_db)
                                                   : DecibelText(tensor->loss.snr_db));
    }
    if (cast) rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.worst < b.worst; });
  const std::size_t shown = verbose || rows.size() <= kRowsShown + 1 ? rows.size() : kRowsShown;
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < shown; ++i) table.Add(std::move(rows[i].cells));
  std::string text = "\n" + table.Render(kReportColumns, false);
  if (shown < rows.size()) {
    text += fmt::format("   … {} more (--verbose shows all)\n", rows.size() - shown);
  }
  return text;
}

std::string LossText(const LossFlags& flags, const io::TensorReader& reader,
                     const std::vector<Candidate>& candidates, std::size_t cast) {
  const std::vector<io::TensorInfo>& tensors = reader.contents().tensors;
  std::uint64_t bytes = 0;
  for (const io::TensorInfo& info : tensors) bytes += info.bytes;
  std::string text =
      fmt::format("{}   {} of {} tensors   {} of data\n\n", Shorten(io::Escape(flags.input), 50),
                  cast, tensors.size(), BytesText(bytes));
  text += TypeTable(candidates);
  if (cast == 0) return text + "\n nothing was selected: no loss to measure\n";
  return text + TensorTable(tensors, candidates, flags.cast.verbose);
}

std::string JsonReport(const LossFlags& flags, const CastOptions& options,
                       const std::vector<Candidate>& candidates) {
  Json json;
  json["schema_version"] = kJsonSchemaVersion;
  json["command"] = "loss";
  json["input"] = flags.input;
  json["options"] = OptionsJson(options);
  json["types"] = Json::array();
  for (const Candidate& candidate : candidates) {
    Json entry;
    entry["to"] = TypeName(candidate.to);
    entry["data_bytes"] = candidate.bytes;
    entry["total"] = candidate.total != nullptr ? FiguresJson(*candidate.total) : Json();
    const CastTensor* worst = WorstOf(candidate);
    entry["worst_snr_db"] = worst != nullptr ? Json(worst->loss.snr_db) : Json();
    entry["worst_tensor"] = worst != nullptr ? Json(worst->info->name) : Json();
    entry["tensors"] = Json::array();
    for (const CastTensor& tensor : candidate.cast) {
      Json one = TensorJson(*tensor.info);
      one["loss"] = LossOfTensorJson(*tensor.info, tensor.loss);
      entry["tensors"].push_back(std::move(one));
    }
    json["types"].push_back(std::move(entry));
  }
  return JsonText(json);
}

bool IsText(const io::TensorInfo& info) { return info.type == DataType::kString; }

// Strings that were asked for are named; where there is nothing else they are refused.
void SayTexts(const LossFlags& flags, const std::vector<io::TensorInfo>& tensors,
              const std::vector<Decision>& decisions, bool nothing_else) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!IsText(tensors[i]) || decisions[i].to == DataType::kUndefined) continue;
    const std::string text = fmt::format(
        "{}: tensor {} holds strings; the loss of texts is not "
        "measured",
        io::Escape(flags.input), io::Escape(tensors[i].name));
    if (nothing_else) throw Error(ErrorKind::kUnsupported, text);
    if (!flags.cast.quiet) SayNote(text);
  }
}

int MeasureLoss(const LossFlags& flags) {
  const std::vector<DataType> types = ParseTypes(flags.to);
  SelectionRequest request = ParseSelection(flags.cast);
  io::ConversionOptions options;
  options.cast = ParseCastOptions(flags.cast);
  options.target = ParseTargetFlag(flags.cast.target);
  const std::unique_ptr<Executor> executor = ParseThreads(flags.cast.threads);
  options.executor = executor.get();
  const std::unique_ptr<io::TensorReader> reader =
      io::OpenTensorFile(flags.input, {ParseAssumedType(flags.cast), InterruptFlag()});
  const std::vector<io::TensorInfo>& tensors = reader->contents().tensors;
  ProgressDisplay progress(flags.cast.progress, flags.cast.quiet, tensors);

  const io::ScaleCompanions scales = io::FindScaleCompanions(reader->contents(), flags.input);
  std::vector<Decision> decisions;
  std::string unscaled;
  std::vector<io::TensorJob> all(tensors.size());
  std::vector<Candidate> candidates(types.size());
  for (std::size_t t = 0; t < types.size(); ++t) {
    request.to = types[t];
    candidates[t].to = types[t];
    decisions = Select(tensors, scales.companions, request);
    if (!flags.cast.raw_scaled) RefuseScaled(*reader, flags.input, scales, decisions);
    if (unscaled.empty()) unscaled = UnscaledText(*reader, scales, &decisions);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const bool is_cast = decisions[i].to != DataType::kUndefined && !IsText(tensors[i]);
      candidates[t].bytes +=
          is_cast ? StorageBytes(types[t], tensors[i].elements).value_or(0) : tensors[i].bytes;
      if (is_cast) all[i].to.push_back(types[t]);
    }
  }
  std::vector<io::TensorJob> jobs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    all[i].tensor = i;
    if (!all[i].to.empty()) jobs.push_back(std::move(all[i]));
  }
  SayTexts(flags, tensors, decisions, jobs.empty());
  if (!flags.cast.quiet) {
    for (const std::string& note : reader->notes()) {
      SayNote(note);
    }
    if (!unscaled.empty()) SayNote(io::Escape(flags.input) + ": " + unscaled);
    if (const std::string text = CompanionsText(*reader, scales.companions); !text.empty()) {
      SayNote(io::Escape(flags.input) + ": left alone unless named: " + text);
    }
  }
  options.interrupted = CatchInterrupts();
  options.progress = [&](const io::Progress& now) { progress.Show(now); };
  const io::ConversionResult result = io::RunConversion(*reader, jobs, nullptr, options);
  ExitOnInterrupts(Leaves::kNothing);
  progress.Clear();

  for (Candidate& candidate : candidates) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      for (std::size_t k = 0; k < jobs[j].to.size(); ++k) {
        if (jobs[j].to[k] != candidate.to) continue;
        candidate.cast.push_back(
            {&tensors[jobs[j].tensor], candidate.to, "--to", result.losses[j][k]});
      }
    }
    for (const LossReport& total : result.totals) {
      if (total.to == candidate.to) candidate.total = &total;
    }
  }
  const std::string report = flags.cast.json ? JsonReport(flags, options.cast, candidates)
                                             : LossText(flags, *reader, candidates, jobs.size());
  Print(report);
  return kExitDone;
}

}  // namespace

void AddLossCommand(CLI::App& app, CommandRun& run) {
  auto flags = std::make_shared<LossFlags>();
  CLI::App* command = app.add_subcommand("loss", kDescription);
  command->add_option("IN", flags->input, "A .safetensors, .npy, .npz, .pb or .onnx file")
      ->required();
  command->add_option("--to", flags->to, "A type to measure; repeatable, or joined by commas")
      ->type_name("T")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->required();
  AddCastFlags(*command, flags->cast);
  command->callback([flags, &run] { run = [flags] { return MeasureLoss(*flags); }; });
}

}  // namespace tensorcast::tool

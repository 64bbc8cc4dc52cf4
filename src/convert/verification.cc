// The runner writes into a comparison in the place of a file, so that whatever is converted is
// verified the same way.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/verification.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "convert/open_made.h"
#include "convert/survey.h"
#include "files/error.h"
#include "json/ordered_json.h"
#include "naming/tensor_pattern.h"
#include "onnx/store/storage_edit.h"
#include "words/error_text.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;
using formats::TensorInfo;

std::string TypeText(const TensorInfo& info) {
  return FindType(info.type) != nullptr ? std::string(TypeName(info.type))
                                        : words::Escape(info.dtype);
}

// Holds tensors that are made against those of an output.
class Comparison {
 public:
  // `places`: of each tensor that is made its index in the output, or kNotFound.
  Comparison(const formats::TensorReader& output, std::vector<std::size_t> places)
      : output_(output), places_(std::move(places)), differences_(places_.size()) {}

  // What differs of a tensor: how many of its bytes, or of its strings, and the first.
  struct Difference {
    std::uint64_t count = 0;
    std::uint64_t first = UINT64_MAX;
  };
  const Difference& difference(std::size_t tensor) const { return differences_[tensor]; }

  // As TensorWriter's.
  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) {
    const std::size_t place = places_.at(tensor);
    if (place == kNotFound) return;
    thread_local std::vector<std::byte> found;
    for (std::size_t done = 0; done < data.size(); done += found.size()) {
      found.resize(std::min(kPiece, data.size() - done));
      output_.Read(place, offset + done, found);
      Compare(tensor, offset + done, data.subspan(done, found.size()), found);
    }
    bytes_.fetch_add(data.size(), std::memory_order_relaxed);
  }

  void WriteStrings(std::size_t tensor, std::uint64_t first, const Strings& texts) {
    const std::size_t place = places_.at(tensor);
    if (place == kNotFound) return;
    const std::uint64_t count = texts.size();
    for (std::uint64_t done = 0; done < count;) {
      const text::StringPiece piece = output_.ReadStrings(place, first + done, count - done);
      const std::uint64_t n = piece.view().size();
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::string_view made = texts[done + i], found = piece.view()[i];
        bytes_.fetch_add(found.size(), std::memory_order_relaxed);
        if (made != found) Note(tensor, 1, first + done + i);
      }
      done += n;
    }
  }

  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // A whole number of elements of every type.
  static constexpr std::size_t kPiece = std::size_t{192} << 10;

 private:
  void Compare(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> made,
               std::span<const std::byte> found) {
    if (std::memcmp(made.data(), found.data(), made.size()) == 0) return;
    std::uint64_t count = 0;
    std::size_t first = made.size();
    for (std::size_t i = made.size(); i-- > 0;) {
      if (made[i] == found[i]) continue;
      ++count;
      first = i;
    }
    Note(tensor, count, offset + first);
  }

  void Note(std::size_t tensor, std::uint64_t count, std::uint64_t first) {
    const std::lock_guard lock(mutex_);
    differences_[tensor].count += count;
    differences_[tensor].first = std::min(differences_[tensor].first, first);
  }

  const formats::TensorReader& output_;
  const std::vector<std::size_t> places_;
  std::mutex mutex_;
  std::vector<Difference> differences_;
  std::atomic<std::uint64_t> bytes_{0};
};

// Takes what a run writes in the place of a file. Of a model that are not all tensors which its
// reader finds, and no strings.
class ComparedOutput final : public formats::TensorWriter {
 public:
  ComparedOutput(Comparison& comparison, const onnx::MadeModel* model)
      : comparison_(comparison), model_(model) {}

  bool Wants(std::size_t tensor) const override {
    return model_ == nullptr || model_->WrittenAs(tensor) != onnx::MadeModel::kNone;
  }
  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    if (!Wants(tensor)) return;
    comparison_.Write(model_ == nullptr ? tensor : model_->WrittenAs(tensor), offset, data);
  }
  void WriteStrings(std::size_t tensor, std::uint64_t first, const Strings& texts) override {
    if (model_ == nullptr) comparison_.WriteStrings(tensor, first, texts);
  }
  std::uint64_t file_bytes() const override { return comparison_.bytes(); }

 private:
  void DoSync() override {}
  void DoCommit() override {}

  Comparison& comparison_;
  const onnx::MadeModel* const model_;  // null: no model
};

// Compares a tensor that no run writes.
void CompareCopied(const formats::TensorReader& made, std::size_t tensor,
                   const std::atomic<bool>* interrupted, Comparison& comparison) {
  const TensorInfo& info = made.contents().tensors[tensor];
  if (info.type == DataType::kString) {
    for (std::uint64_t done = 0; done < info.elements;) {
      files::StopIfInterrupted(interrupted);
      const text::StringPiece piece = made.ReadStrings(tensor, done, info.elements - done);
      comparison.WriteStrings(tensor, done, piece.view());
      done += piece.view().size();
    }
    return;
  }
  std::vector<std::byte> bytes;
  for (std::uint64_t done = 0; done < info.bytes; done += bytes.size()) {
    files::StopIfInterrupted(interrupted);
    bytes.resize(
        static_cast<std::size_t>(std::min<std::uint64_t>(Comparison::kPiece, info.bytes - done)));
    made.Read(tensor, done, bytes);
    comparison.Write(tensor, done, bytes);
  }
}

// What is known of a tensor without its values; nothing: it is to be compared.
std::optional<FaultyTensor> FaultOf(const TensorInfo& made, const TensorInfo& found) {
  const auto fault = [&](Fault kind, std::string of_made, std::string of_found) {
    return FaultyTensor{made.name, kind, std::move(of_made), std::move(of_found)};
  };
  if (made.shape != found.shape) {
    return fault(Fault::kShape, words::ShapeText(made.shape), words::ShapeText(found.shape));
  }
  if (made.IsColumnMajor() != found.IsColumnMajor()) {
    const auto order = [](const TensorInfo& info) {
      return std::string(info.IsColumnMajor() ? "Fortran order" : "C order");
    };
    return fault(Fault::kShape, order(made), order(found));
  }
  const bool is_other = made.type != found.type;
  const bool is_other_dtype = made.type == DataType::kUndefined && made.dtype != found.dtype;
  if (is_other || is_other_dtype || (made.type != DataType::kString && made.bytes != found.bytes)) {
    return fault(Fault::kType, TypeText(made), TypeText(found));
  }
  return std::nullopt;
}

std::set<DataType> TypesOf(const std::vector<TensorInfo>& tensors) {
  std::set<DataType> types;
  for (const TensorInfo& info : tensors) types.insert(info.type);
  return types;
}

// Where each tensor that is made stands in the output, or kNotFound: those that are missing, too
// many, or of another shape or type are faulty. `is_alone`: the one tensor has the file's name.
std::vector<std::size_t> PlacesOf(const std::vector<TensorInfo>& made,
                                  const std::vector<TensorInfo>& found, bool is_alone,
                                  Verification& verification) {
  is_alone = is_alone && made.size() == 1 && found.size() == 1;
  std::vector<std::string> names;
  for (const TensorInfo& info : made) names.push_back(is_alone ? found.front().name : info.name);
  std::vector<std::size_t> places = FindByName(names, found, verification);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] == kNotFound) continue;
    if (auto fault = FaultOf(made[i], found[places[i]])) {
      verification.faulty.push_back(*std::move(fault));
      places[i] = kNotFound;
    }
  }
  return places;
}

// Returns which they are.
std::vector<std::size_t> AddOtherValues(const std::vector<TensorInfo>& made,
                                        const Comparison& compared, Verification& verification) {
  std::vector<std::size_t> other_values;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Comparison::Difference& difference = compared.difference(i);
    if (difference.count == 0) continue;
    other_values.push_back(i);
    FaultyTensor& faulty = verification.faulty.emplace_back();
    faulty.name = made[i].name;
    faulty.fault = Fault::kBytes;
    faulty.different = difference.count;
    faulty.first = difference.first;
    faulty.is_text = made[i].type == DataType::kString;
  }
  return other_values;
}

// Of tensors of which nothing else is wrong, by the input's names.
void AddOtherLosses(const FilePlan& plan, std::vector<std::string> other_losses,
                    Verification& verification) {
  std::set<std::string_view> faulty;  // by the output's names, and by the input's
  for (const FaultyTensor& one : verification.faulty) faulty.insert(one.name);
  for (const TensorJob& job : plan.jobs) {
    if (!faulty.contains(plan.NameOf(job.tensor))) continue;
    faulty.insert(plan.reader->contents().tensors[job.tensor].name);
  }
  std::erase_if(other_losses, [&](const std::string& name) { return faulty.contains(name); });
  for (std::string& name : other_losses) {
    verification.faulty.push_back({.name = std::move(name), .fault = Fault::kLoss});
  }
}

}  // namespace

std::vector<std::size_t> FindByName(std::span<const std::string> names,
                                    const std::vector<TensorInfo>& found,
                                    Verification& verification) {
  std::unordered_map<std::string_view, std::size_t> left;
  left.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) left.emplace(found[i].name, i);
  std::vector<bool> is_extra(found.size(), true);
  std::vector<std::size_t> places(names.size(), kNotFound);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = left.find(names[i]);
    if (at == left.end()) {
      verification.faulty.push_back({names[i], Fault::kMissing});
      continue;
    }
    places[i] = at->second;
    is_extra[at->second] = false;
    left.erase(at);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (is_extra[i]) verification.faulty.push_back({found[i].name, Fault::kExtra});
  }
  return places;
}

std::string FiguresOf(const LossReport& loss) {
  // Infinite figures and NaN are null in JSON.
  json::OrderedJson figures = json::OrderedJson::object();
  figures["elements"] = loss.elements;
  figures["counts"] = loss.counts;
  figures["compared"] = loss.compared;
  figures["max_abs_error"] = loss.max_abs_error;
  figures["max_abs_at"] = loss.compared != 0 ? loss.max_abs_example.index : 0;
  figures["compared_nonzero"] = loss.compared_nonzero;
  figures["max_rel_error"] = loss.max_rel_error;
  figures["sum_squares"] = loss.sum_squares;
  figures["sum_squared_error"] = loss.sum_squared_error;
  figures["rmse"] = loss.rmse;
  figures["snr_db"] = loss.snr_db;
  figures["amax"] = loss.amax;
  figures["smallest_nonzero"] = loss.smallest_nonzero;
  return json::Dumped(figures);
}

Verification Verify(PlanState& state, const RunSettings& settings, const RecordedLosses& losses) {
  state.interrupt->Set(settings.interrupted);
  const PlannedFile& file = state.files.front();
  const formats::FileContents contents = ContentsOf(*file.plan.reader, file.plan);
  const checkpoint::OpenedInput output =
      OpenMade(file.output, TypesOf(contents.tensors), state.spool, settings.interrupted);
  std::unique_ptr<onnx::MadeModel> model;
  Verification verification;
  if (file.sink->has_graph()) {
    if (output.model == nullptr) {
      throw Error(ErrorKind::kContents, words::PathText(file.output) + ": is not an ONNX model",
                  file.output);
    }
    model = file.sink->MadeInPlaceOf(*output.model, contents);
    verification.files = model->faulty_data();
    if (!verification.files.empty()) return verification;
  }
  const std::vector<TensorInfo>& made =
      model != nullptr ? model->reader().contents().tensors : contents.tensors;
  verification.tensors = made.size();
  Comparison compared(*output.reader,
                      PlacesOf(made, output.reader->contents().tensors,
                               !file.sink->one_tensor_file().empty(), verification));
  const bool has_all = verification.faulty.empty();

  OutputsState comparison;
  comparison.plan = &state;
  comparison.files.emplace_back(file.output,
                                std::make_unique<ComparedOutput>(compared, model.get()));
  std::vector<std::string> other_losses;  // of tensors
  Measured measured;
  if (!losses.empty()) {
    measured = [&](std::size_t job, const JobMeasure& measure) {
      const std::string& name = file.TensorOf(job).name;
      const auto recorded = losses.find(name);
      if (recorded == losses.end() || recorded->second != FiguresOf(measure.loss.Report())) {
        other_losses.push_back(name);
      }
    };
  }
  RunPlan(state, settings, &comparison, measured);
  for (std::size_t i = 0; model != nullptr && i < made.size(); ++i) {
    if (!model->IsWritten(i)) CompareCopied(model->reader(), i, settings.interrupted, compared);
  }
  output.reader->CheckUnchanged();
  verification.bytes = compared.bytes();
  const std::vector<std::size_t> other_values = AddOtherValues(made, compared, verification);
  AddOtherLosses(file.plan, std::move(other_losses), verification);
  std::ranges::stable_sort(verification.faulty, {}, &FaultyTensor::fault);
  if (model == nullptr) {
    verification.files = file.sink->OtherFilesAmiss(contents, output);
  } else if (has_all) {  // else the graph is another, too
    verification.files = model->FilesAmiss(other_values, settings.interrupted);
  }
  return verification;
}

void AskAsOutputTells(Request& request, const files::SpoolOptions& spool) {
  const RequestedFile& names = request.files.front();
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kArguments,
                words::PathText(names.output) + ": " + why + "; give convert's flags",
                names.output);
  };
  const Opening opening{InputOptionsOf(request), spool,
                        std::make_shared<files::CurrentInterrupt>()};
  const Survey input = OpenSurvey(names.input, opening);
  checkpoint::OpenedInput opened;
  try {
    opened = OpenMade(names.output, {}, spool, nullptr);
  } catch (const Error& error) {  // npy's <V1
    if (error.kind() != ErrorKind::kArguments) throw;
    fail("it does not name the types of its tensors");
  }
  const Survey output = SurveyOf(std::move(opened), names.output, false);
  constexpr const char* kScaled =
      "it has scaled weights, and types do not tell how those were made";
  if (!output.scales.weights.weights.empty()) fail(kScaled);
  // By the names that they are written under, the input's tensors as they are when scales are
  // applied.
  struct Known {
    std::string_view name;
    DataType type;
  };
  std::map<std::string_view, Known> known;
  naming::Renames renames = RenamesOf(request.renames);
  const NewNames names_made(input, renames);
  const auto written_as = [&](std::size_t tensor, std::string_view name) {
    return names_made.HasAny() ? std::string_view(names_made.Plain(tensor)) : name;
  };
  for (std::size_t i = 0; i < input.tensors().size(); ++i) {
    const TensorInfo& info = input.tensors()[i];
    known.emplace(written_as(i, info.name), Known{info.name, info.type});
  }
  for (const scale::ScaledWeight& weight : input.scales.weights.weights) {
    known[written_as(weight.codes, weight.name)] = {weight.name, DataType::kUndefined};
  }
  struct Change {
    std::string_view name;
    DataType from, to;
  };
  std::vector<Change> changes, kept;
  std::map<DataType, std::size_t> counts;
  const bool is_alone = input.tensors().size() == 1 && output.tensors().size() == 1;
  for (const TensorInfo& info : output.tensors()) {
    auto found = is_alone ? known.begin() : known.find(info.name);
    if (found == known.end() && output.opened.model != nullptr) {
      const std::string type(TypeName(info.type));
      found = known.find(onnx::NameBefore(info.name, type));
      if (known.contains(onnx::NameBefore(info.name, onnx::kScaleEnding))) fail(kScaled);
    }
    if (found == known.end() || info.type == DataType::kUndefined) continue;
    const auto& [name, type] = found->second;
    if (type != info.type) {
      changes.push_back({name, type, info.type});
      ++counts[info.type];
    } else if (FindType(info.type)->is_float()) {
      kept.push_back({name, type, info.type});
    }
  }
  if (changes.empty()) return;  // all are copied
  request.to =
      std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
  // Each pattern is tried on every name.
  constexpr std::size_t kMostNames = 2000;
  for (const Change& one : changes) {
    const bool is_taken = one.from == DataType::kUndefined || FindType(one.from)->is_float();
    // Of a model `to` leaves what it would slow down, which a rule takes all the same.
    if (one.to != request.to->type || !is_taken || output.opened.model != nullptr) {
      request.rules.push_back({naming::GlobLiteral(one.name), one.to});
    }
  }
  std::erase_if(kept, [&](const Change& one) { return one.to == request.to->type; });
  for (const Change& one : kept) request.excluded.push_back(naming::GlobLiteral(one.name));
  if (request.rules.size() + request.excluded.size() > kMostNames) {
    fail("its tensors have several types, and nothing tells which rules gave them");
  }
}

}  // namespace tensorcast::convert

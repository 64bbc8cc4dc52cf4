// A tensor file says here what it holds; its tensors are read on demand, and cast on the way in.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "cast.h"
#include "checkpoint/open_tensor_file.h"
#include "convert/scaled_tensors.h"
#include "convert/selection.h"
#include "convert/survey.h"
#include "errors.h"
#include "formats/tensor_file.h"
#include "formats/tensor_reader.h"
#include "scale/scaled_reader.h"
#include "text_objects.h"
#include "texts.h"
#include "threads.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

constexpr std::uint64_t kReadAtOnce = std::uint64_t{1} << 20;  // so many elements are read at once

// Finds the weights of an open file that are codes times scales, and reads them as values. Several
// threads may use one; its functions may read files, and throw files::Error.
class WeightsOfFile {
 public:
  // `path` is what the file was opened by.
  WeightsOfFile(checkpoint::OpenedInput opened, std::string path)
      : opened_(std::move(opened)), path_(std::move(path)) {}

  // Gives the weights whose scales can be applied, in the order of their codes.
  const std::vector<scale::ScaledWeight>& Applicable() { return Survey().scales.weights.weights; }

  // Throws where a tensor is codes, or serves some, and its scales cannot be applied.
  void Refuse(std::size_t tensor, DataType to) {
    const convert::Survey& survey = Survey();
    if (!refused_.contains(tensor)) return;
    for (const scale::OpaqueTensor& one : survey.scales.weights.opaque) {
      if (one.tensor == tensor) convert::RefuseOpaque(one, survey.tensors()[tensor]);
    }
    std::vector<convert::Decision> decisions(survey.tensors().size());
    decisions.at(tensor).to = to;
    convert::RefuseScaled(survey, decisions);
    throw files::Error(core::ErrorKind::kArguments, "the tensor has no scales");
  }

  // Gives the file with each such weight in the place of its codes, as float64 that may be cast to
  // `to`, so that the exact product is rounded once.
  std::shared_ptr<const scale::ScaledReader> ReaderFor(DataType to) {
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

  // Gives what inspect says of the file's scales as a whole, a line for each thing.
  std::vector<std::string> Notes() {
    std::vector<std::string> lines;
    try {
      const convert::Survey& survey = Survey();
      lines = convert::ConfigTexts(survey);
      lines.push_back(convert::UnscaledText(survey, nullptr));
      std::erase(lines, "");
    } catch (const files::Error& error) {  // it is about another file, which reading asks for
      lines.emplace_back(error.what());
    }
    return lines;
  }

  // Gives a line for each weight that was read and has scales which no quantiser writes.
  std::vector<std::string> Findings() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> lines;
    for (const auto& reader : readers_) {
      if (reader == nullptr) continue;
      for (std::string& line : reader->Findings()) {
        if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
      }
    }
    return lines;
  }

 private:
  // Found when it is first asked for, since many files' scales never are; then it stays as it is.
  const convert::Survey& Survey() {
    const std::lock_guard lock(mutex_);
    if (survey_) return *survey_;
    survey_ = convert::SurveyOf(opened_, path_, false);
    const convert::InputScales& scales = survey_->scales;
    for (const scale::ScaledTensor& one : scales.companions.scaled) refused_.insert(one.tensor);
    for (const scale::ScaledWeight& one : scales.weights.weights) refused_.erase(one.codes);
    for (const scale::UnreadWeight& one : scales.weights.unread) refused_.insert(one.tensor);
    for (const scale::OpaqueTensor& one : scales.weights.opaque) refused_.insert(one.tensor);
    return *survey_;
  }

  const checkpoint::OpenedInput opened_;
  const std::string path_;
  std::mutex mutex_;  // guards what follows
  std::optional<convert::Survey> survey_;
  std::unordered_set<std::size_t> refused_;                            // found with the survey
  std::array<std::shared_ptr<const scale::ScaledReader>, 2> readers_;  // by scale::Rounding
};

class TensorFile {
 public:
  TensorFile(const std::string& path, std::optional<int> assume_type, bool allow_hard_links,
             std::string root) {
    formats::OpenOptions options;
    if (assume_type) options.assume_type = static_cast<DataType>(*assume_type);
    options.allow_hard_links = allow_hard_links;
    options.root = std::move(root);
    // It is set only while the file is opened: later several calls read it at once.
    const auto interrupt = std::make_shared<files::CurrentInterrupt>();
    options.interrupted = interrupt;
    RunInterruptibly([&](std::atomic<bool>& interrupted) {
      interrupt->Set(&interrupted);
      const checkpoint::OpenedInput opened = checkpoint::OpenTensorFile(path, options);
      reader_ = opened.reader;
      weights_ = std::make_shared<WeightsOfFile>(opened, path);
      interrupt->Set(nullptr);
    });
  }

  void Close() {
    weights_.reset();
    reader_.reset();
  }
  bool is_closed() const { return reader_ == nullptr; }
  const formats::TensorReader& reader() const {
    if (reader_ == nullptr) Raise(ErrorClass::kValue, "the file is closed");
    return *reader_;
  }
  const formats::TensorInfo& info(std::size_t tensor) const {
    if (tensor >= reader().contents().tensors.size()) {
      Raise(ErrorClass::kValue, "the file has no tensor of that index");
    }
    return reader().contents().tensors[tensor];
  }
  // Keeps the file for as long as a call that gives the GIL back.
  std::shared_ptr<const formats::TensorReader> hold() const {
    (void)reader();
    return reader_;
  }
  std::shared_ptr<WeightsOfFile> weights() const {
    (void)reader();
    return weights_;
  }

 private:
  std::shared_ptr<const formats::TensorReader> reader_;
  std::shared_ptr<WeightsOfFile> weights_;
};

// Reads the packed bytes of a tensor whose type the library does not know.
nb::object ReadBytes(const TensorFile& file, std::size_t tensor) {
  const formats::TensorInfo& info = file.info(tensor);
  const std::vector<std::uint64_t> shape = {info.bytes};
  nb::object result = NewArray(DescrOf(DataType::kUint8), shape);
  const auto written = WritableBytesOf(AsArray(result));
  const auto reader = file.hold();
  {
    const nb::gil_scoped_release without_gil;
    reader->Read(tensor, 0, written);
  }
  return result;
}

// Gives the shape in the order in which the elements stand.
std::vector<std::uint64_t> StoredShape(const formats::TensorInfo& info) {
  std::vector<std::uint64_t> shape = info.shape;
  if (info.fortran_order) std::reverse(shape.begin(), shape.end());
  return shape;
}

// Casts a tensor of numbers piece by piece into an array of numpy's layout, or a packed stream.
// Where it is `scaled`, it is the codes of a scaled weight, and the weight's values are read.
nb::object ReadNumbers(const TensorFile& file, std::size_t tensor, bool scaled, DataType to,
                       const CastOptions& options, bool is_packed, std::optional<std::size_t> asked,
                       LossMeter* loss) {
  (void)file.info(tensor);
  std::shared_ptr<const formats::TensorReader> reader = file.hold();
  if (scaled) {
    const auto weights = file.weights();
    const nb::gil_scoped_release without_gil;
    reader = weights->ReaderFor(to);  // in which the codes are the weight's values
  }
  const formats::TensorInfo& info = reader->contents().tensors[tensor];
  const bool is_stream = is_packed && FindType(to)->is_packed();
  CastRequest request;
  request.from = info.type;
  request.to = to;
  request.source_is_packed = true;
  request.result_is_packed = is_packed;
  CastPlan plan;
  Check(CastPlan::Bind(info.type, to, options, &plan));
  const std::vector<std::uint64_t> stream = {StorageBytes(to, info.elements).value_or(0)};
  nb::object result = is_stream ? NewArray(DescrOf(DataType::kUint8), stream)
                                : NewArray(DescrOf(to), StoredShape(info));
  const auto written = WritableBytesOf(AsArray(result));
  if (is_stream && !written.empty()) written.back() = std::byte{0};
  Status status;
  RunInterruptibly([&](std::atomic<bool>& interrupted) {
    std::vector<std::byte> read(*StorageBytes(info.type, std::min(kReadAtOnce, info.elements)));
    CallThreads threads(ThreadsFor(asked, info.bytes));
    RunOptions run;
    run.loss = loss;
    if (threads.Concurrency() > 1) run.executor = &threads;
    for (std::uint64_t first = 0; first < info.elements && status.ok(); first += kReadAtOnce) {
      files::StopIfInterrupted(&interrupted);
      const std::uint64_t count = std::min(kReadAtOnce, info.elements - first);
      const auto piece = std::span(read).first(*StorageBytes(info.type, count));
      // Pieces begin at multiples of 2^20 elements, which are whole bytes of every type.
      reader->Read(tensor, *StorageBytes(info.type, first), piece);
      run.loss_index = first;
      const std::uint64_t at = is_stream ? *StorageBytes(to, first) : first * ElementBytes(to);
      status = RunPieces(plan, request, piece, written.subspan(at), count, run);
    }
  });
  Check(status);
  return result;
}

Texts ReadAllTexts(const TensorFile& file, std::size_t tensor) {
  const formats::TensorInfo& info = file.info(tensor);
  const auto reader = file.hold();
  Texts texts;
  RunInterruptibly([&](std::atomic<bool>& interrupted) {
    for (std::uint64_t first = 0; first < info.elements;) {
      files::StopIfInterrupted(&interrupted);
      const text::StringPiece piece = reader->ReadStrings(tensor, first, info.elements - first);
      const Strings read = piece.view();
      for (std::uint64_t i = 0; i < read.size(); ++i) texts.Append(read[i]);
      first += read.size();
    }
  });
  return texts;
}

// Gives the name, the codes and what is known of each weight whose scales are applied.
nb::list ScaledTuples(const TensorFile& file) {
  const auto weights = file.weights();
  {
    const nb::gil_scoped_release without_gil;
    (void)weights->Applicable();
  }
  return ListOf(weights->Applicable(), [](const scale::ScaledWeight& weight) {
    return nb::make_tuple(ToStr(weight.name), weight.codes,
                          ToStr(weight.LayoutText() + ": " + weight.evidence));
  });
}

nb::tuple TensorInfoTuple(const formats::TensorInfo& info) {
  return nb::make_tuple(ToStr(info.name), ToStr(info.dtype), static_cast<int>(info.type),
                        nb::tuple(ListOf(info.shape, std::identity())), info.bytes,
                        info.fortran_order);
}

}  // namespace

void BindFiles(nb::module_& m) {
  nb::class_<TensorFile>(m, "TensorFile")
      .def(
          "__init__",
          [](TensorFile* self, nb::handle path, std::optional<int> assume_type,
             bool allow_hard_links, nb::handle root) {
            new (self) TensorFile(FromStr(path), assume_type, allow_hard_links,
                                  root.is_none() ? std::string() : FromStr(root));
          },
          nb::arg("path"), nb::arg("assume_type").none(), nb::arg("allow_hard_links"),
          nb::arg("root").none())
      .def("close", &TensorFile::Close)
      .def_prop_ro("closed", &TensorFile::is_closed)
      .def("infos",
           [](const TensorFile& self) {
             return ListOf(self.reader().contents().tensors, TensorInfoTuple);
           })
      .def("metadata",
           [](const TensorFile& self) {
             nb::dict metadata;
             const formats::FileContents& contents = self.reader().contents();
             for (const auto* part : {&contents.shown_metadata, &contents.metadata}) {
               for (const auto& [key, value] : *part) metadata[ToStr(key)] = ToStr(value);
             }
             return metadata;
           })
      .def("notes",
           [](const TensorFile& self) {
             const auto reader = self.hold();
             const auto weights = self.weights();
             std::vector<std::string> notes;
             {
               const nb::gil_scoped_release without_gil;  // it may read configurations
               notes = reader->notes();
               std::ranges::move(weights->Notes(), std::back_inserter(notes));
               std::ranges::move(weights->Findings(), std::back_inserter(notes));
             }
             return ListOf(notes, ToStr);
           })
      .def("scaled_weights", &ScaledTuples)
      .def("refuse_weight",
           [](const TensorFile& self, std::size_t tensor, int to) {
             (void)self.info(tensor);
             const auto weights = self.weights();
             const nb::gil_scoped_release without_gil;
             weights->Refuse(tensor, static_cast<DataType>(to));
           })
      .def("read_bytes", &ReadBytes)
      .def(
          "read_numbers",
          [](const TensorFile& self, std::size_t tensor, bool scaled, int to,
             const nb::dict& options, bool is_packed, std::optional<std::size_t> threads,
             LossMeter* loss) {
            const auto type = static_cast<DataType>(to);
            if (FindType(type) == nullptr || type == DataType::kString) {
              Raise(ErrorClass::kValue, "a tensor of numbers is read as numbers");
            }
            return ReadNumbers(self, tensor, scaled, type, OptionsOf(options), is_packed, threads,
                               loss);
          },
          nb::arg("tensor"), nb::arg("scaled"), nb::arg("to"), nb::arg("options"),
          nb::arg("is_packed"), nb::arg("threads").none(), nb::arg("loss").none())
      .def("read_texts", &ReadAllTexts);
}

}  // namespace tensorcast::python

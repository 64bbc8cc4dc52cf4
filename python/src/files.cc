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
#include "pieces.h"
#include "scale/scaled_reader.h"
#include "text_objects.h"
#include "texts.h"
#include "threads.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

constexpr std::uint64_t kMeasuredAtOnce = std::uint64_t{1} << 20;  // elements, by all threads

// Finds the weights of an open file that are codes times scales, and reads them as values. Several
// threads may use one; its functions may read files, and throw files::Error.
class WeightsOfFile {
 public:
  // `path` is what the file was opened by.
  WeightsOfFile(checkpoint::OpenedInput opened, std::string path)
      : opened_(std::move(opened)), path_(std::move(path)) {}

  // Gives the weights whose scales can be applied, in the order of their codes.
  const std::vector<scale::ScaledWeight>& Applicable() { return Survey().scales.weights.weights; }

  // Gives the tensors that are left once these scales are applied; nothing if all are.
  std::optional<std::vector<std::size_t>> Left() {
    const convert::Survey& survey = Survey();
    std::unordered_set<std::size_t> codes;
    for (const scale::ScaledWeight& one : survey.scales.weights.weights) codes.insert(one.codes);
    return convert::TensorsLeft(survey, [&](std::size_t tensor) {
      return codes.contains(tensor) ? std::optional(scale::Rounding::kNearest) : std::nullopt;
    });
  }

  // Says whether Refuse throws of any tensor.
  bool RefusesSome() {
    (void)Survey();
    return !refused_.empty();
  }

  // Gives the type that weights are read as if none is asked for, for each part that has a
  // configuration of its own: the one that this says the model is built in, or float32.
  std::vector<DataType> UsualTypes() {
    constexpr std::array kBuiltIn = {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat64};
    const convert::Survey& survey = Survey();
    std::vector<DataType> types;
    for (std::uint32_t part = 0; part < survey.parts(); ++part) {
      const auto* const found =
          std::ranges::find(kBuiltIn, survey.scales.ConfigOf(part).dtype, &TypeName);
      types.push_back(found != kBuiltIn.end() ? *found : DataType::kFloat32);
    }
    return types;
  }

  std::uint32_t PartOf(std::size_t tensor) { return Survey().PartOf(tensor); }

  // Throws if a tensor is codes, or serves some, and its scales cannot be applied. Without a type
  // it is read as it is stored, which is refused only if it is known to be codes.
  void Refuse(std::size_t tensor, std::optional<DataType> wanted) {
    const convert::Survey& survey = Survey();
    if (!refused_.contains(tensor)) return;
    if (!wanted && std::ranges::any_of(survey.scales.weights.unread, [&](const auto& one) {
          return one.tensor == tensor && !one.is_known;
        })) {
      return;
    }
    const DataType to = wanted.value_or(DataType::kFloat64);
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
             std::string root)
      : is_lent_(path.find("://") != std::string::npos) {
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
  // Whether it is somebody else's, and a read may take as long as a network does.
  bool is_lent() const { return is_lent_; }
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
  bool is_lent_;
  std::shared_ptr<const formats::TensorReader> reader_;
  std::shared_ptr<WeightsOfFile> weights_;
};

// Gives a tensor as an array of the file's memory, in the file's order, or None if it has to be
// read. With `is_stream`, or for a type that the library does not know, it is packed bytes, as
// uint8.
nb::object MapTensor(const TensorFile& file, std::size_t tensor, bool is_stream) {
  const formats::TensorInfo& info = file.info(tensor);
  const TypeInfo* const type = FindType(info.type);
  const bool is_bytes = type == nullptr || is_stream;
  // A bool may be any byte in a file, and is 0 or 1 in an array.
  if (!is_bytes && (type->is_packed() || info.type == DataType::kBool)) return nb::none();
  if (info.type == DataType::kString || info.bytes == 0) return nb::none();
  PyArray_Descr* const descr = DescrOf(is_bytes ? DataType::kUint8 : info.type);
  const auto reader = file.hold();
  std::shared_ptr<std::byte> memory;
  {
    const WithoutGil without_gil;  // it may hold the tensor against a checksum
    memory = reader->Map(tensor);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
  if (memory == nullptr || address % static_cast<std::size_t>(PyDataType_ALIGNMENT(descr)) != 0) {
    return nb::none();
  }
  std::vector<std::uint64_t> shape = info.shape;
  if (info.fortran_order) std::ranges::reverse(shape);
  if (is_bytes) shape = {info.bytes};
  auto held = std::make_unique<std::shared_ptr<std::byte>>(memory);
  nb::capsule owner(held.get(), [](void* mapping) noexcept {
    delete static_cast<std::shared_ptr<std::byte>*>(mapping);
  });
  (void)held.release();
  return ArrayAt(descr, shape, memory.get(), owner);
}

// Reads the packed bytes of a tensor whose type the library does not know.
nb::object ReadBytes(const TensorFile& file, std::size_t tensor) {
  const formats::TensorInfo& info = file.info(tensor);
  const std::vector<std::uint64_t> shape = {info.bytes};
  nb::object result = NewArray(DescrOf(DataType::kUint8), shape);
  const auto written = WritableBytesOf(AsArray(result));
  const auto reader = file.hold();
  {
    const WithoutGil without_gil;
    reader->Read(tensor, 0, written);
  }
  return result;
}

// What is read of a tensor of numbers, and what it becomes.
struct ReadRequest {
  std::size_t tensor = 0;
  // It is the codes of a scaled weight, and the weight's values are read.
  bool is_scaled = false;
  std::uint64_t first = 0, n = 0;  // elements, in the file's order
  DataType to = DataType::kUndefined;
  CastOptions options;
  bool is_packed = false;
  std::optional<std::size_t> threads;
  LossMeter* loss = nullptr;
};

// Reads one piece at a time. The pieces may be read by several threads.
class PieceReader {
 public:
  PieceReader(const formats::TensorReader& reader, const ReadRequest& request,
              std::span<std::byte> out)
      : reader_(reader),
        request_(request),
        type_(reader.contents().tensors[request.tensor].type),
        is_stream_(request.is_packed && FindType(request.to)->is_packed()),
        out_(out) {
    cast_.from = type_;
    cast_.to = request.to;
    cast_.source_is_packed = true;
    cast_.result_is_packed = request.is_packed;
    Check(CastPlan::Bind(type_, request.to, request.options, &plan_));
    // A bool may be any byte in a file, and is 0 or 1 once it is cast.
    is_copy_ = type_ == request.to && type_ != DataType::kBool && request.loss == nullptr &&
               (is_stream_ || !FindType(type_)->is_packed());
    is_cast_by_reader_ = request.is_scaled && request.loss == nullptr && !is_stream_ &&
                         !FindType(request.to)->is_packed();
  }

  // Reads elements [first, first + n) of those that are asked for.
  Status Read(std::uint64_t first, std::uint64_t n, std::vector<std::byte>& buffer,
              const RunOptions& run) const {
    const std::uint64_t at =
        is_stream_ ? *StorageBytes(request_.to, first) : first * ElementBytes(request_.to);
    const std::uint64_t size =
        is_stream_ ? *StorageBytes(request_.to, n) : n * ElementBytes(request_.to);
    const std::span<std::byte> written = out_.subspan(at, size);
    const std::uint64_t begin = request_.first + first;
    if (is_copy_) {
      reader_.Read(request_.tensor, *StorageBytes(type_, begin), written);
      return {};
    }
    if (is_cast_by_reader_ && reader_.ReadCast(request_.tensor, plan_, begin, written)) return {};
    const std::uint64_t bytes = *StorageBytes(type_, n);
    if (buffer.size() < bytes) buffer.resize(bytes);
    const auto piece = std::span(buffer).first(bytes);
    reader_.Read(request_.tensor, *StorageBytes(type_, begin), piece);
    return RunPieces(plan_, cast_, piece, written, n, run);
  }

 private:
  const formats::TensorReader& reader_;
  const ReadRequest& request_;
  const DataType type_;
  const bool is_stream_;
  const std::span<std::byte> out_;
  CastRequest cast_;
  CastPlan plan_;
  bool is_copy_ = false, is_cast_by_reader_ = false;
};

// Casts elements of a tensor piece by piece into a dense array of numpy's layout, or a packed
// stream.
void ReadNumbers(const TensorFile& file, const ReadRequest& request, nb::handle out) {
  (void)file.info(request.tensor);
  std::shared_ptr<const formats::TensorReader> reader = file.hold();
  if (request.is_scaled) {
    const auto weights = file.weights();
    const WithoutGil without_gil;
    reader = weights->ReaderFor(request.to);  // in which the codes are the weight's values
  }
  const formats::TensorInfo& info = reader->contents().tensors[request.tensor];
  const std::uint64_t n = request.n;
  if (request.first > info.elements || n > info.elements - request.first) {
    Raise(ErrorClass::kValue, "the tensor has fewer elements");
  }
  if (FindType(info.type)->is_packed() && request.first % 8 != 0) {
    Raise(ErrorClass::kValue, "packed elements are read from a multiple of 8 on");
  }
  const auto written = WritableBytesOf(WritableArgument(out, "out"));
  CheckRoom(request.to, request.is_packed, n, written.size());
  if (n == 0) return;
  if (request.is_packed && FindType(request.to)->is_packed()) written.back() = std::byte{0};
  const PieceReader pieces(*reader, request, written);
  const std::uint64_t bytes = *StorageBytes(info.type, n) + written.size();
  CallThreads threads(ThreadsFor(request.threads, bytes));
  Status status;
  const auto work = [&](std::atomic<bool>& interrupted) {
    if (request.loss == nullptr) {
      std::mutex mutex;
      ForPieces(n, threads,
                [&](std::uint64_t first, std::uint64_t count, std::vector<std::byte>& buffer) {
                  files::StopIfInterrupted(&interrupted);
                  const Status read = pieces.Read(first, count, buffer, {});
                  const std::lock_guard lock(mutex);
                  if (!read.ok()) status = read;
                });
      return;
    }
    std::vector<std::byte> buffer;  // what is lost is met in the elements' order
    RunOptions run;
    run.loss = request.loss;
    if (threads.Concurrency() > 1) run.executor = &threads;
    for (std::uint64_t first = 0; first < n && status.ok(); first += kMeasuredAtOnce) {
      files::StopIfInterrupted(&interrupted);
      run.loss_index = first;
      status = pieces.Read(first, std::min(kMeasuredAtOnce, n - first), buffer, run);
    }
  };
  if (file.is_lent()) {
    RunInterruptibly(work);
  } else {
    RunWork(bytes, work);
  }
  Check(status);
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

// Gives the name, the codes, what is known, the shape and the usual type of each weight whose
// scales are applied; the tensors that are left then, or None; and whether tensors are refused.
nb::tuple WeightTuples(const TensorFile& file) {
  const auto weights = file.weights();
  std::optional<std::vector<std::size_t>> left;
  {
    const WithoutGil without_gil;
    left = weights->Left();
  }
  const std::vector<DataType> usual = weights->UsualTypes();
  return nb::make_tuple(
      ListOf(weights->Applicable(),
             [&](const scale::ScaledWeight& weight) {
               return nb::make_tuple(ToStr(weight.name), weight.codes,
                                     ToStr(weight.LayoutText() + ": " + weight.evidence),
                                     nb::tuple(ListOf(weight.shape, std::identity())),
                                     static_cast<int>(usual[weights->PartOf(weight.codes)]));
             }),
      left ? nb::object(ListOf(*left, std::identity())) : nb::none(), weights->RefusesSome());
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
               const WithoutGil without_gil;  // it may read configurations
               notes = reader->notes();
               std::ranges::move(weights->Notes(), std::back_inserter(notes));
               std::ranges::move(weights->Findings(), std::back_inserter(notes));
             }
             return ListOf(notes, ToStr);
           })
      .def("weights", &WeightTuples)
      .def(
          "refuse_weight",
          [](const TensorFile& self, std::size_t tensor, std::optional<int> to) {
            (void)self.info(tensor);
            const auto weights = self.weights();
            const WithoutGil without_gil;
            weights->Refuse(tensor, to ? std::optional(static_cast<DataType>(*to)) : std::nullopt);
          },
          nb::arg("tensor"), nb::arg("to").none())
      .def("read_bytes", &ReadBytes)
      .def("map", &MapTensor, nb::arg("tensor"), nb::arg("is_stream"))
      .def(
          "read_numbers",
          [](const TensorFile& self, std::size_t tensor, bool scaled, std::uint64_t first,
             std::uint64_t n, nb::handle out, int to, const nb::dict& options, bool is_packed,
             std::optional<std::size_t> threads, LossMeter* loss) {
            const auto type = static_cast<DataType>(to);
            if (FindType(type) == nullptr || type == DataType::kString) {
              Raise(ErrorClass::kValue, "a tensor of numbers is read as numbers");
            }
            ReadNumbers(
                self,
                {tensor, scaled, first, n, type, OptionsOf(options), is_packed, threads, loss},
                out);
          },
          nb::arg("tensor"), nb::arg("scaled"), nb::arg("first"), nb::arg("n"), nb::arg("out"),
          nb::arg("to"), nb::arg("options"), nb::arg("is_packed"), nb::arg("threads").none(),
          nb::arg("loss").none())
      .def("read_texts", &ReadAllTexts);
}

}  // namespace tensorcast::python

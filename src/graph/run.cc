// Runs a program: each step allocates its result and lets go of what nobody reads any more.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "core/failure.h"
#include "core/shape.h"
#include "graph/program.h"
#include "text/error_text.h"

namespace tensorcast::graph {
namespace {

using text::Quoted;

// A value of one run.
struct Slot {
  TensorView view;
  std::uint64_t elements = 0;
  std::shared_ptr<Buffer> buffer;
};

// Memory of the outputs that a run replaces. To get large buffers afresh from the system takes as
// long as to cast into them: each page is cleared first.
class SpareBuffers {
 public:
  explicit SpareBuffers(Results* old) {
    if (old == nullptr) return;
    for (std::shared_ptr<Buffer>& buffer : old->buffers) {
      if (buffer == nullptr) continue;
      if (buffer->offsets != nullptr) {
        ranges_.push_back({reinterpret_cast<std::uintptr_t>(buffer->offsets.get()),
                           buffer->offset_count * sizeof(std::uint64_t), buffer});
      }
      const auto begin = reinterpret_cast<std::uintptr_t>(buffer->bytes.get());
      ranges_.push_back({begin, buffer->size, std::move(buffer)});
    }
    const auto before = [](const Range& a, const Range& b) { return a.begin < b.begin; };
    const auto same = [](const Range& a, const Range& b) { return a.begin == b.begin; };
    std::sort(ranges_.begin(), ranges_.end(), before);
    // Outputs that are views of one another share their buffer.
    ranges_.erase(std::unique(ranges_.begin(), ranges_.end(), same), ranges_.end());
  }

  // The buffer that some memory lies in: an input may be an output of the run before.
  std::shared_ptr<Buffer> Holding(const void* memory) const {
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), at,
                         [](std::uintptr_t place, const Range& r) { return place < r.begin; });
    if (after == ranges_.begin()) return nullptr;
    const Range& range = *std::prev(after);
    return at - range.begin < range.size ? range.buffer : nullptr;
  }

  // A buffer of just this size that nobody holds; none where the search would not pay.
  std::shared_ptr<Buffer> Take(std::uint64_t size) {
    constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;
    if (size < kLeastBytes) return nullptr;
    for (Range& range : ranges_) {
      if (range.size == size && range.buffer.use_count() == 1) {
        range.size = 0;
        return std::move(range.buffer);
      }
    }
    return nullptr;
  }

 private:
  struct Range {
    std::uintptr_t begin;
    std::size_t size;
    std::shared_ptr<Buffer> buffer;
  };
  std::vector<Range> ranges_;
};

std::uint64_t BytesOf(const TensorView& view) {
  if (view.type != DataType::kString) return view.data.size();
  const auto& offsets = view.strings.offsets;
  return offsets.empty() ? 0 : offsets.back() - offsets.front() + offsets.size_bytes();
}

class Runner {
 public:
  Runner(const Program& program, const GraphRun& run, Results* old)
      : program_(program), run_(run), spare_(old) {
    run_options_.executor = run.executor;
    run_options_.interrupted = run.interrupted;
  }

  void Run(std::span<const TensorView> inputs, Results& outputs) {
    TakeInputs(inputs);
    for (const Constant& constant : program_.constants) {
      slots_.push_back({constant.view(), constant.elements, nullptr});
    }
    first_register_ = slots_.size();
    slots_.resize(first_register_ + program_.registers);
    for (const Step& step : program_.steps) RunStep(step);
    for (const std::uint32_t place : program_.results) {
      const Slot& slot = slots_[place];
      outputs.shapes.emplace_back(slot.view.shape.begin(), slot.view.shape.end());
      outputs.views.push_back(slot.view);
      outputs.buffers.push_back(slot.buffer);
    }
    for (std::size_t i = 0; i < outputs.views.size(); ++i) {
      outputs.views[i].shape = outputs.shapes[i];
    }
  }

 private:
  [[noreturn]] static void Refuse(const std::string& why) {
    throw core::Failure(StatusCode::kBadInput, why);
  }

  void TakeInputs(std::span<const TensorView> inputs) {
    if (inputs.size() != program_.inputs.size()) {
      Refuse(text::CountText(inputs.size(), "input") + " given; the model has " +
             std::to_string(program_.inputs.size()));
    }
    slots_.reserve(inputs.size() + program_.constants.size() + program_.registers);
    for (std::size_t i = 0; i < inputs.size(); ++i) slots_.push_back(Input(inputs[i], i));
  }

  Slot Input(const TensorView& view, std::size_t index) const {
    const ValueInfo& info = program_.inputs[index];
    const std::string what = "input " + Quoted(info.name) + ' ';
    if (view.type == DataType::kUndefined) {
      const std::uint32_t place = program_.defaults[index];
      if (place == kNoDefault) Refuse(what + "is not given, and the model has no default for it");
      const Constant& constant = program_.constants[place - program_.inputs.size()];
      return {constant.view(), constant.elements, nullptr};
    }
    if (view.type != info.type) {
      Refuse(what + "is " + std::string(TypeName(view.type)) + "; the model declares " +
             std::string(TypeName(info.type)));
    }
    const std::optional<std::uint64_t> elements = core::CheckedProduct(view.shape);
    const std::string shape = text::ShapeText(view.shape);
    if (!elements) Refuse(what + "has the shape " + shape + ": more than 2^64 - 1 elements");
    if (view.type == DataType::kString) {
      CheckStrings(view.strings, *elements, what, shape);
    } else {
      const std::optional<std::uint64_t> bytes = StorageBytes(view.type, *elements);
      if (bytes != view.data.size()) {
        Refuse(what + "has " + text::CountText(view.data.size(), "byte") + " of data; the shape " +
               shape + " of " + std::string(TypeName(view.type)) + " takes " +
               (bytes ? std::to_string(*bytes) : "more than 2^64 - 1 bits"));
      }
      if (view.data.data() == nullptr && *bytes != 0) Refuse(what + "has no data");
    }
    const bool is_text = view.type == DataType::kString;
    std::shared_ptr<Buffer> buffer =
        spare_.Holding(is_text ? static_cast<const void*>(view.strings.offsets.data())
                               : static_cast<const void*>(view.data.data()));
    return {view, *elements, std::move(buffer)};
  }

  static void CheckStrings(const Strings& strings, std::uint64_t elements, const std::string& what,
                           const std::string& shape) {
    if (strings.size() != elements) {
      Refuse(what + "has " + text::CountText(strings.size(), "string") + "; the shape " + shape +
             " takes " + std::to_string(elements));
    }
    const auto& offsets = strings.offsets;
    if (!std::is_sorted(offsets.begin(), offsets.end()) ||
        (!offsets.empty() && offsets.back() > strings.bytes.size())) {
      Refuse(what + "has offsets of strings that decrease or end beyond the bytes");
    }
  }

  void RunStep(const Step& step) {
    StopIfInterrupted();
    using Clock = std::chrono::steady_clock;
    const auto begin = run_.profile == nullptr ? Clock::time_point() : Clock::now();
    const Slot& source = slots_[step.source];
    Slot& result = slots_[first_register_ + step.result];
    switch (step.kind) {
      case Step::Kind::kView: result = source; break;
      case Step::Kind::kNumbers: CastNumbers(step, source, result); break;
      case Step::Kind::kParse: ParseTexts(step, source, result); break;
      case Step::Kind::kPrint: PrintTexts(step, source, result); break;
    }
    if (run_.profile != nullptr) {
      AddProfile(step, source, result, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    if (step.frees_source) slots_[step.source] = {};
    if (step.frees_result) result = {};
  }

  void AddProfile(const Step& step, const Slot& source, const Slot& result, double seconds) const {
    constexpr const char* kOperators[] = {"Cast", "CastLike", "Identity"};
    NodeProfile profile;
    profile.node = program_.names[step.name].text;
    profile.op_type = kOperators[static_cast<int>(step.op)];
    profile.from = source.view.type;
    profile.to = result.view.type;
    profile.seconds = seconds;
    if (step.kind != Step::Kind::kView) {
      profile.bytes_read = BytesOf(source.view);
      profile.bytes_written = BytesOf(result.view);
    }
    run_.profile->push_back(std::move(profile));
  }

  void StopIfInterrupted() const {
    if (run_.interrupted != nullptr && run_.interrupted->load(std::memory_order_relaxed)) {
      throw core::Failure(StatusCode::kInterrupted, "interrupted");
    }
  }

  [[noreturn]] void FailStep(const Step& step, StatusCode code, const std::string& why) const {
    const NodeName& name = program_.names[step.name];
    throw core::Failure(
        code, (name.is_output ? "the node that gives " : "node ") + Quoted(name.text) + ": " + why);
  }

  void Check(const Step& step, Status status) const {
    if (status.code() == StatusCode::kInterrupted)
      throw core::Failure(StatusCode::kInterrupted, "interrupted");
    if (!status.ok()) FailStep(step, status.code(), std::string(status.message()));
  }

  // Memory for a result of numbers, its bytes as they come; of a packed type the pad bits are zero.
  std::shared_ptr<Buffer> AllocateNumbers(const Step& step, DataType type, std::uint64_t n) {
    const std::optional<std::uint64_t> bytes = StorageBytes(type, n);
    if (!bytes) {
      FailStep(step, StatusCode::kOutOfMemory,
               std::to_string(n) + " elements of " + std::string(TypeName(type)) +
                   " take more than 2^64 - 1 bits");
    }
    std::shared_ptr<Buffer> buffer = spare_.Take(*bytes);
    if (buffer == nullptr) {
      buffer = std::make_shared<Buffer>();
      Allocate(*bytes, *buffer);
    }
    if (*bytes != 0 && FindType(type)->is_packed()) buffer->bytes[buffer->size - 1] = std::byte{0};
    return buffer;
  }

  static void Allocate(std::uint64_t bytes, Buffer& buffer) {
    buffer.bytes = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    buffer.size = static_cast<std::size_t>(bytes);
  }

  static void Set(Slot& result, const Slot& source, DataType type, std::shared_ptr<Buffer> buffer) {
    result.view = {};
    result.view.type = type;
    result.view.shape = source.view.shape;
    result.elements = source.elements;
    result.buffer = std::move(buffer);
  }

  void CastNumbers(const Step& step, const Slot& source, Slot& result) {
    const CastPlan& plan = program_.plans[step.plan];
    auto buffer = AllocateNumbers(step, plan.to(), source.elements);
    const std::span<std::byte> data(buffer->bytes.get(), buffer->size);
    Check(step, plan.Run(source.view.data, 0, data, 0, source.elements, run_options_));
    Set(result, source, plan.to(), std::move(buffer));
    result.view.data = data;
  }

  void ParseTexts(const Step& step, const Slot& source, Slot& result) {
    const CastPlan& plan = program_.plans[step.plan];
    auto buffer = AllocateNumbers(step, plan.to(), source.elements);
    const std::span<std::byte> data(buffer->bytes.get(), buffer->size);
    ParseFailure failure;
    const Status status =
        plan.Parse(source.view.strings, 0, data, 0, source.elements, run_options_, &failure);
    if (status.code() == StatusCode::kNotANumber || status.code() == StatusCode::kNotAnInteger) {
      FailStep(step, status.code(),
               "the text at index " + std::to_string(failure.index) + ", \"" + failure.text +
                   "\", is " + std::string(text::UnparsedText(status.code())));
    }
    Check(step, status);
    Set(result, source, plan.to(), std::move(buffer));
    result.view.data = data;
  }

  void PrintTexts(const Step& step, const Slot& source, Slot& result) const {
    const CastPlan& plan = program_.plans[step.plan];
    const std::uint64_t n = source.elements;
    std::uint64_t bytes = 0;
    Check(step, plan.PrintedBytes(source.view.data, 0, n, &bytes, run_options_));
    auto buffer = std::make_shared<Buffer>();
    if (n >= SIZE_MAX / sizeof(std::uint64_t)) throw std::bad_alloc();
    buffer->offsets =
        std::make_unique_for_overwrite<std::uint64_t[]>(static_cast<std::size_t>(n) + 1);
    const std::span<std::uint64_t> offsets(buffer->offsets.get(), static_cast<std::size_t>(n) + 1);
    buffer->offset_count = offsets.size();
    Allocate(bytes, *buffer);
    const std::span<char> texts(reinterpret_cast<char*>(buffer->bytes.get()), buffer->size);
    Check(step, plan.Print(source.view.data, 0, n, offsets, texts, run_options_));
    Set(result, source, DataType::kString, std::move(buffer));
    result.view.strings = {offsets, texts};
  }

  const Program& program_;
  const GraphRun& run_;
  RunOptions run_options_;
  SpareBuffers spare_;
  std::vector<Slot> slots_;
  std::size_t first_register_ = 0;
};

}  // namespace

void Run(const Program& program, std::span<const TensorView> inputs, const GraphRun& run,
         Results* old, Results& outputs) {
  Runner(program, run, old).Run(inputs, outputs);
}

}  // namespace tensorcast::graph

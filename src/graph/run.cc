// One run of a program, whose results own their memory.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "core/failure.h"
#include "graph/interpreter.h"
#include "graph/program.h"
#include "words/error_text.h"

namespace tensorcast::graph {
namespace {

// Memory of the outputs that a run replaces. To get large buffers afresh from the system takes as
// long as to cast into them: each page is cleared first.
class SpareMemory final : public ResultMemory {
 public:
  explicit SpareMemory(Results* old) {
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

  // An input may be an output of the run before.
  std::shared_ptr<Buffer> Holding(const void* memory) const override {
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), at,
                         [](std::uintptr_t place, const Range& r) { return place < r.begin; });
    if (after == ranges_.begin()) return nullptr;
    const Range& range = *std::prev(after);
    return at - range.begin < range.size ? range.buffer : nullptr;
  }

  std::shared_ptr<Buffer> Take(std::size_t /*step*/, std::uint32_t /*reg*/, std::uint64_t bytes,
                               std::uint64_t offsets) override {
    if (offsets == 0) {
      if (std::shared_ptr<Buffer> spare = Reuse(bytes)) return spare;
    }
    auto buffer = std::make_shared<Buffer>();
    buffer->Allocate(bytes, offsets);
    return buffer;
  }

 private:
  // A buffer of just this size that nobody holds; none where the search would not pay.
  std::shared_ptr<Buffer> Reuse(std::uint64_t size) {
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

  struct Range {
    std::uintptr_t begin;
    std::size_t size;
    std::shared_ptr<Buffer> buffer;
  };
  std::vector<Range> ranges_;
};

}  // namespace

void Buffer::Allocate(std::uint64_t byte_count, std::uint64_t offsets_wanted) {
  if (offsets_wanted != 0) {
    offset_count = static_cast<std::size_t>(offsets_wanted);
    offsets = std::make_unique_for_overwrite<std::uint64_t[]>(offset_count);
  }
  size = static_cast<std::size_t>(byte_count);
  bytes = std::make_unique_for_overwrite<std::byte[]>(size);
}

void Run(const Program& program, std::span<const TensorView> inputs, const GraphRun& run,
         Results* old, Results& outputs) {
  if (inputs.size() != program.inputs.size()) {
    throw core::Failure(StatusCode::kBadInput, words::CountText(inputs.size(), "input") +
                                                   " given; the model has " +
                                                   std::to_string(program.inputs.size()));
  }
  SpareMemory memory(old);
  Interpreter interpreter(program, memory);
  for (std::size_t i = 0; i < inputs.size(); ++i) interpreter.SetInput(i, inputs[i]);
  interpreter.RunSteps(run, {});
  for (std::size_t i = 0; i < program.results.size(); ++i) {
    const Slot& slot = interpreter.Result(i);
    outputs.shapes.emplace_back(slot.view.shape.begin(), slot.view.shape.end());
    outputs.views.push_back(slot.view);
    outputs.buffers.push_back(slot.buffer);
  }
  for (std::size_t i = 0; i < outputs.views.size(); ++i) {
    outputs.views[i].shape = outputs.shapes[i];
  }
}

}  // namespace tensorcast::graph

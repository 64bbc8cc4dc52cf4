// The string calls of the public interface: their checks, and bulk over offsets and bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "core/failure.h"
#include "core/fp_environment.h"
#include "core/loss.h"
#include "core/range.h"
#include "core/slices.h"
#include "tensorcast/tensorcast.hpp"
#include "text/parse.h"
#include "text/print.h"

namespace tensorcast::text {
namespace {

// Below two of these, waking a second thread costs more than it saves.
constexpr std::uint64_t kLeastSlice = 2048;  // elements; some 0.1 ms of work
constexpr std::uint64_t kSlicesPerThread = 8;

// Slices that begin at multiples of eight elements of the destination, of whose first byte `before`
// elements stand before the run.
core::Slices Cut(std::uint64_t n, const Executor* executor, std::uint64_t before = 0) {
  const std::uint64_t threads = executor == nullptr ? 1 : executor->Concurrency();
  const bool is_alone = threads < 2 || n < 2 * kLeastSlice;
  return {n, (8 - before % 8) % 8, 8,
          is_alone ? 1 : std::min(threads * kSlicesPerThread, n / kLeastSlice)};
}

// Calls work(slice, begin, end) for each piece of `slices`, under the default floating-point
// environment; false where the run was interrupted.
template <class Work>
bool ForEach(const core::Slices& slices, const RunOptions& run, const Work& work) {
  return slices.ForEach(run.executor, run.interrupted, kInterruptStrings,
                        [&](std::size_t slice, std::uint64_t begin, std::uint64_t end) {
                          const core::FpEnvironment environment;
                          work(slice, begin, end);
                        });
}

// Whether a plan parses or prints, as the call does, and no loss is asked for.
StatusCode CheckCall(const CastPlan& plan, bool prints, const RunOptions& run) {
  if (plan.from() == DataType::kUndefined) return StatusCode::kInvalidType;
  if ((plan.from() == DataType::kString) == prints || (plan.to() == DataType::kString) != prints) {
    return StatusCode::kWrongCall;
  }
  return run.loss != nullptr ? StatusCode::kUnsupported : StatusCode::kOk;
}

// The type and the options of a single value.
Status CheckValue(DataType type, const CastOptions& options) {
  if (FindType(type) == nullptr) return Status(StatusCode::kInvalidType);
  if (!IsValid(options)) return Status(StatusCode::kInvalidOption);
  return Status(type == DataType::kString ? StatusCode::kWrongCall : StatusCode::kOk);
}

bool IsAligned(const void* offsets) {
  return reinterpret_cast<std::uintptr_t>(offsets) % alignof(std::uint64_t) == 0;
}

// What of strings [first, first + n) can be said without reading a table of offsets, which is not
// there where its size was a mistake: every other size is checked before it is read.
StatusCode CheckTable(std::span<const std::uint64_t> offsets, std::uint64_t first,
                      std::uint64_t n) {
  constexpr std::uint64_t kMostOffsets = SIZE_MAX / sizeof(std::uint64_t);
  if (!IsAligned(offsets.data())) return StatusCode::kMisaligned;
  if (first > UINT64_MAX - n || first + n >= kMostOffsets) return StatusCode::kSizeOverflow;
  if (n == 0) return StatusCode::kOk;
  if (offsets.data() == nullptr) return StatusCode::kNullPointer;
  return offsets.size() < first + n + 1 ? StatusCode::kBufferTooSmall : StatusCode::kOk;
}

// Whether strings [first, first + n), of a table that CheckTable has let pass, lie within their
// bytes.
StatusCode CheckOffsets(const Strings& strings, std::uint64_t first, std::uint64_t n) {
  if (n == 0) return StatusCode::kOk;
  const auto offsets =
      strings.offsets.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n) + 1);
  // Of numbers below 2^63 a difference has its top bit where they decrease; no offset is larger.
  std::uint64_t bits = offsets[0];
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    bits |= offsets[i] | (offsets[i] - offsets[i - 1]);
  }
  if (bits >> 63 != 0 || offsets.back() > strings.bytes.size()) return StatusCode::kBadOffsets;
  if (strings.bytes.data() == nullptr && offsets.back() != 0) return StatusCode::kNullPointer;
  return StatusCode::kOk;
}

// The offsets and bytes that n printed or copied strings are written to.
StatusCode CheckOutput(std::span<const std::uint64_t> offsets, std::span<const char> bytes,
                       std::uint64_t n) {
  if (!IsAligned(offsets.data())) return StatusCode::kMisaligned;
  if (n >= SIZE_MAX / sizeof(std::uint64_t)) return StatusCode::kSizeOverflow;
  if (offsets.data() == nullptr || (bytes.data() == nullptr && !bytes.empty())) {
    return StatusCode::kNullPointer;
  }
  return offsets.size() < n + 1 ? StatusCode::kBufferTooSmall : StatusCode::kOk;
}

template <class A, class B> bool Overlap(std::span<A> a, std::span<B> b) {
  const auto begin_a = reinterpret_cast<std::uintptr_t>(a.data());
  const auto begin_b = reinterpret_cast<std::uintptr_t>(b.data());
  return !a.empty() && !b.empty() && begin_a < begin_b + b.size_bytes() &&
         begin_b < begin_a + a.size_bytes();
}

void SetRan(const RunOptions& run) {
  if (run.ran != nullptr) *run.ran = Target::kScalar;  // text has no lanes
}

// Escapes to printable ASCII and cuts between two characters.
void SetFailure(std::string_view text, std::uint64_t index, ParseFailure* failure) {
  constexpr std::string_view kCut = "...";
  constexpr std::size_t kMost = sizeof(failure->text) - 1;
  constexpr char kHex[] = "0123456789ABCDEF";
  char escaped[kMost + 4];
  std::size_t size = 0;
  std::size_t cut = 0;  // the most that leaves room for kCut
  for (const char c : text) {
    if (size > kMost) break;
    if (size + kCut.size() <= kMost) cut = size;
    if (c >= ' ' && c <= '~' && c != '\\') {
      escaped[size++] = c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    for (const char part : {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]}) escaped[size++] = part;
  }
  *failure = {};
  failure->index = index;
  if (size > kMost) size = kCut.copy(escaped + cut, kCut.size()) + cut;
  std::memcpy(failure->text, escaped, size);
}

// The lowest index at which any slice failed.
class LowestFailure {
 public:
  bool IsBelow(std::uint64_t index) const { return index_.load(std::memory_order_relaxed) < index; }
  void Lower(std::uint64_t index) {
    std::uint64_t lowest = index_.load(std::memory_order_relaxed);
    while (index < lowest &&
           !index_.compare_exchange_weak(lowest, index, std::memory_order_relaxed)) {
    }
  }
  std::uint64_t index() const { return index_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> index_{UINT64_MAX};
};

// Elements of a buffer, to be printed.
struct PrintJob {
  PrintJob(const TypeInfo& type, StringStyle style, const std::byte* elements,
           std::uint64_t first_element)
      : print(PrinterOf(type, style)), source(elements), first(first_element) {}

  std::uint64_t Bytes(std::uint64_t begin, std::uint64_t end) const {
    constexpr std::size_t kAtOnce = 64;
    std::array<char, kAtOnce * kPrinterRoom> texts;
    std::array<std::uint64_t, kAtOnce> ends;
    std::uint64_t bytes = 0;
    for (std::uint64_t i = begin; i < end; i += kAtOnce) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kAtOnce, end - i));
      print(source, first + i, count, texts, 0, ends.data());
      bytes += ends[count - 1];
    }
    return bytes;
  }

  // Prints from bytes[at] on, and sets the offsets behind each text; false where it does not fit.
  bool Print(std::uint64_t begin, std::uint64_t end, std::uint64_t at,
             std::span<std::uint64_t> offsets, std::span<char> bytes) const {
    // A printer writes beyond its text; what is copied does not.
    std::array<char, 4096> block;
    for (std::uint64_t i = begin; i < end;) {
      i += print(source, first + i, static_cast<std::size_t>(end - i), block, at,
                 offsets.data() + i + 1);
      const std::uint64_t size = offsets[i] - at;
      if (size > bytes.size() - at) return false;
      std::memcpy(bytes.data() + at, block.data(), size);
      at += size;
    }
    return true;
  }

  // Prints n elements on several threads. A slice's place is known when those before it have been
  // printed: a wave of slices is printed beside the destination, then all of it is moved there.
  Status PrintShared(std::uint64_t n, std::span<std::uint64_t> offsets, std::span<char> bytes,
                     const RunOptions& run) const {
    constexpr std::size_t kRoom = kLeastSlice * kLongestPrinted;  // 64 KiB a slice
    constexpr std::uint64_t kSlicesOfWave = 32;                   // for each thread
    const std::uint64_t most = std::min(std::uint64_t{run.executor->Concurrency()} * kSlicesOfWave,
                                        (n - 1) / kLeastSlice + 1);
    std::unique_ptr<char[]> printed;
    std::vector<std::uint64_t> places;
    const Status allocated = core::Guarded(nullptr, [&] {
      printed = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(most) * kRoom);
      places.resize(static_cast<std::size_t>(most) + 1);
      return Status();
    });
    if (!allocated.ok()) return allocated;
    for (std::uint64_t done = 0; done < n; done += most * kLeastSlice) {
      const std::uint64_t count = std::min(most * kLeastSlice, n - done);
      const core::Slices slices(count, 0, kLeastSlice, (count - 1) / kLeastSlice + 1);
      const auto room = [&](std::size_t slice) {
        return std::span(printed.get() + slice * kRoom, kRoom);
      };
      std::fill(places.begin() + 1, places.end(), 0);
      places[0] = offsets[done];
      const bool ended =
          ForEach(slices, run, [&](std::size_t slice, std::uint64_t begin, std::uint64_t end) {
            std::uint64_t& size = places[slice + 1];
            Print(done + begin, done + end, size, offsets, room(slice));
            size = offsets[done + end];
          });
      if (!ended) return Status(StatusCode::kInterrupted);
      for (std::size_t i = 0; i < slices.count; ++i) places[i + 1] += places[i];
      if (places[slices.count] > bytes.size()) return Status(StatusCode::kBufferTooSmall);
      // Not to be interrupted: offsets count from their slice until this has ended.
      RunOptions move;
      move.executor = run.executor;
      ForEach(slices, move, [&](std::size_t slice, std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t place = places[slice];
        std::memcpy(bytes.data() + place, room(slice).data(),
                    static_cast<std::size_t>(places[slice + 1] - place));
        for (std::uint64_t i = done + begin; i < done + end; ++i) offsets[i + 1] += place;
      });
    }
    return Status();
  }

  Printer print;
  const std::byte* source;
  std::uint64_t first;
};

}  // namespace
}  // namespace tensorcast::text

namespace tensorcast {
inline namespace TENSORCAST_ABI {

Status CastPlan::Parse(const Strings& source, std::uint64_t source_first,
                       std::span<std::byte> destination, std::uint64_t destination_first,
                       std::uint64_t n, const RunOptions& run, ParseFailure* failure) const {
  StatusCode code = text::CheckCall(*this, /*prints=*/false, run);
  if (code != StatusCode::kOk) return Status(code);
  const TypeInfo& to = detail::Row(to_);
  code = text::CheckTable(source.offsets, source_first, n);
  if (code != StatusCode::kOk) return Status(code);
  code = core::CheckRange(to, destination.data(), destination.size(), destination_first, n);
  if (code != StatusCode::kOk) return Status(code);
  code = text::CheckOffsets(source, source_first, n);
  if (code != StatusCode::kOk) return Status(code);
  if (n != 0 &&
      (text::Overlap(source.bytes, destination) || text::Overlap(source.offsets, destination))) {
    return Status(StatusCode::kOverlap);
  }
  text::SetRan(run);

  const core::Slices slices = text::Cut(n, run.executor, destination_first);
  text::LowestFailure lowest;
  const text::Parser parser(to, options_);
  const bool ended =
      text::ForEach(slices, run, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
        if (lowest.IsBelow(begin)) return;
        const std::uint64_t parsed =
            parser.ParseAll({source.offsets.subspan(static_cast<std::size_t>(source_first + begin),
                                                    static_cast<std::size_t>(end - begin) + 1),
                             source.bytes},
                            destination.data(), destination_first + begin);
        if (parsed < end - begin) lowest.Lower(begin + parsed);
      });
  if (!ended) return Status(StatusCode::kInterrupted);
  if (lowest.index() == UINT64_MAX) return Status();
  const std::uint64_t index = source_first + lowest.index();
  if (failure != nullptr) text::SetFailure(source[index], index, failure);
  std::uint64_t element = 0;
  const core::FpEnvironment environment;
  return Status(parser.Parse(source[index], &element));
}

Status CastPlan::PrintedBytes(std::span<const std::byte> source, std::uint64_t source_first,
                              std::uint64_t n, std::uint64_t* bytes, const RunOptions& run) const {
  StatusCode code = text::CheckCall(*this, /*prints=*/true, run);
  if (code != StatusCode::kOk) return Status(code);
  if (bytes == nullptr) return Status(StatusCode::kNullPointer);
  const TypeInfo& from = detail::Row(from_);
  code = core::CheckRange(from, source.data(), source.size(), source_first, n);
  if (code != StatusCode::kOk) return Status(code);
  text::SetRan(run);

  const text::PrintJob job(from, options_.string_style, source.data(), source_first);
  const core::Slices slices = text::Cut(n, run.executor);
  std::atomic<std::uint64_t> total{0};
  const bool ended =
      text::ForEach(slices, run, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
        total.fetch_add(job.Bytes(begin, end), std::memory_order_relaxed);
      });
  if (!ended) return Status(StatusCode::kInterrupted);
  *bytes = total.load(std::memory_order_relaxed);
  return Status();
}

Status CastPlan::Print(std::span<const std::byte> source, std::uint64_t source_first,
                       std::uint64_t n, std::span<std::uint64_t> offsets, std::span<char> bytes,
                       const RunOptions& run) const {
  StatusCode code = text::CheckCall(*this, /*prints=*/true, run);
  if (code != StatusCode::kOk) return Status(code);
  const TypeInfo& from = detail::Row(from_);
  code = core::CheckRange(from, source.data(), source.size(), source_first, n);
  if (code != StatusCode::kOk) return Status(code);
  code = text::CheckOutput(offsets, bytes, n);
  if (code != StatusCode::kOk) return Status(code);
  if (n != 0 && bytes.data() == nullptr) return Status(StatusCode::kNullPointer);  // none is empty
  offsets = offsets.first(static_cast<std::size_t>(n) + 1);
  if (text::Overlap(source, bytes) || text::Overlap(source, offsets) ||
      text::Overlap(offsets, bytes)) {
    return Status(StatusCode::kOverlap);
  }
  text::SetRan(run);

  const text::PrintJob job(from, options_.string_style, source.data(), source_first);
  offsets[0] = 0;
  if (text::Cut(n, run.executor).count > 1) return job.PrintShared(n, offsets, bytes, run);
  bool fits = true;
  const bool ended =
      text::ForEach({n, 0, 8, 1}, run, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
        fits = fits && job.Print(begin, end, offsets[begin], offsets, bytes);
      });
  if (!ended) return Status(StatusCode::kInterrupted);
  return fits ? Status() : Status(StatusCode::kBufferTooSmall);
}

// ------------------------------------------------------------------------------ one-shot calls

Status ParseStrings(const Strings& source, DataType to, std::span<std::byte> destination,
                    const CastOptions& options, const RunOptions& run, ParseFailure* failure) {
  CastPlan plan;
  Status status = CastPlan::Bind(DataType::kString, to, options, &plan);
  if (!status.ok()) return status;
  const std::uint64_t n = source.size();
  status = plan.Parse(source, 0, destination, 0, n, run, failure);
  if (status.ok() && n != 0) core::ClearPadBits(detail::Row(to), n, destination);
  return status;
}

Status PrintedStringBytes(DataType from, std::span<const std::byte> source, std::uint64_t n,
                          std::uint64_t* bytes, const CastOptions& options, const RunOptions& run) {
  CastPlan plan;
  const Status status = CastPlan::Bind(from, DataType::kString, options, &plan);
  return status.ok() ? plan.PrintedBytes(source, 0, n, bytes, run) : status;
}

Status PrintStrings(DataType from, std::span<const std::byte> source, std::uint64_t n,
                    std::span<std::uint64_t> offsets, std::span<char> bytes,
                    const CastOptions& options, const RunOptions& run) {
  CastPlan plan;
  const Status status = CastPlan::Bind(from, DataType::kString, options, &plan);
  return status.ok() ? plan.Print(source, 0, n, offsets, bytes, run) : status;
}

Status CopyStrings(const Strings& source, std::span<std::uint64_t> offsets, std::span<char> bytes) {
  const std::uint64_t n = source.size();
  if (source.offsets.empty() && offsets.empty()) return Status();  // no strings, and no tables
  StatusCode code = text::CheckTable(source.offsets, 0, n);
  if (code != StatusCode::kOk) return Status(code);
  code = text::CheckOutput(offsets, bytes, n);
  if (code != StatusCode::kOk) return Status(code);
  code = text::CheckOffsets(source, 0, n);
  if (code != StatusCode::kOk) return Status(code);
  offsets = offsets.first(static_cast<std::size_t>(n) + 1);
  if (text::Overlap(source.bytes, bytes) || text::Overlap(source.bytes, offsets) ||
      text::Overlap(source.offsets, bytes) || text::Overlap(source.offsets, offsets) ||
      text::Overlap(offsets, bytes)) {
    return Status(StatusCode::kOverlap);
  }
  const std::uint64_t begin = n == 0 ? 0 : source.offsets[0];
  const std::uint64_t size = n == 0 ? 0 : source.offsets[static_cast<std::size_t>(n)] - begin;
  if (size > bytes.size()) return Status(StatusCode::kBufferTooSmall);
  offsets[0] = 0;
  for (std::uint64_t i = 1; i <= n; ++i) offsets[i] = source.offsets[i] - begin;
  if (size != 0) std::memcpy(bytes.data(), source.bytes.data() + begin, size);
  return Status();
}

Status ParseValue(std::string_view text, DataType to, std::uint64_t* code,
                  const CastOptions& options) {
  if (const Status status = text::CheckValue(to, options); !status.ok()) return status;
  if (code == nullptr || (text.data() == nullptr && !text.empty())) {
    return Status(StatusCode::kNullPointer);
  }
  const core::FpEnvironment environment;
  return Status(text::Parser(detail::Row(to), options).Parse(text, code));
}

Status PrintValue(DataType from, std::uint64_t code, std::span<char, kLongestPrinted> buffer,
                  std::string_view* text, const CastOptions& options) {
  if (const Status status = text::CheckValue(from, options); !status.ok()) return status;
  if (text == nullptr || buffer.data() == nullptr) return Status(StatusCode::kNullPointer);
  const core::FpEnvironment environment;
  const TypeInfo& row = detail::Row(from);
  std::byte element[8] = {};
  detail::StoreCode(element, 0, row.bits, code);
  std::array<char, text::kPrinterRoom> printed;
  std::uint64_t size = 0;
  text::PrinterOf(row, options.string_style)(element, 0, 1, printed, 0, &size);
  *text = {buffer.data(), static_cast<std::size_t>(size)};
  std::memcpy(buffer.data(), printed.data(), text->size());
  return Status();
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

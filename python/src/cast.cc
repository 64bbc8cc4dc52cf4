// This file casts between the memories of arrays.
//
// SPDX-License-Identifier: Apache-2.0
#include "cast.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "byte_integers.h"
#include "errors.h"
#include "tensorcast/explain.hpp"
#include "text_objects.h"
#include "threads.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

constexpr std::uint64_t kKeepGilBytes = 1 << 14;  // for fewer, giving it back costs more
constexpr std::uint64_t kPackedAtOnce = std::uint64_t{1} << 20;  // in elements
constexpr std::uint64_t kPieceBytes = 1 << 13;                   // a multiple of 1024

bool IsNarrow(DataType type) { return FindType(type)->is_packed(); }

// Gives a plan of default options, bound when it is first asked for. The caller holds the GIL.
const CastPlan& DefaultPlan(DataType from, DataType to) {
  // Never destroyed: a daemon thread may be at work until the process has ended.
  static auto& plans = *new std::array<std::unique_ptr<CastPlan>, kTypeNumbers * kTypeNumbers>;
  auto& plan = plans[static_cast<std::size_t>(from) * kTypeNumbers + static_cast<std::size_t>(to)];
  if (plan == nullptr) {
    auto bound = std::make_unique<CastPlan>();
    Check(CastPlan::Bind(from, to, {}, bound.get()));
    plan = std::move(bound);
  }
  return *plan;
}

// Gives a plan of any options; the last few are kept. The caller holds the GIL while it uses it.
const CastPlan& RecentPlan(DataType from, DataType to, const CastOptions& options) {
  static std::array<CastPlan, 16> plans;
  static std::size_t next = 0;
  for (const CastPlan& plan : plans) {
    if (plan.from() == from && plan.to() == to && plan.options() == options) return plan;
  }
  CastPlan bound;
  Check(CastPlan::Bind(from, to, options, &bound));
  CastPlan& plan = plans[next++ % plans.size()];
  return plan = bound;
}

// The integer of eight bits with the values of a narrower one.
DataType EightBits(DataType type) {
  return FindType(type)->type_class == TypeClass::kSigned ? DataType::kInt8 : DataType::kUint8;
}

// Casts integers one to a byte, a piece at a time, on as many threads as there are.
Status MovePieces(const CastRequest& request, std::span<const std::byte> source,
                  std::span<std::byte> result, std::uint64_t n, const RunOptions& options) {
  const auto move = [&](std::size_t piece) {
    if (options.interrupted != nullptr && *options.interrupted) return;
    const std::uint64_t first = piece * kPackedAtOnce;
    MoveIntegers(request.from, request.to, source.data() + first * ElementBytes(request.from),
                 result.data() + first * ElementBytes(request.to),
                 std::min(kPackedAtOnce, n - first));
  };
  const auto pieces = static_cast<std::size_t>((n + kPackedAtOnce - 1) / kPackedAtOnce);
  if (options.executor != nullptr) {
    options.executor->ParallelFor(
        pieces,
        [](void* context, std::size_t piece) { (*static_cast<decltype(move)*>(context))(piece); },
        const_cast<void*>(static_cast<const void*>(&move)));
  } else {
    for (std::size_t piece = 0; piece < pieces; ++piece) move(piece);
  }
  const bool is_interrupted = options.interrupted != nullptr && *options.interrupted;
  return Status(is_interrupted ? StatusCode::kInterrupted : StatusCode::kOk);
}

}  // namespace

Status RunPieces(const CastPlan& plan, const CastRequest& request,
                 std::span<const std::byte> source, std::span<std::byte> result, std::uint64_t n,
                 const RunOptions& options) {
  const bool widens = plan.from() != request.from;
  const bool packs = IsNarrow(request.from) && !request.source_is_packed && !widens;
  const bool unpacks = IsNarrow(request.to) && !request.result_is_packed;
  if (!packs && !unpacks && !widens) return plan.Run(source, 0, result, 0, n, options);
  // Pieces that stay in the first cache; several threads want larger ones.
  std::array<std::byte, kPieceBytes> near_read;     // NOLINT: written before it is read
  std::array<std::byte, kPieceBytes> near_written;  // NOLINT: likewise
  std::vector<std::byte> far;
  std::span<std::byte> read(near_read);
  std::span<std::byte> written(near_written);
  std::uint64_t at_once = kPieceBytes;
  if (options.executor != nullptr) {
    at_once = std::min(n, kPackedAtOnce);
    far.resize(2 * at_once);
    read = std::span(far).first(at_once);
    written = std::span(far).subspan(at_once);
  }
  RunOptions run = options;
  Status status;
  for (std::uint64_t first = 0; first < n && status.ok(); first += at_once) {
    const std::uint64_t count = std::min(at_once, n - first);
    if (packs) status = Pack(request.from, source.subspan(first, count), read, 0, count);
    if (widens) {
      MoveIntegers(request.from, plan.from(), source.data() + first, read.data(), count);
    }
    run.loss_index = options.loss_index + first;
    const bool reads = packs || widens;
    if (status.ok()) {
      status = plan.Run(reads ? read : source, reads ? 0 : first, unpacks ? written : result,
                        unpacks ? 0 : first, count, run);
    }
    if (status.ok() && unpacks) {
      status = Unpack(request.to, written, 0, result.subspan(first, count), count);
    }
  }
  return status;
}

void CheckRoom(DataType type, bool is_packed, std::uint64_t n, std::size_t bytes) {
  const bool is_number = FindType(type) != nullptr && type != DataType::kString;
  const auto needed = is_number && is_packed ? StorageBytes(type, n) : std::nullopt;
  if (!is_number || (is_packed ? !needed || *needed > bytes : n > bytes / ElementBytes(type))) {
    Raise(ErrorClass::kValue, "an array is shorter than its elements need");
  }
}

void CastElements(const CastRequest& request, std::span<const std::byte> source,
                  std::span<std::byte> result, std::uint64_t n) {
  if (n == 0) return;
  const std::uint64_t bytes = source.size() + result.size();
  // The bits behind the last packed element are zero, and a cast leaves them as they are.
  if (request.result_is_packed && !result.empty()) result.back() = std::byte{0};

  const bool reads_bytes = IsNarrowInteger(request.from) && !request.source_is_packed;
  const bool writes_bytes = !IsNarrow(request.to) || !request.result_is_packed;
  const bool is_measured = request.loss != nullptr;
  const bool moves = (reads_bytes || !IsNarrow(request.from)) && writes_bytes && !is_measured &&
                     MovesIntegers(request.from, request.to);
  const CastPlan* plan = nullptr;
  CastPlan own;
  if (!moves) {
    const DataType from = reads_bytes && !is_measured ? EightBits(request.from) : request.from;
    if (request.options == CastOptions{}) {
      plan = &DefaultPlan(from, request.to);
    } else {
      plan = &RecentPlan(from, request.to, request.options);
      if (bytes >= kKeepGilBytes) plan = &(own = *plan);
    }
  }

  RunOptions run;
  run.loss = request.loss;
  CallThreads threads(ThreadsFor(request.threads, bytes));
  if (threads.Concurrency() > 1) run.executor = &threads;
  const auto work = [&] {
    return moves ? MovePieces(request, source, result, n, run)
                 : RunPieces(*plan, request, source, result, n, run);
  };
  Status status;
  if (bytes < kKeepGilBytes) {
    status = work();
  } else {
    RunWork(
        bytes,
        [&](const std::atomic<bool>& interrupted) {
          run.interrupted = &interrupted;
          status = work();
        },
        request.loss == nullptr ? kInterruptibleCast : kInterruptible);
  }
  Check(status);
}

// ------------------------------------------------------------------------------ options

void SetWord(CastOption option, std::string_view word, CastOptions* options) {
  if (SetCastOption(option, word, options)) return;
  const auto known = CastOptionValues(option);
  RaiseNotOneOf(CastOptionName(option), std::vector<std::string>(known.begin(), known.end()), word);
}

void SetOption(CastOption option, PyObject* value, CastOptions* options) {
  if (option == CastOption::kSaturate) {
    const bool is_number = PyLong_Check(value) != 0 || PyArray_IsScalar(value, Bool);
    const int truth = is_number ? PyObject_IsTrue(value) : -1;
    if (truth < 0) {
      PyErr_Clear();
      Raise(ErrorClass::kKind, "saturate must be True or False");
    }
    options->saturate = truth != 0;
    return;
  }
  Py_ssize_t size = 0;
  const char* const word =
      PyUnicode_Check(value) != 0 ? PyUnicode_AsUTF8AndSize(value, &size) : nullptr;
  if (word == nullptr) PyErr_Clear();  // SetWord raises then
  SetWord(option, word == nullptr ? "" : std::string_view(word, static_cast<std::size_t>(size)),
          options);
}

std::optional<CastOption> OptionNamed(PyObject* name) {
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    // The name is a literal, so it ends with a NUL.
    if (PyUnicode_CompareWithASCIIString(name, CastOptionName(option).data()) == 0) return option;
  }
  return std::nullopt;
}

CastOptions OptionsOf(const nb::dict& options) {
  CastOptions result;
  for (const auto& [name, value] : options) {
    const auto option = PyUnicode_Check(name.ptr()) != 0 ? OptionNamed(name.ptr()) : std::nullopt;
    if (!option) {
      Raise(ErrorClass::kKind, "a cast has no option " + nb::cast<std::string>(nb::repr(name)));
    }
    SetOption(*option, value.ptr(), &result);
  }
  return result;
}

void BindCast(nb::module_& m) {
  m.attr("cast_options") =
      nb::tuple(ListOf(std::views::iota(std::size_t{0}, kCastOptions), [](std::size_t i) {
        return ToStr(CastOptionName(static_cast<CastOption>(i)));
      }));

  // Casts n elements from one dense array's memory into another's.
  m.def(
      "cast_into",
      [](nb::handle source, int from, nb::handle result, int to, std::uint64_t n,
         const nb::dict& options, bool source_is_packed, bool result_is_packed,
         std::optional<std::size_t> threads, LossMeter* loss) {
        CastRequest request;
        request.from = static_cast<DataType>(from);
        request.to = static_cast<DataType>(to);
        request.options = OptionsOf(options);
        request.source_is_packed = source_is_packed;
        request.result_is_packed = result_is_packed;
        request.threads = threads;
        request.loss = loss;
        const auto read = BytesOf(DenseArgument(source, "source"));
        const auto written = WritableBytesOf(WritableArgument(result, "out"));
        CheckRoom(request.from, source_is_packed, n, read.size());
        CheckRoom(request.to, result_is_packed, n, written.size());
        CastElements(request, read, written, n);
      },
      nb::arg("source"), nb::arg("from_"), nb::arg("result"), nb::arg("to"), nb::arg("n"),
      nb::arg("options"), nb::arg("source_is_packed"), nb::arg("result_is_packed"),
      nb::arg("threads").none(), nb::arg("loss").none());
}

}  // namespace tensorcast::python

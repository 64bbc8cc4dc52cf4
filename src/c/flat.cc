// The flat C interface: whole tasks.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/flat.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "c/flat_call.h"
#include "core/shape.h"
#include "tensorcast/onnx.hpp"

using namespace tensorcast;

namespace tensorcast::c {
namespace {

static_assert(TENSORCAST_COUNT_ELEMENTS >= kLossKinds);

// Elements that are cast at once where the results are not kept; a multiple of 1,024.
constexpr std::uint64_t kMeasuredElements = std::uint64_t{1} << 20;

std::uint64_t StoredBytes(DataType type, std::uint64_t elements) {
  const std::optional<std::uint64_t> bytes = StorageBytes(type, elements);
  if (!bytes) {
    Refuse(StatusCode::kSizeOverflow, std::to_string(elements) + " elements of " +
                                          std::string(TypeName(type)) +
                                          " take more than 2^64 - 1 bits");
  }
  return *bytes;
}

// The elements of a tensor, whose data is as much as its shape takes.
std::uint64_t CheckedElements(const TensorView& tensor) {
  const std::uint64_t elements = *core::CheckedProduct(tensor.shape);  // the holder saw that it is
  const bool is_text = tensor.type == DataType::kString;
  const std::uint64_t wanted = is_text ? 0 : StoredBytes(tensor.type, elements);
  if (!is_text && tensor.data.size() != wanted) {
    Refuse(StatusCode::kBadInput, "the shape takes " + std::to_string(wanted) + " bytes; " +
                                      std::to_string(tensor.data.size()) + " are given");
  }
  return elements;
}

// Where the results of a cast go.
struct Room {
  std::span<std::byte> bytes;
  std::span<std::int64_t> lengths;
  std::uint64_t* needed = nullptr;

  // Says how many bytes are needed; whether the caller asks for no more than that, who has no room
  // for them. Throws kBufferTooSmall where there is too little.
  bool Asks(std::uint64_t texts, std::uint64_t wanted) const {
    Give(wanted, needed);
    if (bytes.empty() && needed != nullptr && (wanted != 0 || lengths.size() < texts)) return true;
    CheckRoom(lengths.size(), texts, "out_lengths");
    CheckRoom(bytes.size(), wanted, "out");
    return false;
  }
};

Status ParseTensor(const TensorView& tensor, DataType to, std::span<std::byte> out,
                   const CastOptions& options, const RunOptions& run) {
  ParseFailure failure;
  const Status status = ParseStrings(tensor.strings, to, out, options, run, &failure);
  if (status.code() == StatusCode::kNotANumber || status.code() == StatusCode::kNotAnInteger) {
    Refuse(status.code(), "string " + std::to_string(failure.index) + ", \"" + failure.text +
                              "\": " + std::string(status.message()));
  }
  return status;
}

void WriteLengths(std::span<const std::uint64_t> offsets, std::span<std::int64_t> lengths) {
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    lengths[i] = static_cast<std::int64_t>(offsets[i + 1] - offsets[i]);
  }
}

Status PrintTensor(const TensorView& tensor, std::uint64_t n, const Room& room,
                   const CastOptions& options, const RunOptions& run) {
  std::uint64_t printed = 0;
  const Status status = PrintedStringBytes(tensor.type, tensor.data, n, &printed, options, run);
  if (!status.ok()) return status;
  if (room.Asks(n, printed)) return {};
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(n) + 1);
  const std::span<char> texts(reinterpret_cast<char*>(room.bytes.data()), room.bytes.size());
  const Status done = PrintStrings(tensor.type, tensor.data, n, offsets, texts, options, run);
  if (done.ok()) WriteLengths(offsets, room.lengths);
  return done;
}

Status CopyTexts(const TensorView& tensor, std::uint64_t n, const Room& room) {
  if (room.Asks(n, tensor.strings.bytes.size())) return {};
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(n) + 1);
  const Status done = CopyStrings(tensor.strings, offsets,
                                  {reinterpret_cast<char*>(room.bytes.data()), room.bytes.size()});
  if (done.ok()) WriteLengths(offsets, room.lengths);
  return done;
}

Status CastTensor(const TensorView& tensor, DataType to, const Room& room,
                  const CastOptions& options, const RunOptions& run) {
  const std::uint64_t n = CheckedElements(tensor);
  const bool is_text = tensor.type == DataType::kString;
  if (to == DataType::kString) {
    return is_text ? CopyTexts(tensor, n, room) : PrintTensor(tensor, n, room, options, run);
  }
  const std::uint64_t bytes = StoredBytes(to, n);
  if (room.Asks(0, bytes)) return {};
  const std::span<std::byte> out = room.bytes.first(static_cast<std::size_t>(bytes));
  return is_text ? ParseTensor(tensor, to, out, options, run)
                 : Cast(tensor.type, tensor.data, to, out, n, options, run);
}

Status MeasureLoss(const CastPlan& plan, std::span<const std::byte> source, std::uint64_t n,
                   LossMeter& meter, RunOptions run) {
  std::vector<std::byte> results(static_cast<std::size_t>(
      StoredBytes(plan.to(), std::min<std::uint64_t>(n, kMeasuredElements))));
  run.loss = &meter;
  for (std::uint64_t at = 0; at < n; at += kMeasuredElements) {
    run.loss_index = at;
    const std::uint64_t some = std::min(kMeasuredElements, n - at);
    const Status status = plan.Run(source, at, results, 0, some, run);
    if (!status.ok()) return status;
  }
  return {};
}

void GiveLoss(const LossReport& report, std::int64_t* counts, double* figures) {
  std::fill_n(counts, TENSORCAST_COUNTS, 0);
  const auto count = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  std::transform(std::begin(report.counts), std::end(report.counts), counts, count);
  counts[TENSORCAST_COUNT_ELEMENTS] = count(report.elements);
  counts[TENSORCAST_COUNT_COMPARED] = count(report.compared);
  counts[TENSORCAST_COUNT_COMPARED_NONZERO] = count(report.compared_nonzero);
  counts[TENSORCAST_COUNT_FINITE] = count(report.finite);
  figures[TENSORCAST_FIGURE_MAX_ABS_ERROR] = report.max_abs_error;
  figures[TENSORCAST_FIGURE_MAX_REL_ERROR] = report.max_rel_error;
  figures[TENSORCAST_FIGURE_RMSE] = report.rmse;
  figures[TENSORCAST_FIGURE_SNR_DB] = report.snr_db;
  figures[TENSORCAST_FIGURE_SUM_SQUARES] = report.sum_squares;
  figures[TENSORCAST_FIGURE_SUM_SQUARED_ERROR] = report.sum_squared_error;
  figures[TENSORCAST_FIGURE_AMAX] = report.amax;
  figures[TENSORCAST_FIGURE_SMALLEST_NONZERO] = report.smallest_nonzero;
}

}  // namespace
}  // namespace tensorcast::c

std::int32_t tensorcast_cast_tensor_with_options(
    const void* bytes, std::uint64_t bytes_size, const std::int64_t* shape, std::uint64_t rank,
    std::int32_t type, const std::int64_t* lengths, std::uint64_t lengths_count, std::int32_t to,
    std::int32_t saturate, std::int32_t round_mode, std::int32_t integer_overflow,
    std::int32_t fnuz_infinity, std::int32_t finite_only_nan, std::int32_t string_style,
    tensorcast_executor* executor, const tensorcast_interrupt* interrupt, void* out,
    std::uint64_t out_bytes, std::int64_t* out_lengths, std::uint64_t out_lengths_count,
    std::uint64_t* needed) {
  c::Clear(needed);
  const std::int32_t code = c::FlatCall(nullptr, [&](std::string*) {
    const CastOptions options = c::CastOptionsOf(
        {saturate, round_mode, integer_overflow, fnuz_infinity, finite_only_nan, string_style});
    const DataType destination = c::TypeOf(to, "to");
    (void)c::TypeOf(type, "type");
    c::TensorHolder tensor;
    tensor.Take({bytes, bytes_size, shape, rank, type, lengths, lengths_count}, false);
    c::CheckBytes(out, out_bytes, "out");
    const c::Room room = {c::Bytes(out, out_bytes),
                          c::Table(out_lengths, out_lengths_count, "out_lengths"), needed};
    return c::CastTensor(tensor.view, destination, room, options,
                         c::RunOf<RunOptions>(executor, interrupt));
  });
  if (code != TENSORCAST_OK && code != TENSORCAST_BUFFER_TOO_SMALL) c::Clear(needed);
  return code;
}

std::int32_t tensorcast_cast_tensor(
    const void* bytes, std::uint64_t bytes_size, const std::int64_t* shape, std::uint64_t rank,
    std::int32_t type, const std::int64_t* lengths, std::uint64_t lengths_count, std::int32_t to,
    std::int32_t saturate, std::int32_t round_mode, tensorcast_executor* executor,
    const tensorcast_interrupt* interrupt, void* out, std::uint64_t out_bytes,
    std::int64_t* out_lengths, std::uint64_t out_lengths_count, std::uint64_t* needed) {
  return tensorcast_cast_tensor_with_options(
      bytes, bytes_size, shape, rank, type, lengths, lengths_count, to, saturate, round_mode, 0, 0,
      0, 0, executor, interrupt, out, out_bytes, out_lengths, out_lengths_count, needed);
}

std::int32_t tensorcast_measure_loss_with_options(
    std::int32_t from, std::int32_t to, std::int32_t saturate, std::int32_t round_mode,
    std::int32_t integer_overflow, std::int32_t fnuz_infinity, std::int32_t finite_only_nan,
    std::int32_t string_style, const void* bytes, std::uint64_t bytes_size, std::uint64_t n,
    tensorcast_executor* executor, const tensorcast_interrupt* interrupt, std::int64_t* counts,
    std::uint64_t counts_count, double* figures, std::uint64_t figures_count) {
  return c::FlatCall(nullptr, [&](std::string*) {
    const CastOptions options = c::CastOptionsOf(
        {saturate, round_mode, integer_overflow, fnuz_infinity, finite_only_nan, string_style});
    const DataType source = c::TypeOf(from, "from");
    const DataType result = c::TypeOf(to, "to");
    if (source == DataType::kString || result == DataType::kString) {
      c::Refuse(StatusCode::kUnsupported, "casts of strings are not measured");
    }
    c::CheckTable(counts, counts_count, "counts");
    c::CheckTable(figures, figures_count, "figures");
    c::CheckRoom(counts_count, TENSORCAST_COUNTS, "counts");
    c::CheckRoom(figures_count, TENSORCAST_FIGURES, "figures");
    c::CheckBytes(bytes, bytes_size, "bytes");
    if (bytes_size != c::StoredBytes(source, n)) {
      c::Refuse(StatusCode::kBadInput, std::to_string(n) + " elements of " +
                                           std::string(TypeName(source)) + " take " +
                                           std::to_string(c::StoredBytes(source, n)) + " bytes; " +
                                           std::to_string(bytes_size) + " are given");
    }
    CastPlan plan;
    const Status bound = CastPlan::Bind(source, result, options, &plan);
    if (!bound.ok()) return bound;
    LossMeter meter(source, result, options);
    const Status status = c::MeasureLoss(plan, c::Bytes(bytes, bytes_size), n, meter,
                                         c::RunOf<RunOptions>(executor, interrupt));
    if (status.ok()) c::GiveLoss(meter.Report(), counts, figures);
    return status;
  });
}

std::int32_t tensorcast_measure_loss(std::int32_t from, std::int32_t to, std::int32_t saturate,
                                     std::int32_t round_mode, const void* bytes,
                                     std::uint64_t bytes_size, std::uint64_t n,
                                     tensorcast_executor* executor,
                                     const tensorcast_interrupt* interrupt, std::int64_t* counts,
                                     std::uint64_t counts_count, double* figures,
                                     std::uint64_t figures_count) {
  return tensorcast_measure_loss_with_options(from, to, saturate, round_mode, 0, 0, 0, 0, bytes,
                                              bytes_size, n, executor, interrupt, counts,
                                              counts_count, figures, figures_count);
}

std::int32_t tensorcast_store_model_with_options(
    const char* input, const char* output, const char* pattern, std::int32_t to,
    std::int32_t saturate, std::int32_t round_mode, std::int32_t integer_overflow,
    std::int32_t fnuz_infinity, std::int32_t finite_only_nan, std::int32_t string_style,
    std::int32_t all_chosen, std::int32_t overwrite, tensorcast_executor* executor,
    const tensorcast_interrupt* interrupt, std::uint64_t* stored) {
  c::Clear(stored);
  return c::FlatCall(nullptr, [&](std::string* text) {
    c::CheckGiven(input, "input");
    c::CheckGiven(output, "output");
    auto options = c::RunOf<onnx::StorageOptions>(executor, interrupt);
    options.cast = c::CastOptionsOf(
        {saturate, round_mode, integer_overflow, fnuz_infinity, finite_only_nan, string_style});
    options.all_chosen = c::Truth(all_chosen, "all_chosen");
    options.overwrite = c::Truth(overwrite, "overwrite");
    std::vector<onnx::StoredTensor> tensors;
    const std::string_view chosen = c::TextOf(pattern);
    const Status status = onnx::ConvertStorage(input, output, chosen.empty() ? "*" : chosen,
                                               c::TypeOf(to, "to"), options, &tensors, text);
    if (status.ok()) {
      c::Give(static_cast<std::uint64_t>(std::count_if(
                  tensors.begin(), tensors.end(),
                  [](const onnx::StoredTensor& each) { return each.to != DataType::kUndefined; })),
              stored);
    }
    return status;
  });
}

std::int32_t tensorcast_store_model(const char* input, const char* output, const char* pattern,
                                    std::int32_t to, std::int32_t saturate, std::int32_t round_mode,
                                    std::int32_t all_chosen, std::int32_t overwrite,
                                    tensorcast_executor* executor,
                                    const tensorcast_interrupt* interrupt, std::uint64_t* stored) {
  return tensorcast_store_model_with_options(input, output, pattern, to, saturate, round_mode, 0, 0,
                                             0, 0, all_chosen, overwrite, executor, interrupt,
                                             stored);
}

std::int32_t tensorcast_optimize_model(const char* input, const char* output, std::int32_t fold_all,
                                       std::int32_t nan_payloads_may_change, std::int32_t overwrite,
                                       const tensorcast_interrupt* interrupt,
                                       std::uint64_t* removed) {
  c::Clear(removed);
  return c::FlatCall(nullptr, [&](std::string* text) {
    c::CheckGiven(input, "input");
    c::CheckGiven(output, "output");
    onnx::OptimizeOptions options = c::OptimizeOptionsOf(fold_all, nan_payloads_may_change);
    options.overwrite = c::Truth(overwrite, "overwrite");
    options.interrupted = c::FlagOf(interrupt);
    onnx::OptimizeReport report;
    const Status status = onnx::Optimize(std::string(input), output, options, &report, text);
    if (status.ok()) c::Give<std::uint64_t>(report.removed.size(), removed);
    return status;
  });
}

// Its twin with options is in convert_file.cc, or in no_convert_file.cc.
std::int32_t tensorcast_convert_file(const char* input, const char* output, const char* pattern,
                                     std::int32_t to, std::int32_t saturate,
                                     std::int32_t round_mode, std::int32_t all_types,
                                     std::int32_t overwrite, tensorcast_executor* executor,
                                     const tensorcast_interrupt* interrupt, std::uint64_t* cast) {
  return tensorcast_convert_file_with_options(input, output, pattern, to, saturate, round_mode, 0,
                                              0, 0, 0, all_types, overwrite, executor, interrupt,
                                              cast);
}

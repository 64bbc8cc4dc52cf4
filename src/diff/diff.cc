// Opens both inputs, finds what is held against what, has it measured, and puts the worst first.
//
// SPDX-License-Identifier: Apache-2.0
#include "diff/diff.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "core/given.h"
#include "diff/measure_pairs.h"
#include "diff/row_major.h"
#include "diff/tensor_pairs.h"
#include "files/error.h"

namespace tensorcast::diff {
namespace {

using formats::TensorInfo;

DiffSide SideOf(const TensorInfo& info) {
  DiffSide side;
  side.name = info.name;
  side.dtype = info.dtype;
  side.type = info.type;
  side.layout = info.stored_as;
  side.shape = info.shape;
  side.bytes = info.stored_as.empty() ? info.bytes : info.stored_bytes;
  side.fortran_order = info.IsColumnMajor();
  return side;
}

struct Sides {
  Side a, b;
};

// A type and a root are for the side that they suit.
Sides OpenSides(const DiffRequest& request, const convert::RunSettings& settings,
                const files::SpoolOptions& spool) {
  const auto passed_a = std::make_shared<formats::PassedOver>();
  const auto passed_b = std::make_shared<formats::PassedOver>();
  convert::Opening opening = {
      {request.assume_type, request.allow_hard_links, request.ignore_scales, request.root},
      spool,
      std::make_shared<files::CurrentInterrupt>(settings.interrupted),
      passed_a};
  Side a = OpenSide(request.a, opening);
  opening.passed_over = passed_b;
  const bool has_own_root = !request.root_of_b.empty();
  if (has_own_root) opening.inputs.root = request.root_of_b;
  Side b = OpenSide(request.b, opening);
  // What suits neither is refused as it is of one file.
  formats::OpenOptions strict;
  if (passed_a->assume_type && passed_b->assume_type) strict.assume_type = request.assume_type;
  formats::RefuseAssumedType(request.b, "a file which names its types", strict);
  if (passed_b->root && (has_own_root || passed_a->root)) strict.root = opening.inputs.root;
  formats::RefuseRoot(request.b, strict);
  strict.root = has_own_root && passed_a->root ? request.root : "";
  formats::RefuseRoot(request.a, strict);
  return {std::move(a), std::move(b)};
}

// What the user should know of an input before anything is read of it.
void AddNotes(const Side& side, const DiffRequest& request, std::vector<std::string>& notes) {
  const auto note = [&](const std::string& text) {
    if (!text.empty()) notes.push_back(words::PathText(side.survey.path) + ": " + text);
  };
  for (std::string& text : side.reader().notes()) notes.push_back(std::move(text));
  for (const std::string& text : convert::AppliedText(side.survey, {})) note(text);
  for (const std::string& text : convert::ConfigTexts(side.survey)) note(text);
  // It may be of tensors that are not asked for.
  if (request.only.empty() && request.excluded.empty()) {
    note(convert::UnscaledText(side.survey, nullptr));
  }
}

void AddFindings(const Side& side, std::vector<std::string>& notes) {
  if (side.values.scaled == nullptr) return;
  for (const std::string& text : side.values.scaled->Findings()) {
    notes.push_back(words::PathText(side.survey.path) + ": " + text);
  }
}

// Elements of one place are held against each other, in whatever orders the two sides have them.
void GiveOneOrder(std::span<const TensorPair> pairs, Side& a, Side& b) {
  bool differ = false;
  for (const TensorPair& pair : pairs) {
    if (!pair.a || !pair.b) continue;
    const TensorInfo &of_a = a.tensors()[*pair.a], &of_b = b.tensors()[*pair.b];
    if (of_a.IsColumnMajor() == of_b.IsColumnMajor()) continue;
    differ = true;
    if (of_a.type != DataType::kString) continue;
    throw files::Error(core::ErrorKind::kUnsupported,
                       words::PathText(of_a.IsColumnMajor() ? a.survey.path : b.survey.path) +
                           ": " + words::EscapeName(of_a.name) +
                           " holds strings in Fortran order, and not on the other side; save "
                           "numpy.ascontiguousarray of it",
                       of_a.name);
  }
  if (!differ) return;
  for (Side* const side : {&a, &b}) {
    side->values.reader = std::make_shared<RowMajorReader>(side->values.reader);
  }
}

// What is known of a pair before it is measured. Gives whether it is to be.
bool Begin(const Side& a, const Side& b, const TensorPair& pair, TensorDiff& diff) {
  if (pair.a) diff.a = SideOf(a.tensors()[*pair.a]);
  if (pair.b) diff.b = SideOf(b.tensors()[*pair.b]);
  if (!pair.b) {
    diff.kind = DiffKind::kOnlyInA;
  } else if (!pair.a) {
    diff.kind = DiffKind::kOnlyInB;
  } else if (diff.a->shape != diff.b->shape) {
    diff.kind = DiffKind::kShape;
  } else if (!AreComparable(a.tensors()[*pair.a], b.tensors()[*pair.b])) {
    diff.kind = DiffKind::kIncomparable;
  } else {
    return true;
  }
  return false;
}

bool MayBeSameBytes(const TensorInfo& a, const TensorInfo& b) {
  return a.type == b.type && a.stored_as.empty() && b.stored_as.empty() &&
         a.is_big_endian == b.is_big_endian;
}

// Values of A that are Inf or NaN and have others in B; where A has Inf, as many as can be.
std::uint64_t UnlikeValues(const LossReport& loss) {
  const std::uint64_t nan = loss.count(Loss::kNan) + loss.count(Loss::kNanLost);
  const std::uint64_t infinite = loss.elements - loss.finite - nan;
  const std::uint64_t changed =
      loss.count(Loss::kToNan) + loss.count(Loss::kToInfinity) + loss.count(Loss::kToLimit);
  return loss.count(Loss::kNanLost) + std::min(infinite, changed);
}

void AddToSum(const TensorDiff& diff, LossSum& sum) {
  if (IsEqual(diff.kind)) {
    sum.elements += diff.elements;
    sum.counts[static_cast<std::size_t>(Loss::kExact)] += diff.elements;
    return;
  }
  if (diff.loss) return sum.Add(diff.side().name, *diff.loss, UnlikeValues(*diff.loss));
  // Where there are no figures nothing could be compared; strings and bytes have none.
  LossReport unknown;
  unknown.elements = 1;
  sum.Add(diff.side().name, unknown);
  sum.elements += diff.elements - 1;
}

// What tensors of other values are put in order by: the lower the worse. NaN and Inf that became
// something else have no finite error.
double RankOf(const TensorDiff& diff) {
  const bool has_error = diff.loss && diff.loss->max_abs_error != 0 &&
                         diff.loss->counts[static_cast<std::size_t>(Loss::kNanLost)] == 0;
  return has_error ? ComparableDecibel(*diff.loss) : -std::numeric_limits<double>::infinity();
}

void SortWorstFirst(std::vector<TensorDiff>& diffs) {
  std::ranges::stable_sort(diffs, [](const TensorDiff& one, const TensorDiff& other) {
    if (one.kind != other.kind) return one.kind < other.kind;
    if (one.kind != DiffKind::kValues) return false;
    return RankOf(one) < RankOf(other);
  });
}

convert::JobOptions OptionsOf(const convert::RunSettings& settings) {
  convert::JobOptions options;
  options.target = settings.target;
  options.executor = settings.executor;
  options.buffer_bytes = settings.buffer_bytes;
  options.interrupted = settings.interrupted;
  options.progress = core::Given(settings.progress);
  return options;
}

DiffReport CompareSides(const DiffRequest& request, const convert::RunSettings& settings,
                        const files::SpoolOptions& spool) {
  auto [a, b] = OpenSides(request, settings, spool);
  const std::vector<TensorPair> pairs = PairTensors(a, b, request);
  GiveOneOrder(pairs, a, b);
  DiffReport report;
  report.bytes_a = a.reader().file_bytes();
  report.bytes_b = b.reader().file_bytes();
  AddNotes(a, request, report.notes);
  AddNotes(b, request, report.notes);
  report.tensors.resize(pairs.size());
  std::vector<PairJob> jobs;
  std::vector<std::size_t> places;  // of these
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!Begin(a, b, pairs[i], report.tensors[i])) continue;
    const std::size_t of_a = *pairs[i].a, of_b = *pairs[i].b;
    jobs.push_back({of_a, of_b, MayBeSameBytes(a.tensors()[of_a], b.tensors()[of_b])});
    places.push_back(i);
  }
  MeasurePairs(a.reader(), b.reader(), jobs, OptionsOf(settings),
               [&](std::size_t job, const PairFigures& figures) {
                 TensorDiff& diff = report.tensors[places[job]];
                 diff.kind = figures.kind;
                 diff.elements = figures.elements;
                 diff.different = figures.different;
                 diff.first = figures.first;
                 diff.loss = figures.loss;
               });
  AddFindings(a, report.notes);
  AddFindings(b, report.notes);
  for (const TensorDiff& diff : report.tensors) {
    ++report.counts[static_cast<std::size_t>(diff.kind)];
    AddToSum(diff, report.sum);
  }
  SortWorstFirst(report.tensors);
  return report;
}

}  // namespace

DiffReport Compare(const DiffRequest& request, const convert::RunSettings& settings,
                   const files::SpoolOptions& spool) {
  try {
    return CompareSides(request, settings, spool);
  } catch (const files::Error& error) {
    // What a conversion passes through is compared here as it is stored.
    if (error.remedy() != Remedy::kKeepPacked) throw;
    throw files::Error(error.kind(), error.what(), Remedy::kIgnoreScales, error.subject());
  }
}

}  // namespace tensorcast::diff

namespace tensorcast {
inline namespace TENSORCAST_ABI {

std::string_view DiffKindName(DiffKind kind) {
  switch (kind) {
    case DiffKind::kOnlyInA: return "only_in_a";
    case DiffKind::kOnlyInB: return "only_in_b";
    case DiffKind::kShape: return "shape";
    case DiffKind::kIncomparable: return "incomparable";
    case DiffKind::kValues: return "values";
    case DiffKind::kSameValues: return "same_values";
    case DiffKind::kSameBytes: return "same_bytes";
  }
  return "";
}

bool DiffReport::equal() const {
  return std::ranges::all_of(tensors, [](const TensorDiff& one) { return IsEqual(one.kind); });
}

Status Diff(const DiffRequest& request, const convert::RunSettings& settings, DiffReport* report,
            std::string* error) {
  return core::Guarded(error, [&] {
    *report = diff::Compare(request, settings, {});
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

// The scalar target: the scalar codec, element by element.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "core/kernels.h"

namespace tensorcast::core {
namespace {

void CastElements(const Bound& bound, const CastOptions& options, const Job& job,
                  std::uint64_t begin, std::uint64_t end) {
  const TypeInfo& from = *bound.from;
  const TypeInfo& to = *bound.to;
  for (std::uint64_t i = begin; i < end; ++i) {
    const std::uint64_t code = detail::LoadCode(job.source, job.source_first + i, from.bits);
    detail::StoreCode(job.destination, job.destination_first + i, to.bits,
                      detail::CastCode(from, to, code, options));
  }
}

// Element by element the source may be overwritten before it is measured: keep it.
void CastAndMeasure(const Bound& bound, const CastOptions& options, const Job& job) {
  std::byte kept[kBlock * sizeof(std::uint64_t)];
  std::uint64_t done = 0;
  while (done < job.n) {
    const std::uint64_t index = job.loss_index + done;
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(job.n - done, kBlock - index % kBlock));
    for (std::size_t k = 0; k < n; ++k) {
      detail::StoreCode(
          kept, k, bound.from->bits,
          detail::LoadCode(job.source, job.source_first + done + k, bound.from->bits));
    }
    CastElements(bound, options, job, done, done + n);
    const LossView view = {bound.from, bound.to,        kept,
                           0,          job.destination, job.destination_first + done};
    job.loss->AddExactly(view, 0, n, index);
    done += n;
  }
}

Target RunScalar(const Bound& bound, const CastOptions& options, const Job& job) {
  if (job.loss != nullptr) {
    CastAndMeasure(bound, options, job);
  } else {
    CastElements(bound, options, job, 0, job.n);
  }
  return Target::kScalar;
}

void MeasureScaled(const LossView& view, const double*, std::size_t n, std::uint64_t index,
                   LossState* loss) {
  loss->AddExactly(view, 0, n, index);
}

void MeasurePair(const LossView& view, std::size_t n, std::uint64_t index, LossState* loss) {
  loss->AddExactly(view, 0, n, index);
}

constexpr Kernels kScalar = [] {
  Kernels kernels = {};
  kernels.target = Target::kScalar;
  kernels.run = &RunScalar;
  kernels.measure_scaled = &MeasureScaled;
  kernels.measure_pair = &MeasurePair;
  return kernels;
}();

}  // namespace

const Kernels* ScalarKernels() { return &kScalar; }

}  // namespace tensorcast::core

// A part that several threads want is loaded by the first, and the others wait for it.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/held_parts.h"

#include <algorithm>
#include <array>

#include "core/fp_environment.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

// A part may be some 8 MiB of codes, of which a few threads read one or two.
constexpr std::size_t kHeldParts = 3;
// Values that are made before they are cast: they stay in the first-level cache.
constexpr std::size_t kCastBlock = 2048;

// Calls visit(part, first, n) for what lies in each part, `get` giving a part by its number.
template <class Get, class Visit>
void ForEachPart(const PackedWeight& weight, std::uint64_t first, std::uint64_t n, const Get& get,
                 const Visit& visit) {
  while (n > 0) {
    const PackedWeight::Place place = weight.PlaceOf(first);
    const std::uint64_t some = std::min(n, place.end - first);
    visit(*get(place.part), first, static_cast<std::size_t>(some));
    first += some;
    n -= some;
  }
}

// Casts what a part has from `first` on, by way of Value.
template <class Value, class ReadBlock>
void CastBlocks(const CastPlan& plan, std::span<std::byte> out, std::size_t bytes,
                const ReadBlock& read) {
  alignas(64) std::array<Value, kCastBlock> block;
  for (std::size_t done = 0; done * bytes < out.size(); done += kCastBlock) {
    const std::size_t n = std::min(kCastBlock, out.size() / bytes - done);
    const std::span<Value> values = std::span(block).first(n);
    read(done, values);
    Require(plan.Run(std::as_bytes(values), 0, out.subspan(done * bytes, n * bytes), 0, n));
  }
}

}  // namespace

struct HeldParts::Held {
  const PackedWeight* weight;
  std::uint64_t part;
  std::once_flag once;
  std::shared_ptr<const PackedWeight::Part> loaded;
};

std::shared_ptr<const PackedWeight::Part> HeldParts::PartOf(const PackedWeight& weight,
                                                            std::uint64_t part) const {
  std::shared_ptr<Held> held;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(held_.begin(), held_.end(), [&](const auto& one) {
      return one->weight == &weight && one->part == part;
    });
    if (found != held_.end()) {
      std::rotate(found, found + 1, held_.end());
    } else {
      if (held_.size() == kHeldParts) held_.erase(held_.begin());
      held_.push_back(std::make_shared<Held>());
      held_.back()->weight = &weight;
      held_.back()->part = part;
    }
    held = held_.back();
  }
  // Where it fails, the next to ask tries again.
  std::call_once(held->once, [&] { held->loaded = weight.Load(reader_, part); });
  return held->loaded;
}

bool HeldParts::Read(const PackedWeight& weight, std::uint64_t first, Rounding rounding,
                     std::span<double> values) const {
  bool has_odd_scales = false;
  const auto get = [&](std::uint64_t part) { return PartOf(weight, part); };
  ForEachPart(weight, first, values.size(), get,
              [&](const PackedWeight::Part& part, std::uint64_t begin, std::size_t n) {
                const core::FpEnvironment environment;
                part.Read(begin, rounding, values.subspan(begin - first, n));
                has_odd_scales = has_odd_scales || part.HasOddScales();
              });
  return has_odd_scales;
}

bool HeldParts::Cast(const PackedWeight& weight, const CastPlan& plan, std::uint64_t first,
                     std::span<std::byte> out) const {
  const auto bytes = static_cast<std::size_t>(FindType(plan.to())->bits) / 8;
  const auto get = [&](std::uint64_t part) { return PartOf(weight, part); };
  bool has_odd_scales = false;
  CastPlan of_float;
  Require(CastPlan::Bind(DataType::kFloat32, plan.to(), plan.options(), &of_float, plan.target()));
  ForEachPart(
      weight, first, out.size() / bytes, get,
      [&](const PackedWeight::Part& part, std::uint64_t begin, std::size_t n) {
        const core::FpEnvironment environment;
        const auto some = out.subspan((begin - first) * bytes, n * bytes);
        if (part.Cast(plan, begin, some)) {
          // Done.
        } else if (part.IsFloat() || plan.to() == DataType::kFloat32) {
          CastBlocks<float>(of_float, some, bytes, [&](std::size_t done, std::span<float> values) {
            part.Read(begin + done, values);
          });
        } else {
          CastBlocks<double>(plan, some, bytes, [&](std::size_t done, std::span<double> values) {
            part.Read(begin + done, Rounding::kOdd, values);
          });
        }
        has_odd_scales = has_odd_scales || part.HasOddScales();
      });
  return has_odd_scales;
}

}  // namespace tensorcast::scale

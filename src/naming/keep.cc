// Small tensors by their shape, the others by what their names say they are for.
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/keep.h"

#include "core/enum_names.h"
#include "core/shape.h"
#include "naming/weight_roles.h"

namespace tensorcast::naming {
namespace {

using convert::Keep;

constexpr std::uint64_t kFewValues = 1024;

bool IsSmall(std::span<const std::uint64_t> shape) {
  return shape.size() < 2 || core::CheckedProduct(shape).value_or(kFewValues) < kFewValues;
}

bool Belongs(Keep keep, std::string_view name, std::span<const std::uint64_t> shape) {
  switch (keep) {
    case Keep::kSmall: return IsSmall(shape);
    case Keep::kNorms: return RoleOf(name, shape) == WeightRole::kNorm;
    case Keep::kEmbeddings: return RoleOf(name, shape) == WeightRole::kEmbedding;
    case Keep::kHead: return RoleOf(name, shape) == WeightRole::kHead;
    case Keep::kPacked: break;  // the tensors beside it say so
  }
  return false;
}

}  // namespace

std::optional<Keep> KeptBy(std::span<const Keep> keep, std::string_view name,
                           std::span<const std::uint64_t> shape) {
  for (const Keep one : keep) {
    if (Belongs(one, name, shape)) return one;
  }
  return std::nullopt;
}

}  // namespace tensorcast::naming

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

std::string_view KeepName(Keep keep) {
  constexpr std::string_view kNames[] = {"small", "norms", "embeddings", "head", "packed"};
  return core::NameOf(kNames, keep);
}

std::span<const Keep> Keeps() {
  static constexpr Keep kKeeps[] = {Keep::kSmall, Keep::kNorms, Keep::kEmbeddings, Keep::kHead,
                                    Keep::kPacked};
  return kKeeps;
}

std::optional<Keep> ParseKeep(std::string_view name) {
  return core::MemberNamed(Keeps(), KeepName, name);
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert

// Each in one line, with the first tensor named and the others counted.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/scaled_tensors.h"

#include "io/error_text.h"

namespace tensorcast::convert {

using io::EscapeName;

void RefuseScaled(const std::vector<io::TensorInfo>& tensors, const std::string& path,
                  const io::ScaleCompanions& scales, std::span<const Decision> decisions) {
  std::string first;
  std::size_t found = 0;
  for (const io::ScaledTensor& scaled : scales.scaled) {
    if (decisions[scaled.tensor].to == DataType::kUndefined) continue;
    if (++found > 1) continue;
    const io::TensorInfo& info = tensors[scaled.tensor];
    first = EscapeName(info.name) + " (" + std::string(TypeName(info.type)) +
            ") has its scales in " + EscapeName(scaled.companion) +
            (scaled.file.empty() ? "" : " of " + EscapeName(scaled.file));
  }
  if (found == 0) return;
  throw io::Error(io::ErrorKind::kContents,
                  io::PathText(path) + ": " + first +
                      (found > 1 ? ", and so " + std::to_string(found - 1) + " more" : "") +
                      "; cast without them its values are wrong",
                  io::Remedy::kIgnoreScales);
}

std::string UnscaledText(const std::vector<io::TensorInfo>& tensors,
                         const io::ScaleCompanions& scales,
                         const std::vector<Decision>* decisions) {
  const io::TensorInfo* first = nullptr;
  std::size_t found = 0;
  for (const std::size_t i : scales.unscaled) {
    if (decisions != nullptr && (*decisions)[i].to == DataType::kUndefined) continue;
    if (found++ == 0) first = &tensors[i];
  }
  if (found == 0) return {};
  return EscapeName(first->name) + " (" + std::string(TypeName(first->type)) + ")" +
         (found > 1 ? " and " + std::to_string(found - 1) + " more have" : " has") +
         " no scale anywhere here" + (decisions != nullptr ? "; cast as plain values" : "");
}

std::string CompanionsText(const std::vector<io::TensorInfo>& tensors,
                           const std::vector<io::Companion>& companions) {
  constexpr std::size_t kShown = 2;
  if (companions.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < companions.size() && i < kShown; ++i) {
    names += (i == 0 ? "" : ", ") + EscapeName(tensors[companions[i].tensor].name) + ": " +
             std::string(companions[i].role) + " of " + EscapeName(companions[i].of);
  }
  if (companions.size() > kShown) names += ", …";
  return io::CountText(companions.size(), "tensor") + " (" + names + ")";
}

}  // namespace tensorcast::convert

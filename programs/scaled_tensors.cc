// Each in one line, with the first tensor named and the others counted.
//
// SPDX-License-Identifier: Apache-2.0
#include "scaled_tensors.h"

#include <fmt/format.h>

#include "io/onnx_tensors.h"
#include "terminal.h"

namespace tensorcast::tool {
namespace {

constexpr std::size_t kNameColumns = 60;

std::string NameOf(const std::string& name) { return Shorten(io::Escape(name), kNameColumns); }

}  // namespace

void RefuseScaled(const io::TensorReader& reader, const std::string& path,
                  const io::ScaleCompanions& scales, const std::vector<Decision>& decisions) {
  const io::FileContents& contents = reader.contents();
  std::string first;
  std::size_t found = 0;
  for (const io::ScaledTensor& scaled : scales.scaled) {
    if (decisions[scaled.tensor].to == DataType::kUndefined) continue;
    if (++found > 1) continue;
    const io::TensorInfo& info = contents.tensors[scaled.tensor];
    first = fmt::format("{} ({}) has its scales in {}{}", NameOf(info.name), TypeName(info.type),
                        NameOf(scaled.companion),
                        scaled.file.empty() ? "" : " of " + NameOf(scaled.file));
  }
  if (found == 0) return;
  throw io::Error(
      io::ErrorKind::kContents,
      fmt::format("{}: {}{}; cast without them its values are wrong: --exclude it, or cast "
                  "the bare codes with --raw-scaled",
                  io::Escape(path), first,
                  found > 1 ? fmt::format(", and so {} more", found - 1) : ""));
}

std::string UnscaledText(const io::TensorReader& reader, const io::ScaleCompanions& scales,
                         const std::vector<Decision>* decisions) {
  if (dynamic_cast<const io::OnnxTensorReader*>(&reader) != nullptr) return {};
  const io::TensorInfo* first = nullptr;
  std::size_t found = 0;
  for (const std::size_t i : scales.unscaled) {
    if (decisions != nullptr && (*decisions)[i].to == DataType::kUndefined) continue;
    if (found++ == 0) first = &reader.contents().tensors[i];
  }
  if (found == 0) return {};
  return fmt::format("{} ({}){} no scale anywhere here{}", NameOf(first->name),
                     TypeName(first->type),
                     found > 1 ? fmt::format(" and {} more have", found - 1) : " has",
                     decisions != nullptr ? "; cast as plain values" : "");
}

std::string CompanionsText(const io::TensorReader& reader,
                           const std::vector<io::Companion>& companions) {
  constexpr std::size_t kShown = 2;
  if (companions.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < companions.size() && i < kShown; ++i) {
    names += fmt::format("{}{}: {} of {}", i == 0 ? "" : ", ",
                         NameOf(reader.contents().tensors[companions[i].tensor].name),
                         companions[i].role, NameOf(companions[i].of));
  }
  if (companions.size() > kShown) names += ", …";
  return fmt::format("{} tensor{} ({})", companions.size(), companions.size() == 1 ? "" : "s",
                     names);
}

}  // namespace tensorcast::tool

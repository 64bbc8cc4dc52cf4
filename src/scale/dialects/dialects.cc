// The list of dialects. Each line names a constant that a file of this folder defines.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dialects/dialect.h"

#include <algorithm>

#include "scale/written_form.h"

namespace tensorcast::scale {

// clang-format off
#define TENSORCAST_DIALECTS(dialect) \
  dialect(kSharedNames) \
  dialect(kDeepSeek) \
  dialect(kDeepSeekV4) \
  dialect(kCompressedTensors) \
  dialect(kModelOpt) \
  dialect(kFbgemm) \
  dialect(kGptOss) \
  dialect(kComfyUiMarked) \
  dialect(kComfyUi) \
  dialect(kMistral) \
  dialect(kOnnx) \
  dialect(kGptq) \
  dialect(kAwq) \
  dialect(kAutoRound) \
  dialect(kGguf) \
  dialect(kMlx) \
  dialect(kBitsAndBytes) \
  dialect(kOnnxRuntime) \
  dialect(kTorchao) \
  dialect(kQuanto) \
  dialect(kHqq) \
  dialect(kSvdQuant) \
  dialect(kAqlm) \
  dialect(kExLlamaV2) \
  dialect(kExLlamaV3) \
  dialect(kMarlin) \
  dialect(kSparse) \
  dialect(kMarlin24) \
  dialect(kOtherMethods)
// clang-format on

#define TENSORCAST_DECLARE(dialect) extern const Dialect dialect;
#define TENSORCAST_ADDRESS(dialect) &(dialect),
TENSORCAST_DIALECTS(TENSORCAST_DECLARE)

std::span<const Dialect* const> Dialects() {
  static constexpr const Dialect* kAll[] = {TENSORCAST_DIALECTS(TENSORCAST_ADDRESS)};
  return kAll;
}

bool HasRaggedBlocks(const MadeWeight& weight) {
  const ScaledFormat& format = *weight.form.format;
  const std::span<const std::uint64_t> shape = weight.shape;
  return format.cells == CellsBy::kBlocks && shape.size() >= 2 &&
         (shape.end()[-2] % format.block_rows != 0 || shape.end()[-1] % format.block_columns != 0);
}

const Dialect* DialectOfPacked(const formats::TensorInfo& info) {
  const auto all = Dialects();
  const auto found = std::ranges::find_if(
      all, [&](const Dialect* one) { return one->packed.are != nullptr && one->packed.are(info); });
  return found != all.end() ? *found : nullptr;
}

const Dialect* DialectOfMethod(std::string_view method) {
  if (method.empty()) return nullptr;
  const auto all = Dialects();
  const auto found = std::ranges::find_if(all, [&](const Dialect* one) {
    return std::ranges::find(one->methods, method) != one->methods.end();
  });
  return found != all.end() ? *found : nullptr;
}

const Dialect* DialectOfConfig(const json::OrderedJson& json) {
  const auto all = Dialects();
  const auto found = std::ranges::find_if(
      all, [&](const Dialect* one) { return one->has_config != nullptr && one->has_config(json); });
  return found != all.end() ? *found : nullptr;
}

const Dialect* DialectOfLayout(std::string_view layout) {
  if (layout.empty()) return nullptr;
  const auto all = Dialects();
  const auto found = std::ranges::find(all, layout, &Dialect::layout);
  return found != all.end() ? *found : nullptr;
}

}  // namespace tensorcast::scale

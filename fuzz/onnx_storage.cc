// Fuzzes the writing of models: every tensor that may be is stored as float16, as float8e5m2, or as
// int8 with scales along the axis of its channels. What is laid out must be a model again, of the
// same tensors in their new types.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "demand.h"
#include "formats/onnx_tensors.h"
#include "fuzzers.h"
#include "onnx/store/storage_edit.h"
#include "onnx/store/storage_model.h"
#include "onnx/store/weight_uses.h"

namespace {

namespace core = tensorcast::core;
namespace files = tensorcast::files;
namespace formats = tensorcast::formats;
namespace onnx = tensorcast::onnx;
using tensorcast::DataType;

constexpr std::uint64_t kMostBytes = 1 << 22;  // of a model that is put together

class MemorySource final : public files::ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return bytes_.size(); }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    Demand(offset <= bytes_.size() && out.size() <= bytes_.size() - offset,
           "a read outside the file");
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

 private:
  std::string bytes_;
  std::string path_ = "x.onnx";
};

std::string Join(const std::string& source, const onnx::StorageEdit& edit) {
  std::string bytes;
  for (const onnx::ModelPiece& piece : edit.pieces) {
    Demand(piece.at == bytes.size(), "a piece that does not follow the one before it");
    if (piece.source) {
      Demand(*piece.source <= source.size() && piece.size <= source.size() - *piece.source,
             "a piece from outside the file");
      bytes.append(source, *piece.source, piece.size);
    } else if (piece.tensor) {
      bytes.append(piece.size, '\0');
    } else {
      bytes += piece.bytes;
    }
  }
  Demand(bytes.size() == edit.model_bytes, "another size than was said");
  return bytes;
}

// Chooses `to` for all that can have it; whether that is any.
bool Choose(const formats::OnnxTensorReader& model, DataType to, formats::FileContents& contents) {
  const onnx::StorageRules rules(model);
  bool any = false;
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
    formats::TensorInfo& info = contents.tensors[i];
    if (!rules.WhyNotStored(i, to).empty()) continue;
    try {
      rules.CheckType(i, to);
    } catch (const files::Error&) {
      continue;
    }
    info.type = to;
    info.bytes = tensorcast::StorageBytes(to, info.elements).value();
    any = true;
  }
  return any;
}

// Chooses codes and scales for all that can have them; whether that is any.
bool ChooseScaled(const formats::OnnxTensorReader& model, formats::FileContents& contents) {
  const onnx::StorageRules rules(model);
  const std::vector<onnx::WeightUse> uses = onnx::FindWeightUses(model);
  std::vector<formats::TensorInfo> before = std::move(contents.tensors);
  contents.tensors.clear();
  for (std::size_t i = 0; i < before.size(); ++i) {
    formats::TensorInfo& codes = contents.tensors.emplace_back(std::move(before[i]));
    const tensorcast::TypeInfo* const type = tensorcast::FindType(codes.type);
    if (type == nullptr || !type->is_float()) continue;
    if (!rules.WhyNotStored(i, DataType::kInt8).empty()) continue;
    try {
      rules.CheckScaled(i, "int8-row", DataType::kInt8);
    } catch (const files::Error&) {
      continue;
    }
    codes.type = DataType::kInt8;
    codes.bytes = codes.elements;
    formats::TensorInfo scales;
    scales.type = DataType::kFloat32;
    const auto axis = rules.TakesAxis(i) ? uses[i].axis : std::nullopt;
    if (axis) scales.shape = {codes.shape.at(*axis)};
    scales.elements = axis ? scales.shape.front() : 1;
    const auto scale_bytes = tensorcast::StorageBytes(DataType::kFloat32, scales.elements);
    if (!scale_bytes) return false;  // of a shape with a zero in it
    scales.bytes = *scale_bytes;
    contents.scaled.push_back({contents.tensors.size() - 1, axis});
    contents.tensors.push_back(std::move(scales));
  }
  return !contents.scaled.empty();
}

// Of each tensor what it is, in no order: scales may stand elsewhere.
std::multiset<std::tuple<DataType, std::vector<std::uint64_t>, std::uint64_t>> KindsOf(
    const formats::FileContents& contents) {
  std::multiset<std::tuple<DataType, std::vector<std::uint64_t>, std::uint64_t>> kinds;
  for (const formats::TensorInfo& info : contents.tensors) {
    kinds.emplace(info.type, info.shape, info.bytes);
  }
  return kinds;
}

using Chooser = std::function<bool(const formats::OnnxTensorReader&, formats::FileContents&)>;

void Store(const std::string& bytes, const Chooser& choose) {
  try {
    const formats::OnnxTensorReader model(std::make_unique<MemorySource>(bytes));
    formats::FileContents contents = model.contents();
    if (!model.external_files().empty()) return;
    const bool any = choose(model, contents);
    if (contents.tensors.size() != model.contents().tensors.size() + contents.scaled.size()) return;
    const onnx::StorageEdit edit = onnx::MakeStorageEdit(model, contents, "x.data", true);
    if (edit.model_bytes > kMostBytes) return;
    const std::string stored = Join(bytes, edit);
    Demand(any || stored == bytes, "other bytes, though nothing is stored in another type");
    if (edit.has_data) return;  // it is not there to be read
    try {
      const formats::OnnxTensorReader again(std::make_unique<MemorySource>(stored));
      Demand(KindsOf(again.contents()) == KindsOf(contents), "other tensors");
    } catch (const files::Error& error) {
      // Names are longer than they were: only a limit may be in the way.
      Demand(error.kind() == core::ErrorKind::kUnsupported, error.what());
    }
  } catch (const files::Error&) {
  }
}

void FuzzOnnxStorage(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const DataType to : {DataType::kFloat16, DataType::kFloat8E5M2}) {
    Store(bytes, [to](const formats::OnnxTensorReader& model, formats::FileContents& contents) {
      return Choose(model, to, contents);
    });
  }
  Store(bytes, ChooseScaled);
}

const Fuzzer kOnnxStorageFuzzer("onnx_storage", FuzzOnnxStorage);

}  // namespace

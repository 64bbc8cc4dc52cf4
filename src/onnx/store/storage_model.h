// Writes a model whose selected tensors are stored in another type: the stored tensor is renamed,
// and a Cast in front of its consumers gives it back under its own name and in its own type.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_STORE_STORAGE_MODEL_H_
#define TENSORCAST_SRC_ONNX_STORE_STORAGE_MODEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/output_options.h"
#include "formats/onnx_tensors.h"
#include "formats/tensor_writer.h"

namespace tensorcast::onnx {

// Shape inference reads the values of tensors of at most this size, and only those in the model
// itself.
inline constexpr std::uint64_t kSmallTensorBytes = 1024;

// What can be stored in another type. Made once for a model, which must outlive it.
class StorageRules {
 public:
  explicit StorageRules(const formats::OnnxTensorReader& model);

  // Why a tensor cannot be stored in `to` with a Cast behind it, or empty where it can: it is no
  // initializer and no Constant's value, it can be overridden by an input, it is a string ...
  // A type that the opset in force does not know is no such reason: see CheckType.
  std::string WhyNotStored(std::size_t tensor, DataType to) const;

  // Throws files::Error (arguments) where the opset in force for a tensor does not cast from `to`
  // to the tensor's own type: it says which types are legal there and how to upgrade.
  void CheckType(std::size_t tensor, DataType to) const;

  // The same of a scaled weight with such codes: a DequantizeLinear of them, and where the tensor
  // is no float32 a Cast, bring it back. `format` is what messages call it.
  void CheckScaled(std::size_t tensor, std::string_view format, DataType codes) const;
  // Whether DequantizeLinear takes a scale for each index of an axis there; before, it takes one.
  bool TakesAxis(std::size_t tensor) const;

 private:
  struct Names {
    std::unordered_map<std::string_view, std::size_t> initializers;  // how many of each name
    std::unordered_map<std::string_view, std::size_t> inputs;        // the input's index
  };

  [[noreturn]] void Fail(std::size_t tensor, std::string_view to, const std::string& why,
                         Remedy remedy = Remedy::kNone) const;
  // The opset of ai.onnx in force, which the node `behind` the tensor needs.
  std::int64_t OpsetFor(std::size_t tensor, std::string_view to, std::string_view behind) const;
  // Throws where its Cast does not have all these types.
  void CheckCast(std::size_t tensor, std::string_view to, std::int64_t opset,
                 std::span<const DataType> types) const;

  const formats::OnnxTensorReader& model_;
  std::vector<Names> graphs_;
};

// A writer of `contents`: the tensors of `model`, one for one, of which those that have another
// type than there are stored in that type, and those that FileContents::scaled names as codes with
// their scales behind them. They must be legal by StorageRules. A model with data in
// other files is written with its data in one, named by data_files.h, which never replaces a file.
// The model gets its name last: until then what stood there stands, with its data, and that data is
// removed after. It wants the values of some tensors; all others are copied with the model. Its
// bytes are those of the model and its data. `model` must outlive the writer. Throws files::Error,
// files::Interrupted.
std::unique_ptr<formats::TensorWriter> CreateStorageModel(
    const std::string& path, const formats::OnnxTensorReader& model, formats::FileContents contents,
    const files::CreateOptions& options, const std::atomic<bool>* interrupted = nullptr);

// The checks of CreateStorageModel that need no writing; returns the bytes of all its files.
std::uint64_t CheckStorageModel(const std::string& path, const formats::OnnxTensorReader& model,
                                const formats::FileContents& contents,
                                const files::CreateOptions& options);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_STORE_STORAGE_MODEL_H_

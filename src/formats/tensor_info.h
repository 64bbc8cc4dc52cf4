// What a file holds, as it declares it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_TENSOR_INFO_H_
#define TENSORCAST_SRC_FORMATS_TENSOR_INFO_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_keys.h"
#include "tensorcast/tensorcast.hpp"
#include "text/string_piece.h"

namespace tensorcast::formats {

// One tensor as its file declares it.
struct TensorInfo {
  std::string name;   // any bytes the file held; escape before showing
  std::string dtype;  // as the file spells it
  DataType type =
      DataType::kUndefined;  // kUndefined: not a type tensorcast knows, passed through as bytes
  std::uint32_t shard = 0;   // a checkpoint's directory: which of its files holds it
  std::vector<std::uint64_t> shape;  // in elements; empty for a scalar
  std::uint64_t elements = 0;        // the checked product of the shape
  // Size of the tensor's dense form: StorageBytes(type, elements), or for strings and for a type
  // that is not ours the byte range the file gives.
  std::uint64_t bytes = 0;
  text::TextSize text;         // strings: what a writer needs; a reader leaves it 0
  bool fortran_order = false;  // npy: the elements stand in column-major order
  bool is_big_endian = false;  // in the file; a reader gives little-endian
  // Why its values are not read ("is sparse: save its .to_dense()"); static storage; empty: they
  // are. Such a tensor is listed, and has to be left out of what is done with the others.
  std::string_view why_not = {};
  // How a weight whose scales are applied is stored ("fp8-block"), which is shown in the place of
  // its type; static storage.
  std::string_view stored_as = {};
  std::uint64_t stored_bytes = 0;  // what the codes of such a weight take, and what serves them

  // Whether its elements stand in another order than other tensors': of one dimension both are one.
  bool IsColumnMajor() const { return fortran_order && shape.size() > 1; }
};

// A weight that a model is to hold as codes: their index, and the axis along which each index has a
// scale of its own; without an axis there is one scale. The scales are the tensor behind the codes.
struct ScaledOutput {
  std::size_t codes = 0;
  std::optional<std::uint32_t> axis;
};

// What a configuration has to say of the tensors beside it.
struct Configuration {
  // What it says of quantised tensors is true of none.
  bool is_dequantised = false;
  // The type of the model; kUndefined: that which it names.
  DataType model_type = DataType::kUndefined;
  // JSON: config.json's member "quantization_config", and whole files by name. Empty: nothing new.
  std::string quantization_config = {};
  std::map<std::string, std::string> files = {};
};

// What a whole file holds, in the order of its reader (or as given to a writer).
struct FileContents {
  std::vector<TensorInfo> tensors;
  // safetensors' __metadata__, a TensorProto's metadata_props, a GGUF file's keys.
  std::map<std::string, std::string> metadata;
  // The same that is shown, and not written to other files: it is of the container (a GGUF file's
  // alignment), or too long to be held (its tokenizer) and the value its beginning.
  std::map<std::string, std::string> shown_metadata = {};
  // A GGUF file's keys as they stand in it; null: it is none.
  std::shared_ptr<const GgufKeys> gguf_keys = {};
  // Scales have been applied to all tensors that had some.
  bool is_dequantised = false;
  // By directory, "unet/" of a pipeline and else "". What is in none of these directories stays.
  std::map<std::string, Configuration> configurations = {};
  std::vector<ScaledOutput> scaled = {};  // of a model that is written, rising
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_TENSOR_INFO_H_

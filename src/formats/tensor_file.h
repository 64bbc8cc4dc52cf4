// Files of tensors by the endings of their names, each format behind one reader and one writer.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_TENSOR_FILE_H_
#define TENSORCAST_SRC_FORMATS_TENSOR_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.h"
#include "files/error.h"
#include "files/output_options.h"
#include "formats/tensor_reader.h"
#include "formats/tensor_writer.h"

namespace tensorcast::formats {

class OnnxTensorReader;  // formats/onnx_tensors.h

// Which options do not suit a file.
struct PassedOver {
  bool assume_type = false;
  bool root = false;
};

struct OpenOptions {
  std::optional<DataType> assume_type;  // npy: what <V1 (and <f1, <V2) holds
  // Once true, reading what takes long before its first byte is there (a deflated member, a stored
  // one that is held against its checksum) ends with Interrupted. Null: nothing interrupts.
  std::shared_ptr<const files::CurrentInterrupt> interrupted = nullptr;
  // onnx: take data from a file that has other names (hard links) too.
  bool allow_hard_links = false;
  files::SpoolOptions spool = {};
  // torch: which dict holds the tensors, keys from the top on joined by dots ("." is the top
  // itself); empty: it is found (torch_root.h).
  std::string root = {};
  // Where it is given, what does not suit the file is noted there, and not refused.
  std::shared_ptr<PassedOver> passed_over = nullptr;
};

// What a file was opened as. A reader that takes the place of this one (scale/scaled_reader.h)
// leaves the rest as it is.
struct OpenedTensors {
  std::shared_ptr<const TensorReader> reader;
  const OnnxTensorReader* model = nullptr;  // the reader itself, if the file is a model
};

// Whether a path has the ending of a format (".npy", in lower case), in any case.
bool HasEnding(std::string_view path, std::string_view ending);

// The endings of the formats, each with its dot.
std::vector<std::string_view> FormatEndings();
// The same for a text: ".safetensors, .npy, .npz, .pb, .pt, .pth, .bin, .ckpt, .onnx or .gguf".
std::string JoinedEndings(std::string_view conjunction);
// The same of those that are written.
std::string JoinedOutputEndings(std::string_view conjunction);

// Throw Error (arguments) where a type is assumed of a file whose tensors name theirs, which is
// `typed` ("an ONNX model, which names its types"), and where a root is chosen of a file, or of a
// directory's files, that are not torch's.
void RefuseAssumedType(const std::string& path, std::string_view typed, const OpenOptions& options);
void RefuseRoot(const std::string& path, const OpenOptions& options);

// What a file of that ending is called where it holds one tensor ("an .npy"); empty where it holds
// many, or is not in a known format.
std::string_view OneTensorFile(std::string_view path);

// Throws Error (unsupported) where tensors cannot be written to a file of that ending.
void CheckOutputFormat(const std::string& path);

// The format is recognised by the first bytes, then by the ending of source->path(). Directories:
// checkpoint/open_tensor_file.h.
OpenedTensors OpenTensorSource(std::unique_ptr<files::ByteSource> source,
                               const OpenOptions& options);

// The format is that of the name's ending (.safetensors, .npy ...). Checks that the contents can be
// expressed in it, that the name is free (or `overwrite`) and that the disk has room, then creates
// a temporary file beside it. The tensors' indices are those of `contents`, whatever the order in
// the file.
std::unique_ptr<TensorWriter> CreateTensorFile(const std::string& path, FileContents contents,
                                               const files::CreateOptions& options);

// The checks of CreateTensorFile that need no writing (a dry run): throws what it would throw.
// Returns the size the file would have.
std::uint64_t CheckTensorFile(const std::string& path, const FileContents& contents,
                              const files::CreateOptions& options);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_TENSOR_FILE_H_

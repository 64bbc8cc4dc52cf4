// The file formats: the row each has in formats.cc, and what its row is made of. A new one is a
// row, its four functions here and their files; docs/adding_a_format.md says what each function
// owes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_FORMATS_H_
#define TENSORCAST_SRC_FORMATS_FORMATS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "files/byte_source.h"
#include "formats/tensor_file.h"

namespace tensorcast::formats {

struct Format {
  std::string_view ending;      // with its dot
  std::string_view one_tensor;  // what a file that holds one tensor is called; empty: it holds many
  // What a file is called whose tensors' types it names, so that none is assumed; empty: it may
  // leave them open.
  std::string_view typed;
  // Whether a file that begins so is one; `head` is its first 16 bytes, or all. Null: only its
  // name's ending tells, because a protobuf message has no magic number.
  bool (*looks_like)(std::span<const std::byte> head);
  OpenedTensors (*open)(std::unique_ptr<files::ByteSource> source, const OpenOptions& options);
  // Whether it may hold dicts of which one is chosen.
  bool may_have_root;
  // What keeps tensors alone from being written to it; empty: nothing, and the next two are given,
  // or they are null and it is only read.
  std::string_view why_not_written;
  std::unique_ptr<TensorWriter> (*create)(const std::string& path, FileContents contents,
                                          const files::CreateOptions& options);
  // The size that the file would have; throws Error if it cannot hold the contents.
  std::uint64_t (*measure)(const std::string& path, const FileContents& contents);
};

// The row of the format that a name's ending tells, or null.
const Format* FindByEnding(std::string_view path);

// Whether a file that begins so is in one of the formats that are told by their first bytes.
bool LooksLikeTensorFile(std::span<const std::byte> head);

// Throws Error (unsupported) where a file is in a format that is recognised only to say that it is
// not read.
void RefuseStranger(const files::ByteSource& source);

// safetensors: one JSON header, then the tensors' bytes without gaps.
bool LooksLikeSafetensors(std::span<const std::byte> head);
OpenedTensors OpenSafetensors(std::unique_ptr<files::ByteSource> source,
                              const OpenOptions& options);
std::unique_ptr<TensorWriter> CreateSafetensors(const std::string& path, FileContents contents,
                                                const files::CreateOptions& options);
std::uint64_t MeasureSafetensors(const std::string& path, const FileContents& contents);

// npy: one array in a file, as numpy and ml_dtypes save it. The tensor's name is the file's,
// without the ending.
bool LooksLikeNpy(std::span<const std::byte> head);
OpenedTensors OpenNpy(std::unique_ptr<files::ByteSource> source, const OpenOptions& options);
std::unique_ptr<TensorWriter> CreateNpy(const std::string& path, FileContents contents,
                                        const files::CreateOptions& options);
std::uint64_t MeasureNpy(const std::string& path, const FileContents& contents);

// npz: arrays in a ZIP archive, as numpy.savez and numpy.savez_compressed save them. The tensors
// are the members, in the order of the central directory, without their ending. Written members are
// stored, not deflated, and their data aligned to 64 bytes in the file.
inline constexpr std::string_view kNpzMemberEnding = ".npy";
bool LooksLikeNpz(std::span<const std::byte> head);
OpenedTensors OpenNpz(std::unique_ptr<files::ByteSource> source, const OpenOptions& options);
std::unique_ptr<TensorWriter> CreateNpz(const std::string& path, FileContents contents,
                                        const files::CreateOptions& options);
std::uint64_t MeasureNpz(const std::string& path, const FileContents& contents);

// torch: what torch.save writes. Since 1.6 that is a ZIP archive, which OpenNpz knows by its
// members; before, pickles and raw storages, told by a magic number (torch_legacy.cc). Its reader
// also says what a file is that only has an ending of torch's.
bool LooksLikeLegacyTorch(std::span<const std::byte> head);
OpenedTensors OpenLegacyTorch(std::unique_ptr<files::ByteSource> source,
                              const OpenOptions& options);
// What its files are, in the words of Format::typed.
inline constexpr std::string_view kTorchTyped = "a torch checkpoint, which names its types";

// pb: one ONNX TensorProto in a file, as onnx.save_tensor writes it. A protobuf message begins with
// no magic number, so the name's ending decides. The tensor's name is its own or, if it has none,
// the file's without the ending.
OpenedTensors OpenTensorProto(std::unique_ptr<files::ByteSource> source,
                              const OpenOptions& options);
std::unique_ptr<TensorWriter> CreateTensorProto(const std::string& path, FileContents contents,
                                                const files::CreateOptions& options);
std::uint64_t MeasureTensorProto(const std::string& path, const FileContents& contents);

// gguf: keys, tensors' names and their data, in one file or in parts. Tensors whose blocks hold
// codes and scales have no type, and their bytes are those of the file (formats/gguf_types.h;
// scale/gguf_blocks.h decodes them). It is written in one file, with the keys of the one that was
// read, or of a diffusion model (formats/gguf_architecture.h).
bool LooksLikeGguf(std::span<const std::byte> head);
OpenedTensors OpenGguf(std::unique_ptr<files::ByteSource> source, const OpenOptions& options);
std::unique_ptr<TensorWriter> CreateGguf(const std::string& path, FileContents contents,
                                         const files::CreateOptions& options);
std::uint64_t MeasureGguf(const std::string& path, const FileContents& contents);
// Whether these are the keys that CreateGguf would write. Throws Error as it does.
bool HasGgufKeys(const std::string& path, const FileContents& contents, const GgufKeys& found);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_FORMATS_H_

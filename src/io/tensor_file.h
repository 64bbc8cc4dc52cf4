// Tensor files behind one small interface: what every format's reader and writer gives.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_TENSOR_FILE_H_
#define TENSORCAST_SRC_IO_TENSOR_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/failure.h"
#include "io/byte_source.h"
#include "tensorcast/tensorcast.hpp"
#include "text/error_text.h"

namespace tensorcast::io {

using core::ErrorKind;

// One line: what, where (file, tensor, offset, what was expected), what to do. Text that came from
// a file is escaped (see Escape).
class Error : public core::Failure {
 public:
  Error(ErrorKind kind, const std::string& message, Remedy remedy = Remedy::kNone,
        core::SystemRefusal refusal = {})
      : Failure(core::CodeOf(kind), message, remedy, std::move(refusal)), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// Throws Error: something is wrong with a file as a whole, and `why` goes on behind its path.
[[noreturn]] void FailFile(const ByteSource& file, const std::string& why,
                           ErrorKind kind = ErrorKind::kContents);

// Thrown where a flag of the caller's became true: work that takes long looks at it now and then.
class Interrupted : public core::Failure {
 public:
  Interrupted() : Failure(StatusCode::kInterrupted, "interrupted") {}
};
// Null: there is no flag.
inline void StopIfInterrupted(const std::atomic<bool>* flag) {
  if (flag != nullptr && flag->load(std::memory_order_relaxed)) throw Interrupted();
}

// The flag of the call that is on. What outlives the call that made it asks here, as a reader that
// inflates when it is read; each call that lets it read says its own flag first.
class CurrentInterrupt {
 public:
  explicit CurrentInterrupt(const std::atomic<bool>* flag = nullptr) : flag_(flag) {}
  void Set(const std::atomic<bool>* flag) { flag_.store(flag, std::memory_order_relaxed); }
  void StopIfSet() const { StopIfInterrupted(flag_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<const std::atomic<bool>*> flag_;
};

using text::Escape;
using text::EscapeName;

// What a tensor of strings takes, for formats that must know before they write the first.
struct TextSize {
  std::uint64_t most_code_points = 0;  // of one string, read as UTF-8
  std::uint64_t most_bytes = 0;        // of one string
  std::uint64_t total_bytes = 0;
};

// Adds what some texts take.
void AddTextSize(const Strings& texts, TextSize& size);

// What bounds the memory that strings take: a longer one is refused by the readers, and a piece
// ends with the string that makes it longer.
inline constexpr std::uint64_t kMostStringBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kStringPieceBytes = std::uint64_t{8} << 20;

// A piece of a tensor of strings, owned, laid out as tensorcast::Strings.
struct StringPiece {
  std::vector<std::uint64_t> offsets = {0};
  std::vector<char> bytes;

  Strings view() const { return {offsets, bytes}; }
  void Append(std::string_view text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    offsets.push_back(bytes.size());
  }
};

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
  TextSize text;               // strings: what a writer needs; a reader leaves it 0
  bool fortran_order = false;  // npy: the elements stand in column-major order
  // Of a weight whose scales are applied how it is stored ("fp8-block"), to be said in the place of
  // its type; static storage.
  std::string_view layout = {};
  std::uint64_t stored_bytes = 0;  // of such a weight: of its codes and of what serves them
};

// A weight that a model is to hold as codes: their index, and the axis each index of which has a
// scale; none: there is one. The scales are the tensor behind the codes.
struct ScaledOutput {
  std::size_t codes = 0;
  std::optional<std::uint32_t> axis;
};

// What a whole file holds, in the order of its reader (or as given to a writer).
struct FileContents {
  std::vector<TensorInfo> tensors;
  // safetensors' __metadata__, a TensorProto's metadata_props.
  std::map<std::string, std::string> metadata;
  // Scales have been applied to all tensors that had some: what a configuration says of quantised
  // tensors is true of none of these.
  bool is_dequantised = false;
  // The type that a configuration beside these tensors has to name as the model's; kUndefined: that
  // which it names.
  DataType model_type = DataType::kUndefined;
  // JSON that a configuration beside these tensors has to say of those that are quantised:
  // config.json's member "quantization_config", all of hf_quant_config.json. Empty: nothing new.
  std::string quantization_config = {};
  std::string hf_quant_config = {};
  std::vector<ScaledOutput> scaled = {};  // of a model that is written, rising
};

class CheckpointReader;  // io/checkpoint_reader.h
class OnnxTensorReader;  // io/onnx_tensors.h

// Reads one file. Opening checks all that the header and the file's size decide.
class TensorReader {
 public:
  virtual ~TensorReader() = default;
  virtual const FileContents& contents() const = 0;
  // Reads bytes [offset, offset + out.size()) of a tensor's dense form: little-endian, packed as
  // the library packs, whatever the file's own layout. For a packed type (bits < 8) offset * 8 and
  // out.size() * 8 are multiples of its bits, but for the tensor's last byte. Safe to call from
  // several threads. Throws Error.
  virtual void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const = 0;
  // Reads strings from `first` on of a tensor of type kString, n of them; fewer, but a multiple of
  // 4 so that a packed type takes whole bytes, where they take more than kStringPieceBytes. UTF-8
  // from numpy's <U, the bytes that stand in the file from |S and from a TensorProto. Safe to call
  // from several threads. Throws Error. The default is for formats that have no strings.
  virtual StringPiece ReadStrings(std::size_t tensor, std::uint64_t first, std::uint64_t n) const;
  // The size of the file, with those that it names, as it was opened.
  virtual std::uint64_t file_bytes() const = 0;
  // Throws Error where the file, or one that it names, was rewritten since it was opened. To be
  // asked when all is read, before anything made of it gets a name.
  virtual void CheckUnchanged() const = 0;
  // Files that it reads beside its own: those that hold a model's data.
  virtual std::vector<std::string> external_paths() const { return {}; }
  // The model whose tensors these are; null where they are tensors alone.
  virtual const OnnxTensorReader* onnx_model() const { return nullptr; }
  // The directory whose tensors these are; null where they are one file's.
  virtual const CheckpointReader* checkpoint() const { return nullptr; }
  // Something the user should know of how the file was understood ("<V2 is read as bfloat16").
  virtual std::vector<std::string> notes() const { return {}; }
};

// Writes one file beside its final name. Nothing stands under that name before Commit.
class TensorWriter {
 public:
  virtual ~TensorWriter() = default;  // without Commit: removes what was written
  // Writes bytes of a tensor's dense form at `offset`, as TensorReader::Read gives them. Each byte
  // is written once. Safe to call from several threads. Throws Error.
  virtual void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) = 0;
  // Writes the next strings of a tensor of type kString, in order from 0 on, not from two threads
  // at once, and tensor by tensor. The default is for formats that have no strings.
  virtual void WriteStrings(std::size_t tensor, std::uint64_t first, const Strings& texts);
  // Brings everything to its disk: what is left for Commit is the name. Of outputs that belong
  // together none gets its name before all are synced. Call after everything is written.
  void Sync();
  // Syncs, where that is still to do, and gives the file its final name. Call once.
  void Commit();
  virtual std::uint64_t file_bytes() const = 0;
  // Whether a tensor's values are to be written. Those that are not stand in the file already, as
  // they were.
  virtual bool Wants(std::size_t /*tensor*/) const { return true; }
  // The file that is written until Commit gives it its name, where another process can write parts
  // of it; empty where it cannot.
  virtual std::string temporary() const { return {}; }
  // How another program reads what this format cannot say by itself, npy's
  // "numpy.load('x.npy')..."; lines after the first are Python code for it. Empty where nothing
  // needs saying.
  virtual std::string reading_hint() const { return {}; }
  // Something the user should know of how the file is written ("removed .x.npy... , left by a run
  // that was killed"; "__metadata__ is not kept").
  virtual std::vector<std::string> notes() const { return {}; }

 private:
  virtual void DoSync() = 0;
  virtual void DoCommit() = 0;

  bool synced_ = false;
};

// Where bytes that must be made before they can be read are kept (a deflated member). Without a
// directory in memory; with one in a temporary file there, so that memory stays bounded.
struct SpoolOptions {
  std::string directory;
  std::string advice;  // ends a message about the directory: "; name another with ..."
};

struct OpenOptions {
  std::optional<DataType> assume_type;  // npy: what <V1 (and <f1, <V2) holds
  // Once true, reading what takes long before its first byte is there (a deflated member, a stored
  // one that is held against its checksum) ends with Interrupted. Null: nothing interrupts.
  std::shared_ptr<const CurrentInterrupt> interrupted = nullptr;
  // onnx: take data from a file that has other names (hard links) too.
  bool allow_hard_links = false;
  SpoolOptions spool = {};
};

// A directory of hidden name in which outputs are made that get their names together.
struct Staging {
  std::string directory = {};  // empty: the output is made beside its name
  // The output is a part of it and stays: the directory gets a name as a whole.
  bool holds_parts = false;
  bool syncs_files = false;   // it is synced with what is in it
  bool closes_files = false;  // the file is opened for each use: there may be many
};

struct CreateOptions {
  bool overwrite = false;  // replace an existing file
  // Files the output must not be, by any name (symbolic and hard links included).
  std::vector<std::string> inputs;
  // The temporary file of an output that another process has begun (TensorWriter::temporary), of
  // the same contents: parts of it are written, and it is neither removed nor given its name.
  std::string begun = {};
  // A directory of safetensors files: so many bytes of tensors in each at most, as far as one
  // tensor does not take more; 0: the tensors of a file stay together.
  std::uint64_t max_shard_bytes = 0;
  Staging staging = {};
  // What a new output lets others do at most (PermissionsOfOutput). Nothing: what all of `inputs`
  // let them do.
  std::optional<unsigned> permissions = {};
};

// Whether a path has the ending of a format (".npy", in lower case), in any case.
bool HasEnding(std::string_view path, std::string_view ending);

// The endings of the formats, each with its dot.
std::vector<std::string_view> FormatEndings();
// The same for a text: ".safetensors, .npy, .npz, .pb or .onnx".
std::string JoinedEndings(std::string_view conjunction);

// What a file of that ending is called where it holds one tensor ("an .npy"); empty where it holds
// many, or is not in a known format.
std::string_view OneTensorFile(std::string_view path);

// Whether an output of that name is a directory: it ends with a slash, or has no ending that files
// of weights have.
bool IsDirectoryName(const std::string& path);

// Throws Error (unsupported) where tensors cannot be written to a file of that ending.
void CheckOutputFormat(const std::string& path);

// The format is recognised by the file's first bytes, then by its name's ending; a directory is a
// checkpoint's (checkpoint_reader.h).
std::unique_ptr<TensorReader> OpenTensorFile(const std::string& path, const OpenOptions& options);
// The same of bytes from elsewhere; the ending is that of source->path().
std::unique_ptr<TensorReader> OpenTensorSource(std::unique_ptr<ByteSource> source,
                                               const OpenOptions& options);

// The format is that of the name's ending (.safetensors, .npy ...). Checks that the contents can be
// expressed in it, that the name is free (or `overwrite`) and that the disk has room, then creates
// a temporary file beside it. The tensors' indices are those of `contents`, whatever the order in
// the file.
std::unique_ptr<TensorWriter> CreateTensorFile(const std::string& path, FileContents contents,
                                               const CreateOptions& options);

// The checks of CreateTensorFile that need no writing (a dry run): throws what it would throw.
// Returns the size the file would have.
std::uint64_t CheckTensorFile(const std::string& path, const FileContents& contents,
                              const CreateOptions& options);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_TENSOR_FILE_H_

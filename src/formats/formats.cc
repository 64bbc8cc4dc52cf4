// The table of file formats, and the choice among them.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/formats.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "files/error.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "formats/onnx_tensors.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

// Not written: a pickle may run code where it is loaded.
constexpr Format TorchFormat(std::string_view ending) {
  return {ending, "",      kTorchTyped, LooksLikeLegacyTorch, OpenLegacyTorch, true,
          "",     nullptr, nullptr};
}

constexpr Format kFormats[] = {
    {".safetensors", "", "a safetensors file, which names its types", LooksLikeSafetensors,
     OpenSafetensors, false, "", CreateSafetensors, MeasureSafetensors},
    {".npy", "an .npy", "", LooksLikeNpy, OpenNpy, false, "", CreateNpy, MeasureNpy},
    {".npz", "", "", LooksLikeNpz, OpenNpz, true, "", CreateNpz, MeasureNpz},
    {".pb", "a .pb", "a TensorProto, which names its type", nullptr, OpenTensorProto, false, "",
     CreateTensorProto, MeasureTensorProto},
    TorchFormat(".pt"),
    TorchFormat(".pth"),
    TorchFormat(".bin"),
    TorchFormat(".ckpt"),
    // Models are written by src/onnx, from models.
    {".onnx", "", "an ONNX model, which names its types", nullptr, OpenOnnxModel, false,
     "a model is written from a model only: tensors alone have no graph", nullptr, nullptr},
    {".gguf", "", "a GGUF file, which names its types", LooksLikeGguf, OpenGguf, false, "",
     CreateGguf, MeasureGguf},
};

constexpr std::size_t kHeadBytes = 16;

// The first bytes of a file.
class Head {
 public:
  explicit Head(const files::ByteSource& source)
      : size_(static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), kHeadBytes))) {
    source.Read(0, std::span(bytes_).first(size_));
  }
  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), size_}; }

 private:
  std::array<std::byte, kHeadBytes> bytes_{};
  std::size_t size_;
};

// Formats that are recognised only to say that they are not read.
struct Stranger {
  std::string_view magic;
  std::string_view name;
};

constexpr std::string_view kOtherProtocol =
    "a pickle of protocol 3, 4 or 5, and torch.save writes 2, the only one that is read, unless "
    "its "
    "pickle_protocol says otherwise";
constexpr Stranger kStrangers[] = {
    {"\x80\x02", "a pickle that torch.save did not write"},
    {"\x80\x03", kOtherProtocol},
    {"\x80\x04", kOtherProtocol},
    {"\x80\x05", kOtherProtocol},
    {"\x89HDF", "an HDF5 file"},
    {"\x1F\x8B", "a gzip file"},
    {"version https://", "a Git LFS pointer; fetch the file itself (git lfs pull)"},
};

bool EndsInDivider(std::string_view path) {
  return !path.empty() && files::NameBegin(path) == path.size();
}

const Format& OutputFormat(const std::string& path) {
  const Format* const format = FindByEnding(path);
  if (EndsInDivider(path) || (format == nullptr && files::IsDirectory(path))) {
    throw Error(ErrorKind::kArguments,
                words::PathText(path) + ": a directory is written from a directory " +
                    "only; give the directory that holds the input, or name a file: " +
                    JoinedOutputEndings("or"),
                path);
  }
  if (format == nullptr) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(path) + ": the output's format is not known by " + "its ending; " +
                    JoinedOutputEndings("and") + " are written",
                path);
  }
  if (format->create == nullptr) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(path) + ": " +
                    (format->why_not_written.empty()
                         ? std::string(format->ending) + " files are read, not written; " +
                               JoinedOutputEndings("and") + " are written"
                         : std::string(format->why_not_written) +
                               "; write a .safetensors, .npz, .npy or .pb file"),
                path);
  }
  return *format;
}

// The format of a file by its first bytes, or null.
const Format* FindByHead(std::span<const std::byte> head) {
  const auto* const format = std::ranges::find_if(kFormats, [&](const Format& row) {
    return row.looks_like != nullptr && row.looks_like(head);
  });
  return format == std::end(kFormats) ? nullptr : format;
}

std::string Joined(const std::vector<std::string_view>& endings, std::string_view conjunction) {
  std::string text;
  for (const std::string_view& ending : endings) {
    if (&ending == &endings.back()) {
      text.append(" ").append(conjunction).append(" ");
    } else if (!text.empty()) {
      text += ", ";
    }
    text += ending;
  }
  return text;
}

}  // namespace

const Format* FindByEnding(std::string_view path) {
  const auto* const format =
      std::find_if(std::begin(kFormats), std::end(kFormats),
                   [&](const Format& row) { return HasEnding(path, row.ending); });
  return format == std::end(kFormats) ? nullptr : format;
}

std::vector<std::string_view> FormatEndings() {
  std::vector<std::string_view> endings;
  for (const Format& format : kFormats) endings.push_back(format.ending);
  return endings;
}

std::string JoinedEndings(std::string_view conjunction) {
  return Joined(FormatEndings(), conjunction);
}

std::string JoinedOutputEndings(std::string_view conjunction) {
  std::vector<std::string_view> endings;
  for (const Format& format : kFormats) {
    if (format.create != nullptr || !format.why_not_written.empty()) {
      endings.push_back(format.ending);
    }
  }
  return Joined(endings, conjunction);
}

bool LooksLikeTensorFile(std::span<const std::byte> head) {
  return FindByHead(head.first(std::min(head.size(), kHeadBytes))) != nullptr;
}

void RefuseStranger(const files::ByteSource& source) {
  const Head head(source);
  // A safetensors file begins with a length, whose bytes may be any of these.
  if (LooksLikeSafetensors(head.bytes())) return;
  for (const Stranger& stranger : kStrangers) {
    if (head.text().starts_with(stranger.magic)) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(source.path()) + ": is " + std::string(stranger.name) + "; " +
                      JoinedEndings("and") + " files are read",
                  source.path());
    }
  }
}

OpenedTensors OpenTensorSource(std::unique_ptr<files::ByteSource> source,
                               const OpenOptions& options) {
  const std::string path = source->path();
  const Format* format = FindByHead(Head(*source).bytes());
  if (format == nullptr) {
    RefuseStranger(*source);
    // The format's own reader says best what is wrong with a file that only has its name.
    format = FindByEnding(path);
  }
  if (format == nullptr) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(path) + ": is not in a known format; " + JoinedEndings("and") +
                    " files are read",
                path);
  }
  RefuseAssumedType(path, format->typed, options);
  if (!format->may_have_root) RefuseRoot(path, options);
  return format->open(std::move(source), options);
}

void RefuseAssumedType(const std::string& path, std::string_view typed,
                       const OpenOptions& options) {
  if (!options.assume_type || typed.empty()) return;
  if (options.passed_over != nullptr) {
    options.passed_over->assume_type = true;
    return;
  }
  throw Error(ErrorKind::kArguments,
              words::PathText(path) + ": is " + std::string(typed) +
                  "; a type is assumed only of .npy files that do not",
              path);
}

void RefuseRoot(const std::string& path, const OpenOptions& options) {
  if (options.root.empty()) return;
  if (options.passed_over != nullptr) {
    options.passed_over->root = true;
    return;
  }
  throw Error(ErrorKind::kArguments,
              words::PathText(path) + ": has no root to choose, as torch's files have one", path);
}

std::string_view OneTensorFile(std::string_view path) {
  const Format* const format = FindByEnding(path);
  return format != nullptr ? format->one_tensor : std::string_view();
}

void CheckOutputFormat(const std::string& path) { OutputFormat(path); }

std::unique_ptr<TensorWriter> CreateTensorFile(const std::string& path, FileContents contents,
                                               const files::CreateOptions& options) {
  return OutputFormat(path).create(path, std::move(contents), options);
}

std::uint64_t CheckTensorFile(const std::string& path, const FileContents& contents,
                              const files::CreateOptions& options) {
  const std::uint64_t bytes = OutputFormat(path).measure(path, contents);
  files::CheckOutput(path, bytes, options);
  return bytes;
}

}  // namespace tensorcast::formats

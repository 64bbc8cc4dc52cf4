// Reads and writes whole tensors, through the formats' readers and writers.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/tensor_files.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/open_tensor_file.h"
#include "files/error.h"
#include "shell/process.h"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

// Whole elements of every width, and whole blocks of what formats unpack.
constexpr std::uint64_t kPiece = std::uint64_t{3} << 20;

// Whether codes of `from` may stand for those of `to`.
bool AreCodesOf(DataType from, DataType to) {
  const TypeInfo* const source = FindType(from);
  const TypeInfo* const wanted = FindType(to);
  return source != nullptr && wanted != nullptr && source->type_class == TypeClass::kUnsigned &&
         wanted->is_float() && source->bits == wanted->bits && wanted->bits < 32;
}

}  // namespace

formats::OpenOptions ToolOpenOptions() {
  TemporaryPlace place = PlaceOfTemporaries();
  formats::OpenOptions options;
  options.spool.directory = std::move(place.directory);
  options.spool.advice = std::move(place.advice);
  return options;
}

TensorView HeldTensor::view() const {
  TensorView view;
  view.type = type;
  view.shape = shape;
  if (type == DataType::kString) {
    view.strings = strings.view();
  } else {
    view.data = {data.get(), static_cast<std::size_t>(bytes)};
  }
  return view;
}

std::shared_ptr<const formats::TensorReader> OpenAs(const std::string& path, DataType wanted) {
  formats::OpenOptions open = ToolOpenOptions();
  try {
    return checkpoint::OpenTensorFile(path, open).reader;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kArguments || wanted == DataType::kString) throw;
  }
  open.assume_type = wanted;  // it asked for --assume-type: the model knows
  return checkpoint::OpenTensorFile(path, open).reader;
}

HeldTensor ReadHeld(const formats::TensorReader& reader, std::size_t tensor, DataType wanted,
                    const std::string& path, const std::string& what) {
  const formats::TensorInfo& info = reader.contents().tensors.at(tensor);
  const auto fail = [&](ErrorKind kind, const std::string& why) {
    throw Error(kind, fmt::format("{}: {} {}", words::PathText(path), what, why));
  };
  if (info.type != wanted && !AreCodesOf(info.type, wanted)) {
    const std::string held(info.type == DataType::kUndefined ? words::EscapeName(info.dtype)
                                                             : std::string(TypeName(info.type)));
    fail(ErrorKind::kArguments,
         fmt::format("is {0} in the model, and {1} in this file; cast it with 'tensorcast convert "
                     "--all-types --to {0}'",
                     TypeName(wanted), held));
  }
  if (info.IsColumnMajor()) {
    fail(ErrorKind::kUnsupported,
         "is in Fortran order here, which a model does not have; save numpy.ascontiguousarray of "
         "it");
  }
  HeldTensor held;
  held.name = info.name;
  held.type = wanted;
  held.shape = info.shape;
  if (wanted == DataType::kString) {
    for (std::uint64_t first = 0; first < info.elements;) {
      const text::StringPiece piece = reader.ReadStrings(tensor, first, info.elements - first);
      const Strings texts = piece.view();
      for (std::uint64_t i = 0; i < texts.size(); ++i) held.strings.Append(texts[i]);
      first += texts.size();
    }
    reader.CheckUnchanged();
    return held;
  }
  held.bytes = info.bytes;
  held.data = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(held.bytes));
  const std::span<std::byte> all(held.data.get(), static_cast<std::size_t>(held.bytes));
  for (std::uint64_t done = 0; done < held.bytes; done += kPiece) {
    reader.Read(tensor, done,
                all.subspan(static_cast<std::size_t>(done),
                            static_cast<std::size_t>(std::min(kPiece, held.bytes - done))));
  }
  reader.CheckUnchanged();
  return held;
}

std::unique_ptr<formats::TensorWriter> WriteTensors(const std::string& path,
                                                    const std::vector<std::string>& names,
                                                    const std::vector<TensorView>& tensors,
                                                    const files::CreateOptions& options) {
  formats::FileContents contents;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& tensor = tensors[i];
    formats::TensorInfo& info = contents.tensors.emplace_back();
    info.name = names[i];
    info.type = tensor.type;
    info.shape.assign(tensor.shape.begin(), tensor.shape.end());
    info.elements = 1;
    for (const std::uint64_t n : info.shape) info.elements *= n;
    info.bytes = tensor.data.size();
    if (tensor.type == DataType::kString) text::AddTextSize(tensor.strings, info.text);
  }
  std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, std::move(contents), options);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& tensor = tensors[i];
    if (tensor.type == DataType::kString) {
      if (tensor.strings.size() != 0) writer->WriteStrings(i, 0, tensor.strings);
      continue;
    }
    for (std::uint64_t done = 0; done < tensor.data.size(); done += kPiece) {
      writer->Write(i, done,
                    tensor.data.subspan(static_cast<std::size_t>(done),
                                        static_cast<std::size_t>(std::min<std::uint64_t>(
                                            kPiece, tensor.data.size() - done))));
    }
  }
  return writer;
}

void CheckStatus(Status status, const std::string& error) {
  const std::string text = error.empty() ? std::string(status.message()) : error;
  switch (status.code()) {
    case StatusCode::kOk: return;
    case StatusCode::kOutOfMemory: throw std::bad_alloc();
    case StatusCode::kInterrupted: throw files::Interrupted();
    case StatusCode::kInternalError:
    case StatusCode::kExecutorFailed:
    case StatusCode::kFileError: throw Error(ErrorKind::kSystem, text, status.remedy());
    case StatusCode::kBadFile:
    case StatusCode::kNotANumber:
    case StatusCode::kNotAnInteger: throw Error(ErrorKind::kContents, text, status.remedy());
    case StatusCode::kUnsupportedFile: throw Error(ErrorKind::kUnsupported, text, status.remedy());
    default: throw Error(ErrorKind::kArguments, text, status.remedy());
  }
}

}  // namespace tensorcast::tool

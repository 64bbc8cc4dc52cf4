// Reads and writes npy files. Types below a byte stand there one element a byte, so reading packs
// and writing unpacks; big-endian elements are turned round.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/npy.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "io/error_text.h"
#include "io/npy_dtype.h"
#include "io/npy_header.h"
#include "io/shape.h"

namespace tensorcast::io {
namespace {

// Elements that are packed or unpacked at a time; a multiple of 4, so that each piece of a type
// below a byte takes whole bytes.
constexpr std::uint64_t kPiece = 16 * 1024;

std::string_view LastPart(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string Stem(std::string_view path) {
  constexpr std::size_t kEnding = 4;
  std::string_view name = LastPart(path);
  if (name.size() > kEnding && name[name.size() - kEnding] == '.') name.remove_suffix(kEnding);
  return std::string(name);
}

// One code a byte in `codes` (bits above the type's ignored) into the packed `out`.
void Pack(std::span<const std::byte> codes, int bits, std::byte* out) {
  const unsigned mask = (1u << bits) - 1;
  unsigned pending = 0;
  int pending_bits = 0;
  for (const std::byte code : codes) {
    pending |= (std::to_integer<unsigned>(code) & mask) << pending_bits;
    pending_bits += bits;
    if (pending_bits >= 8) {
      *out++ = static_cast<std::byte>(pending & 0xFF);
      pending >>= 8;
      pending_bits -= 8;
    }
  }
  if (pending_bits > 0) *out = static_cast<std::byte>(pending & 0xFF);
}

// The inverse; the bits above the type's are zero.
void Unpack(const std::byte* in, int bits, std::span<std::byte> codes) {
  const unsigned mask = (1u << bits) - 1;
  unsigned pending = 0;
  int pending_bits = 0;
  for (std::byte& code : codes) {
    if (pending_bits < bits) {
      pending |= std::to_integer<unsigned>(*in++) << pending_bits;
      pending_bits += 8;
    }
    code = static_cast<std::byte>(pending & mask);
    pending >>= bits;
    pending_bits -= bits;
  }
}

// Calls piece(first element, elements, bytes of the packed form from the start) for each piece of
// the packed bytes [offset, offset + size) of a tensor.
template <class Function>
void ForPieces(const TensorInfo& info, std::uint64_t offset, std::uint64_t size, Function piece) {
  const auto bits = static_cast<std::uint64_t>(FindType(info.type)->bits);
  const std::uint64_t begin = offset * 8 / bits;
  const std::uint64_t end = std::min(info.elements, (offset + size) * 8 / bits);
  for (std::uint64_t first = begin; first < end; first += kPiece) {
    piece(first, std::min(kPiece, end - first), (first - begin) * bits / 8);
  }
}

class NpyReader final : public TensorReader {
 public:
  NpyReader(InputFile file, const OpenOptions& options) : file_(std::move(file)) {
    NpyHeader header = ReadNpyHeader(file_);
    dtype_ = UnderstandDescr(file_.path(), header.descr, options.assume_type);
    data_begin_ = header.data_begin;
    CheckSize(header);

    TensorInfo& info = contents_.tensors.emplace_back();
    info.name = Stem(file_.path());
    info.dtype = std::move(header.descr);
    info.type = dtype_.type;
    info.shape = std::move(header.shape);
    info.elements = *CheckedProduct(info.shape);
    info.bytes = *StorageBytes(info.type, info.elements);
    info.fortran_order = header.fortran_order;
  }

  const FileContents& contents() const override { return contents_; }

  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    const TensorInfo& info = contents_.tensors.at(tensor);
    if (FindType(info.type)->is_packed()) {
      ReadPacked(info, offset, out);
    } else if (dtype_.big_endian) {
      ReadSwapped(offset, out);
    } else {
      file_.Read(data_begin_ + offset, out);
    }
  }

  std::vector<std::string> notes() const override {
    if (dtype_.note.empty()) return {};
    return {PathText(file_.path()) + ": " + dtype_.note};
  }

 private:
  // The data must be all that follows the header.
  void CheckSize(const NpyHeader& header) const {
    const auto fail = [&](const std::string& why) {
      throw Error(ErrorKind::kContents, PathText(file_.path()) + ": " + why);
    };
    const std::uint64_t there = file_.size() - header.data_begin;
    const std::optional<std::uint64_t> elements = CheckedProduct(header.shape);
    if (!elements || *elements > UINT64_MAX / dtype_.item_bytes) {
      fail("has the shape " + ShapeText(header.shape) + " of " + Escape(header.descr) +
           ": more than 2^64 - 1 bytes");
    }
    const std::uint64_t expected = *elements * dtype_.item_bytes;
    const std::string what = CountText(*elements, "element") + " of " + Escape(header.descr) +
                             ", " + CountText(expected, "byte") + ", from offset " +
                             std::to_string(header.data_begin);
    if (there < expected) {
      fail("has " + what + ", but only " + std::to_string(there) +
           " follow; the file is cut short");
    }
    if (there > expected) {
      fail("has " + what + ", and " + CountText(there - expected, "byte") +
           " after them; expected none");
    }
  }

  void ReadPacked(const TensorInfo& info, std::uint64_t offset, std::span<std::byte> out) const {
    const int bits = FindType(info.type)->bits;
    std::vector<std::byte> codes(kPiece);
    ForPieces(info, offset, out.size(),
              [&](std::uint64_t first, std::uint64_t n, std::uint64_t at) {
                const auto piece = std::span(codes).first(static_cast<std::size_t>(n));
                file_.Read(data_begin_ + first, piece);
                Pack(piece, bits, out.data() + at);
              });
  }

  void ReadSwapped(std::uint64_t offset, std::span<std::byte> out) const {
    const std::uint64_t item = dtype_.item_bytes;
    if (offset % item == 0 && out.size() % item == 0) {
      file_.Read(data_begin_ + offset, out);
      Swap(out);
      return;
    }
    // The elements that the range cuts are read whole.
    const std::uint64_t begin = offset / item * item;
    const std::uint64_t end = (offset + out.size() + item - 1) / item * item;
    std::vector<std::byte> whole(static_cast<std::size_t>(end - begin));
    file_.Read(data_begin_ + begin, whole);
    Swap(whole);
    std::memcpy(out.data(), whole.data() + (offset - begin), out.size());
  }

  void Swap(std::span<std::byte> elements) const {
    const auto item = static_cast<std::size_t>(dtype_.item_bytes);
    for (std::size_t i = 0; i < elements.size(); i += item) {
      std::reverse(elements.begin() + static_cast<std::ptrdiff_t>(i),
                   elements.begin() + static_cast<std::ptrdiff_t>(i + item));
    }
  }

  InputFile file_;
  NpyDtype dtype_;
  std::uint64_t data_begin_ = 0;
  FileContents contents_;
};

// ---------------------------------------------------------------------------------- writing

struct Layout {
  TensorInfo info;
  std::string header;
  std::uint64_t file_bytes = 0;
};

Layout MakeLayout(const std::string& path, const FileContents& contents) {
  if (contents.tensors.size() != 1) {
    throw Error(ErrorKind::kArguments, PathText(path) + ": an .npy file holds one tensor, not " +
                                           std::to_string(contents.tensors.size()) +
                                           "; choose one with --tensor");
  }
  Layout layout;
  layout.info = contents.tensors[0];
  TensorInfo& info = layout.info;
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kUnsupported,
                PathText(path) + ": tensor " + Quoted(info.name) + " " + why);
  };
  NpyHeader header;
  header.descr = DescrOf(info.type);
  if (header.descr.empty()) {
    fail("is " +
         (info.type == DataType::kUndefined ? Escape(info.dtype)
                                            : std::string(TypeName(info.type))) +
         ", which is not written to .npy files");
  }
  if (info.shape.size() > kMostDimensions) {
    fail("has " + std::to_string(info.shape.size()) + " dimensions; numpy has at most " +
         std::to_string(kMostDimensions));
  }
  const std::optional<std::uint64_t> elements = CheckedProduct(info.shape);
  const std::uint64_t item = ItemBytes(info.type);
  header.fortran_order = info.fortran_order && info.shape.size() > 1;
  header.shape = info.shape;
  layout.header = MakeNpyHeader(header);
  if (!elements || *elements > (UINT64_MAX - layout.header.size()) / item) {
    fail("has the shape " + ShapeText(info.shape) + ": more than 2^64 - 1 bytes");
  }
  info.elements = *elements;
  layout.file_bytes = layout.header.size() + *elements * item;
  return layout;
}

// A Python string literal.
std::string PythonString(std::string_view text) {
  std::string literal;
  for (const char c : text) {
    if (c == '\\' || c == '\'') literal += '\\';
    literal += c;
  }
  return '\'' + Escape(literal) + '\'';
}

class NpyWriter final : public TensorWriter {
 public:
  NpyWriter(const std::string& path, Layout layout, bool drops_metadata,
            const CreateOptions& options)
      : file_(path, layout.file_bytes, options),
        layout_(std::move(layout)),
        drops_metadata_(drops_metadata) {
    file_.Write(0, std::as_bytes(std::span(layout_.header)));
  }

  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    if (tensor != 0) throw std::out_of_range("an .npy file holds one tensor");
    const TensorInfo& info = layout_.info;
    const TypeInfo& type = *FindType(info.type);
    if (!type.is_packed()) {
      file_.Write(layout_.header.size() + offset, data);
      return;
    }
    std::vector<std::byte> codes(kPiece);
    ForPieces(info, offset, data.size(),
              [&](std::uint64_t first, std::uint64_t n, std::uint64_t at) {
                const auto piece = std::span(codes).first(static_cast<std::size_t>(n));
                Unpack(data.data() + at, type.bits, piece);
                file_.Write(layout_.header.size() + first, piece);
              });
  }
  void Commit() override { file_.Commit(); }
  std::uint64_t file_bytes() const override { return layout_.file_bytes; }
  std::string reading_hint() const override {
    const std::string_view name = MlDtypesName(layout_.info.type);
    if (name.empty()) return {};
    return "numpy.load(" + PythonString(file_.path()) + ").view(ml_dtypes." + std::string(name) +
           ')';
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = file_.notes();
    if (drops_metadata_) {
      notes.push_back(PathText(file_.path()) + ": the input's __metadata__ has no place in .npy");
    }
    return notes;
  }

 private:
  OutputFile file_;
  Layout layout_;
  bool drops_metadata_;
};

}  // namespace

bool LooksLikeNpy(std::span<const std::byte> head) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  return head.size() >= kMagic.size() &&
         std::memcmp(head.data(), kMagic.data(), kMagic.size()) == 0;
}

std::unique_ptr<TensorReader> OpenNpy(InputFile file, const OpenOptions& options) {
  return std::make_unique<NpyReader>(std::move(file), options);
}

std::unique_ptr<TensorWriter> CreateNpy(const std::string& path, FileContents contents,
                                        const CreateOptions& options) {
  return std::make_unique<NpyWriter>(path, MakeLayout(path, contents), !contents.metadata.empty(),
                                     options);
}

std::uint64_t CheckNpy(const std::string& path, const FileContents& contents,
                       const CreateOptions& options) {
  const std::uint64_t bytes = MakeLayout(path, contents).file_bytes;
  CheckOutput(path, bytes, options);
  return bytes;
}

}  // namespace tensorcast::io

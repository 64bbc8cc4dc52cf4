// Writes npz archives as numpy.savez does: members stored, each local header with the ZIP64 extra
// field. Sizes are known before, so every place is; the CRCs are put in at the end.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include <zlib.h>

#include "core/little_endian.h"
#include "files/error.h"
#include "files/system.h"
#include "formats/formats.h"
#include "formats/npy_array.h"
#include "formats/npy_dtype.h"
#include "formats/npy_header.h"
#include "formats/zip_directory.h"
#include "words/utf8.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::uint64_t kZip64ExtraBytes = 20;
// What fills a local header up: the field that Android's zipalign uses, which readers pass over.
constexpr std::uint16_t kAlignmentExtra = 0xD935;
constexpr std::uint64_t kLeastAlignmentExtra = 6;
constexpr std::uint16_t kVersion = 45;           // ZIP64
constexpr std::uint16_t kUnix = 3 << 8;          // the system that the attributes are of
constexpr std::uint16_t kFirstDay = 1 << 5 | 1;  // 1980-01-01, as numpy writes
constexpr std::uint32_t kAttributes = 0600u << 16;

using core::AppendLittle;

// The CRC-32 of bytes that come in pieces, in any order and from several threads.
class PiecewiseCrc {
 public:
  void Add(std::uint64_t offset, std::span<const std::byte> data) {
    if (data.empty()) return;
    const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size());
    const std::lock_guard<std::mutex> lock(mutex_);
    auto piece = pieces_.emplace(offset, Piece{data.size(), crc}).first;
    if (piece != pieces_.begin()) piece = Join(std::prev(piece), piece);
    if (std::next(piece) != pieces_.end()) Join(piece, std::next(piece));
  }

  // The checksum of bytes [0, size), all of which have come.
  std::uint32_t Of(std::uint64_t size) const {
    if (size == 0) return 0;
    if (pieces_.size() != 1 || pieces_.begin()->first != 0 ||
        pieces_.begin()->second.bytes != size) {
      throw std::logic_error("a member of an archive was not written whole");
    }
    return static_cast<std::uint32_t>(pieces_.begin()->second.crc);
  }

 private:
  struct Piece {
    std::uint64_t bytes;
    uLong crc;
  };
  using Pieces = std::map<std::uint64_t, Piece>;

  // The checksum of two pieces, the second of which has `bytes`. z_off_t may have 32 bits, so the
  // first is moved past many bytes in steps, as a second piece whose checksum is 0 does.
  static uLong Combine(uLong first, uLong second, std::uint64_t bytes) {
    constexpr std::uint64_t kStep = std::uint64_t{1} << 30;
    for (; bytes > kStep; bytes -= kStep) first = crc32_combine(first, 0, z_off_t{kStep});
    return crc32_combine(first, second, static_cast<z_off_t>(bytes));
  }

  // Makes one of two pieces where they touch; returns the piece that holds the second's bytes.
  Pieces::iterator Join(Pieces::iterator first, Pieces::iterator second) {
    if (first->first + first->second.bytes != second->first) return second;
    Piece& piece = first->second;
    piece.crc = Combine(piece.crc, second->second.crc, second->second.bytes);
    piece.bytes += second->second.bytes;
    pieces_.erase(second);
    return first;
  }

  std::mutex mutex_;
  Pieces pieces_;  // by offset; those that touch are one
};

struct Member {
  NpyPlacement placement;
  std::string name;
  std::uint64_t header_begin = 0;
  std::uint64_t data_begin = 0;
};

struct NpzPlacement {
  std::vector<Member> members;
  std::uint64_t directory_begin = 0;
  std::uint64_t file_bytes = 0;
};

std::uint16_t Flags(const Member& member) {
  const bool is_ascii = std::all_of(member.name.begin(), member.name.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return is_ascii ? 0 : kZipUtf8Flag;
}

// What the local header and the central directory's entry share, from the flags to the CRC.
void AppendCommon(const Member& member, std::uint32_t crc, std::string& bytes) {
  AppendLittle(bytes, Flags(member), 2);
  AppendLittle(bytes, 0, 2);  // stored
  AppendLittle(bytes, 0, 2);  // midnight
  AppendLittle(bytes, kFirstDay, 2);
  AppendLittle(bytes, crc, 4);
}

std::string LocalHeader(const Member& member, std::uint32_t crc) {
  std::string bytes;
  AppendLittle(bytes, kZipLocalSignature, 4);
  AppendLittle(bytes, kVersion, 2);
  AppendCommon(member, crc, bytes);
  AppendLittle(bytes, UINT32_MAX, 4);  // the sizes are in the ZIP64 extra field
  AppendLittle(bytes, UINT32_MAX, 4);
  const std::uint64_t extra =
      member.data_begin - member.header_begin - kZipLocalBytes - member.name.size();
  AppendLittle(bytes, member.name.size(), 2);
  AppendLittle(bytes, extra, 2);
  bytes += member.name;
  AppendLittle(bytes, kZip64Extra, 2);
  AppendLittle(bytes, kZip64ExtraBytes - 4, 2);
  AppendLittle(bytes, member.placement.bytes(), 8);
  AppendLittle(bytes, member.placement.bytes(), 8);
  if (const std::uint64_t padding = extra - kZip64ExtraBytes; padding > 0) {
    AppendLittle(bytes, kAlignmentExtra, 2);
    AppendLittle(bytes, padding - 4, 2);
    AppendLittle(bytes, kNpyAlignment, 2);
    bytes.append(static_cast<std::size_t>(padding - kLeastAlignmentExtra), '\0');
  }
  return bytes;
}

std::string CentralDirectoryEntry(const Member& member, std::uint32_t crc) {
  const std::uint64_t size = member.placement.bytes();
  std::string wide;  // what does not fit 32 bits
  const auto narrow = [&](std::uint64_t value, int times) {
    if (value < UINT32_MAX) return value;
    for (int i = 0; i < times; ++i) AppendLittle(wide, value, 8);
    return std::uint64_t{UINT32_MAX};
  };
  const std::uint64_t narrow_size = narrow(size, 2);
  const std::uint64_t narrow_begin = narrow(member.header_begin, 1);
  std::string bytes;
  AppendLittle(bytes, kZipEntrySignature, 4);
  AppendLittle(bytes, kUnix | kVersion, 2);
  AppendLittle(bytes, kVersion, 2);
  AppendCommon(member, crc, bytes);
  AppendLittle(bytes, narrow_size, 4);
  AppendLittle(bytes, narrow_size, 4);
  AppendLittle(bytes, member.name.size(), 2);
  AppendLittle(bytes, wide.empty() ? 0 : wide.size() + 4, 2);
  AppendLittle(bytes, 0, 2);  // no comment
  AppendLittle(bytes, 0, 2);  // disk
  AppendLittle(bytes, 0, 2);  // internal attributes
  AppendLittle(bytes, kAttributes, 4);
  AppendLittle(bytes, narrow_begin, 4);
  bytes += member.name;
  if (!wide.empty()) {
    AppendLittle(bytes, kZip64Extra, 2);
    AppendLittle(bytes, wide.size(), 2);
    bytes += wide;
  }
  return bytes;
}

// The end of the file: ZIP64's records where the older cannot say it, then the older.
std::string EndRecords(std::uint64_t members, std::uint64_t begin, std::uint64_t size) {
  std::string bytes;
  if (members >= 0xFFFF || begin >= UINT32_MAX || size >= UINT32_MAX) {
    AppendLittle(bytes, kZip64EndSignature, 4);
    AppendLittle(bytes, kZip64EndBytes - 12, 8);
    AppendLittle(bytes, kUnix | kVersion, 2);
    AppendLittle(bytes, kVersion, 2);
    AppendLittle(bytes, 0, 8);  // disks
    AppendLittle(bytes, members, 8);
    AppendLittle(bytes, members, 8);
    AppendLittle(bytes, size, 8);
    AppendLittle(bytes, begin, 8);
    AppendLittle(bytes, kZip64LocatorSignature, 4);
    AppendLittle(bytes, 0, 4);
    AppendLittle(bytes, begin + size, 8);
    AppendLittle(bytes, 1, 4);
  }
  AppendLittle(bytes, kZipEndSignature, 4);
  AppendLittle(bytes, 0, 4);  // disks
  AppendLittle(bytes, std::min<std::uint64_t>(members, 0xFFFF), 2);
  AppendLittle(bytes, std::min<std::uint64_t>(members, 0xFFFF), 2);
  AppendLittle(bytes, std::min<std::uint64_t>(size, UINT32_MAX), 4);
  AppendLittle(bytes, std::min<std::uint64_t>(begin, UINT32_MAX), 4);
  AppendLittle(bytes, 0, 2);  // no comment
  return bytes;
}

void CheckNames(const std::string& path, const FileContents& contents) {
  const auto fail = [&](const std::string& name, ErrorKind kind, const std::string& why) {
    throw Error(kind, words::PathText(path) + ": tensor " + words::Quoted(name) + ' ' + why, path);
  };
  std::vector<std::string_view> names;
  names.reserve(contents.tensors.size());
  for (const TensorInfo& info : contents.tensors) {
    if (!words::IsUtf8(info.name)) {
      fail(info.name, ErrorKind::kUnsupported, "has a name that is not UTF-8, as .npz needs it");
    }
    const std::string member = info.name + std::string(kNpzMemberEnding);
    if (const std::string_view why = WhyNoMemberName(member); !why.empty()) {
      fail(info.name, ErrorKind::kUnsupported,
           "cannot be a member of an archive: a name " + std::string(why));
    }
    names.push_back(info.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    fail(std::string(*twice), ErrorKind::kArguments, "would be in the file twice");
  }
  if (names.size() > kMostZipMembers) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(path) + ": would have " + std::to_string(names.size()) +
                    " members; at most " + std::to_string(kMostZipMembers) + " are written",
                path);
  }
}

NpzPlacement PlaceNpz(const std::string& path, const FileContents& contents) {
  CheckNames(path, contents);
  NpzPlacement placement;
  placement.members.reserve(contents.tensors.size());
  std::uint64_t end = 0;
  const auto advance = [&](std::uint64_t bytes) {
    // A little below 2^64, so that what is rounded up still fits.
    if (bytes > UINT64_MAX - (std::uint64_t{1} << 32) - end) {
      throw Error(ErrorKind::kUnsupported,
                  words::PathText(path) + ": its tensors take 2^64 bytes or more", path);
    }
    end += bytes;
  };
  for (const TensorInfo& info : contents.tensors) {
    Member member{NpyPlacement(words::PathText(path), info),
                  info.name + std::string(kNpzMemberEnding)};
    member.header_begin = end;
    advance(kZipLocalBytes + member.name.size() + kZip64ExtraBytes);
    const std::uint64_t over = end % kNpyAlignment;
    std::uint64_t padding = over == 0 ? 0 : kNpyAlignment - over;
    if (padding > 0 && padding < kLeastAlignmentExtra) padding += kNpyAlignment;
    advance(padding);
    member.data_begin = end;
    advance(member.placement.bytes());
    placement.members.push_back(std::move(member));
  }
  placement.directory_begin = end;
  std::uint64_t directory_bytes = 0;
  for (const Member& member : placement.members) {
    directory_bytes += CentralDirectoryEntry(member, 0).size();
  }
  if (directory_bytes > kMostZipDirectoryBytes) {
    throw Error(ErrorKind::kUnsupported,
                words::PathText(path) + ": its central directory would take " +
                    std::to_string(directory_bytes) + " bytes; at most " +
                    std::to_string(kMostZipDirectoryBytes) + " are written",
                path);
  }
  advance(directory_bytes +
          EndRecords(placement.members.size(), placement.directory_begin, directory_bytes).size());
  placement.file_bytes = end;
  return placement;
}

class NpzWriter final : public TensorWriter {
 public:
  NpzWriter(const std::string& path, NpzPlacement placement, bool drops_metadata,
            const files::CreateOptions& options)
      : file_(path, placement.file_bytes, options),
        placement_(std::move(placement)),
        crcs_(placement_.members.size()),
        drops_metadata_(drops_metadata) {
    for (std::size_t i = 0; i < placement_.members.size(); ++i) {
      Put(i, 0, std::as_bytes(std::span(placement_.members[i].placement.header())));
    }
  }

  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    placement_.members.at(tensor).placement.Write(
        offset, data,
        [&](std::uint64_t at, std::span<const std::byte> bytes) { Put(tensor, at, bytes); });
  }
  void WriteStrings(std::size_t tensor, std::uint64_t first, const Strings& texts) override {
    placement_.members.at(tensor).placement.WriteStrings(
        first, texts,
        [&](std::uint64_t at, std::span<const std::byte> bytes) { Put(tensor, at, bytes); });
  }
  std::uint64_t file_bytes() const override { return placement_.file_bytes; }
  // One example for each of ml_dtypes' types.
  std::string reading_hint() const override {
    std::string hint;
    std::vector<std::string_view> said;
    for (const Member& member : placement_.members) {
      const std::string_view name = MlDtypesName(member.placement.info().type);
      if (name.empty() || std::find(said.begin(), said.end(), name) != said.end()) continue;
      said.push_back(name);
      hint += (hint.empty() ? "numpy.load(" + words::PythonString(file_.path()) + ")[" : ", [") +
              words::PythonString(member.placement.info().name) + "].view(ml_dtypes." +
              std::string(name) + ')';
    }
    return hint;
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = file_.notes();
    if (drops_metadata_) {
      notes.push_back(words::PathText(file_.path()) +
                      ": the input's __metadata__ has no place in .npz");
    }
    return notes;
  }

 private:
  void DoSync() override {
    std::string directory;
    for (std::size_t i = 0; i < placement_.members.size(); ++i) {
      const Member& member = placement_.members[i];
      const std::uint32_t crc = crcs_[i].Of(member.placement.bytes());
      const std::string header = LocalHeader(member, crc);
      file_.Write(member.header_begin, std::as_bytes(std::span(header)));
      directory += CentralDirectoryEntry(member, crc);
    }
    directory +=
        EndRecords(placement_.members.size(), placement_.directory_begin, directory.size());
    file_.Write(placement_.directory_begin, std::as_bytes(std::span(directory)));
    file_.Sync();
  }
  void DoCommit() override { file_.Commit(); }
  void Put(std::size_t i, std::uint64_t offset, std::span<const std::byte> bytes) {
    file_.Write(placement_.members[i].data_begin + offset, bytes);
    crcs_[i].Add(offset, bytes);
  }

  files::OutputFile file_;
  const NpzPlacement placement_;
  std::vector<PiecewiseCrc> crcs_;
  bool drops_metadata_;
};

}  // namespace

std::unique_ptr<TensorWriter> CreateNpz(const std::string& path, FileContents contents,
                                        const files::CreateOptions& options) {
  return std::make_unique<NpzWriter>(path, PlaceNpz(path, contents), !contents.metadata.empty(),
                                     options);
}

std::uint64_t MeasureNpz(const std::string& path, const FileContents& contents) {
  return PlaceNpz(path, contents).file_bytes;
}

}  // namespace tensorcast::formats

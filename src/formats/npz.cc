// Reads npz archives: stored members in place, deflated ones inflated into a temporary file when
// they are first read.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/formats.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <zlib.h>

#include "files/error.h"
#include "files/system.h"
#include "formats/inflate.h"
#include "formats/npy_array.h"
#include "formats/npy_dtype.h"
#include "formats/npy_header.h"
#include "formats/part_source.h"
#include "formats/torch_tensors.h"
#include "formats/zip_directory.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

// What one deflated member may hold, against bombs: deflate makes a thousand bytes of one.
constexpr std::uint64_t kMostInflated = std::uint64_t{64} << 30;

// "model.npz: w.npy", as messages name a member that is read as an npy file.
std::string Label(const files::ByteSource& source, const ZipMember& member) {
  return source.path() + ": " + member.name;
}

PartSource StoredMember(const files::ByteSource& archive, const ZipMember& member) {
  return {archive, member.data_begin, member.bytes, Label(archive, member)};
}

// The first bytes of a deflated member, which its header is read from.
class DeflatedHead final : public files::ByteSource {
 public:
  DeflatedHead(const files::ByteSource& archive, const ZipMember& member)
      : member_(member), label_(Label(archive, member)), inflater_(archive, member) {}

  const std::string& path() const override { return label_; }
  std::uint64_t size() const override { return member_.bytes; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::size_t end = static_cast<std::size_t>(offset) + out.size();
    if (const std::size_t have = bytes_.size(); have < end) {
      bytes_.resize(end);
      inflater_.Next(std::span(bytes_).subspan(have));
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  }

 private:
  const ZipMember& member_;
  std::string label_;
  // Reading goes on with the stream; only the header's parser reads, from one thread.
  mutable Inflater inflater_;
  mutable std::vector<std::byte> bytes_;
};

// The inflated members that were read last. Jobs read tensors one after the other, so few are
// needed at a time, and a checkpoint's worth of them would fill the disk or the memory.
class InflatedMembers {
 public:
  InflatedMembers(const files::ByteSource& archive, const OpenOptions& options)
      : archive_(archive), spool_(options.spool), interrupted_(options.interrupted) {}

  std::shared_ptr<const files::ByteSource> Get(const ZipMember& member) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.member == &member; });
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
    } else {
      entries_.push_front({&member, Inflate(member)});
      DropOldest();
    }
    return entries_.front().bytes;
  }

 private:
  struct Entry {
    const ZipMember* member;
    std::shared_ptr<const files::ByteSource> bytes;
  };
  static constexpr std::size_t kMost = 64;
  // Where workers go from one tensor to the next, both are read.
  static constexpr std::size_t kAlwaysKept = 2;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

  std::shared_ptr<const files::ByteSource> Inflate(const ZipMember& member) const {
    auto spool = std::make_shared<files::SpoolFile>(Label(archive_, member), spool_);
    spool->CheckRoomFor(member.bytes);
    Inflater inflater(archive_, member);
    std::vector<std::byte> piece(std::size_t{256} << 10);
    while (spool->size() < member.bytes) {
      if (interrupted_ != nullptr) interrupted_->StopIfSet();
      spool->Append(std::span(piece).first(inflater.Next(piece)));
    }
    inflater.Finish();
    return spool;
  }

  void DropOldest() {
    std::uint64_t bytes = 0;
    std::size_t kept = 0;
    auto entry = entries_.begin();
    for (; entry != entries_.end() && kept < kMost; ++entry, ++kept) {
      bytes += entry->bytes->size();
      if (kept >= kAlwaysKept && bytes > kMostBytes) break;
    }
    entries_.erase(entry, entries_.end());
  }

  const files::ByteSource& archive_;
  const files::SpoolOptions spool_;
  const std::shared_ptr<const files::CurrentInterrupt> interrupted_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last read first
};

// Which stored members have been held against the CRC-32 of the directory: a cast of damaged bytes
// would be written with a checksum that is right.
class StoredChecks {
 public:
  StoredChecks(std::size_t members, std::shared_ptr<const files::CurrentInterrupt> interrupted)
      : interrupted_(std::move(interrupted)), is_checked_(members, false) {}

  void Check(const files::ByteSource& archive, const ZipMember& member, std::size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_checked_[index]) return;
    std::vector<std::byte> piece(
        static_cast<std::size_t>(std::min<std::uint64_t>(member.bytes, std::uint64_t{1} << 20)));
    uLong crc = 0;
    for (std::uint64_t done = 0; done < member.bytes;) {
      if (interrupted_ != nullptr) interrupted_->StopIfSet();
      const auto some = std::span(piece).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), member.bytes - done)));
      archive.Read(member.data_begin + done, some);
      crc = crc32_z(crc, reinterpret_cast<const Bytef*>(some.data()), some.size());
      done += some.size();
    }
    if (crc != member.crc) {
      throw Error(ErrorKind::kContents,
                  MemberText(archive, member) +
                      " does not have the CRC-32 that the central directory states; it is damaged");
    }
    is_checked_[index] = true;
  }

 private:
  const std::shared_ptr<const files::CurrentInterrupt> interrupted_;
  std::mutex mutex_;
  std::vector<bool> is_checked_;
};

void RefuseStrangers(const files::ByteSource& source, const std::vector<ZipMember>& members) {
  for (const ZipMember& member : members) {
    if (member.name.ends_with(kNpzMemberEnding)) continue;
    throw Error(
        ErrorKind::kUnsupported,
        MemberText(source, member) + " is not an .npy file; an .npz archive holds nothing else");
  }
}

class NpzReader final : public TensorReader {
 public:
  NpzReader(std::unique_ptr<files::ByteSource> source, std::vector<ZipMember> members,
            const OpenOptions& options)
      : source_(std::move(source)),
        members_(std::move(members)),
        inflated_(*source_, options),
        checks_(members_.size(), options.interrupted) {
    RefuseStrangers(*source_, members_);
    arrays_.reserve(members_.size());
    bool is_assumed = false;
    for (const ZipMember& member : members_) {
      std::unique_ptr<files::ByteSource> bytes;
      if (member.is_deflated && member.bytes > kMostInflated) {
        throw Error(ErrorKind::kUnsupported,
                    MemberText(*source_, member) + " would give " +
                        words::CountText(member.bytes, "byte") + "; at most " +
                        std::to_string(kMostInflated) +
                        " are inflated: save it without compression, by numpy.savez");
      }
      if (member.is_deflated) {
        bytes = std::make_unique<DeflatedHead>(*source_, member);
      } else {
        bytes = std::make_unique<PartSource>(StoredMember(*source_, member));
      }
      // The assumed type is that of the members that it fits: the others name theirs.
      std::optional<DataType> assume = options.assume_type;
      if (assume && !TakesAssumedType(ReadNpyHeader(*bytes).descr, *assume)) assume.reset();
      is_assumed = is_assumed || assume;
      arrays_.emplace_back(
          *bytes, member.name.substr(0, member.name.size() - kNpzMemberEnding.size()), assume);
      contents_.tensors.push_back(arrays_.back().info());
    }
    if (options.assume_type && !is_assumed) {
      throw Error(ErrorKind::kArguments,
                  words::PathText(source_->path()) + ": has no member that the assumed type " +
                      std::string(TypeName(*options.assume_type)) +
                      " fits; it is for |V1, <V2 and <f1, which do not name their type",
                  source_->path());
    }
  }

  const FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    WithMember(tensor,
               [&](const files::ByteSource& bytes) { arrays_[tensor].Read(bytes, offset, out); });
  }
  std::shared_ptr<std::byte> Map(std::size_t tensor) const override {
    const ZipMember& member = members_.at(tensor);
    const std::optional<std::uint64_t> begin = arrays_[tensor].DenseBegin();
    if (member.is_deflated || !begin) return nullptr;
    checks_.Check(*source_, member, tensor);
    return source_->Map(member.data_begin + *begin, arrays_[tensor].info().bytes);
  }
  text::StringPiece ReadStrings(std::size_t tensor, std::uint64_t first,
                                std::uint64_t n) const override {
    text::StringPiece piece;
    WithMember(tensor, [&](const files::ByteSource& bytes) {
      piece = arrays_[tensor].ReadStrings(bytes, first, n);
    });
    return piece;
  }
  std::uint64_t file_bytes() const override { return source_->size(); }
  void CheckUnchanged() const override { source_->CheckUnchanged(); }
  std::vector<std::string> notes() const override {
    // One for each reading of a dtype: an archive may have many members.
    std::vector<std::string> notes;
    std::vector<std::string_view> said;
    for (const NpyArray& array : arrays_) {
      const std::string_view note = array.note();
      if (note.empty() || std::find(said.begin(), said.end(), note) != said.end()) continue;
      said.push_back(note);
      notes.push_back(words::PathText(source_->path()) + ": " + std::string(note));
    }
    return notes;
  }

 private:
  template <class Function> void WithMember(std::size_t tensor, Function use) const {
    const ZipMember& member = members_.at(tensor);
    if (member.is_deflated) {
      use(*inflated_.Get(member));
    } else {
      checks_.Check(*source_, member, tensor);
      use(StoredMember(*source_, member));
    }
  }

  std::unique_ptr<files::ByteSource> source_;
  std::vector<ZipMember> members_;
  mutable InflatedMembers inflated_;
  mutable StoredChecks checks_;
  std::vector<NpyArray> arrays_;
  FileContents contents_;
};

}  // namespace

bool LooksLikeNpz(std::span<const std::byte> head) {
  // The second is an archive without members.
  for (const std::string_view magic :
       {std::string_view("PK\x03\x04"), std::string_view("PK\x05\x06")}) {
    if (head.size() >= magic.size() && std::memcmp(head.data(), magic.data(), magic.size()) == 0) {
      return true;
    }
  }
  return false;
}

OpenedTensors OpenNpz(std::unique_ptr<files::ByteSource> source, const OpenOptions& options) {
  std::vector<ZipMember> members = ReadZipDirectory(*source);
  if (IsTorchZip(members)) {
    RefuseAssumedType(source->path(), kTorchTyped, options);
    return OpenTorchZip(std::move(source), members, options);
  }
  RefuseRoot(source->path(), options);
  return {std::make_unique<NpzReader>(std::move(source), std::move(members), options)};
}

}  // namespace tensorcast::formats

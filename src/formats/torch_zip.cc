// torch.save's files since 1.6: a ZIP archive of data.pkl and a member for each storage.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "files/error.h"
#include "formats/part_source.h"
#include "formats/torch_tensors.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::string_view kPickleMember = "data.pkl";
constexpr std::string_view kScriptMember = "constants.pkl";

// Members are all in one folder: the names without it.
class TorchMembers {
 public:
  TorchMembers(const files::ByteSource& archive, const std::vector<ZipMember>& members)
      : archive_(archive) {
    const auto pickle = std::ranges::find_if(members, [](const ZipMember& member) {
      return member.name == kPickleMember || member.name.ends_with("/data.pkl");
    });
    folder_ = pickle->name.substr(0, pickle->name.size() - kPickleMember.size());
    for (const ZipMember& member : members) {
      if (member.name.starts_with(folder_)) members_[member.name] = &member;
    }
  }

  const ZipMember* Find(std::string_view name) const {
    const auto found = members_.find(folder_ + std::string(name));
    return found == members_.end() ? nullptr : found->second;
  }

  // Not of what is deflated: torch reads storages where they lie.
  const ZipMember& Stored(const ZipMember& member) const {
    if (!member.is_deflated) return member;
    throw Error(ErrorKind::kUnsupported,
                MemberText(archive_, member) +
                    " is compressed, which torch.save does not do; unpack the archive and zip it "
                    "with -0",
                archive_.path());
  }

 private:
  const files::ByteSource& archive_;
  std::string folder_;  // with its slash
  std::unordered_map<std::string_view, const ZipMember*> members_;
};

bool IsBigEndian(const files::ByteSource& archive, const TorchMembers& members) {
  const ZipMember* const member = members.Find("byteorder");
  if (member == nullptr) return false;
  constexpr std::uint64_t kMost = 16;
  std::string order(static_cast<std::size_t>(std::min(members.Stored(*member).bytes, kMost)), '\0');
  archive.Read(member->data_begin, std::as_writable_bytes(std::span(order)));
  if (order != "little" && order != "big") {
    throw Error(ErrorKind::kContents,
                MemberText(archive, *member) + " says " + words::Quoted(order) +
                    "; it has to be little or big",
                archive.path());
  }
  return order == "big";
}

}  // namespace

bool IsTorchZip(const std::vector<ZipMember>& members) {
  return std::ranges::any_of(members, [](const ZipMember& member) {
    return member.name == kPickleMember || member.name.ends_with("/data.pkl");
  });
}

OpenedTensors OpenTorchZip(std::unique_ptr<files::ByteSource> source,
                           const std::vector<ZipMember>& members, const OpenOptions& options) {
  const files::ByteSource& archive = *source;
  const TorchMembers by_name(archive, members);
  if (by_name.Find(kScriptMember) != nullptr) {
    files::FailFile(archive,
                    "is a TorchScript program, whose tensors are attributes of its code; load it "
                    "with torch.jit.load and save its state_dict()",
                    ErrorKind::kUnsupported);
  }
  const ZipMember& pickle = by_name.Stored(*by_name.Find(kPickleMember));
  const PartSource bytes(archive, pickle.data_begin, pickle.bytes,
                         archive.path() + ": " + pickle.name);
  TorchObjects objects;
  PickleMachine machine(bytes, objects);
  TorchFile file{machine, objects, machine.Run(0), {}, IsBigEndian(archive, by_name)};
  file.find = [&](const TorchStorage& storage) -> StoragePlace {
    const ZipMember* const member = by_name.Find("data/" + storage.key);
    if (member == nullptr) {
      files::FailFile(archive, "has no member for storage " + words::Quoted(storage.key));
    }
    by_name.Stored(*member);
    if (storage.elements > member->bytes / storage.element_bytes()) {
      throw Error(ErrorKind::kContents,
                  MemberText(archive, *member) + " has " + words::CountText(member->bytes, "byte") +
                      "; its storage is of " + words::CountText(storage.elements, "element") +
                      " of " + words::CountText(storage.element_bytes(), "byte"),
                  archive.path());
    }
    return {member->data_begin, storage.elements * storage.element_bytes(), member->data_begin};
  };
  return ReadTorchFile(std::move(source), file, options);
}

}  // namespace tensorcast::formats

// torch.save's files before 1.6: pickles one after another, then the storages.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/little_endian.h"
#include "files/error.h"
#include "formats/formats.h"
#include "formats/torch_tensors.h"

namespace tensorcast::formats {

using core::ErrorKind;
namespace {

// A pickle of 0x1950a86a20f9469cfc6c.
constexpr std::string_view kLegacyMagic =
    "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.";
constexpr std::int64_t kLegacyProtocol = 1001;

// A storage that the pickle names.
struct LegacyStorage {
  std::uint64_t elements = 0;
  std::uint64_t element_bytes = 0;
  std::uint64_t begin = 0;
  bool is_placed = false;
};

class LegacyStorages {
 public:
  LegacyStorages(const files::ByteSource& source, const TorchObjects& objects) : source_(source) {
    for (const TorchStorage& storage : objects.storages()) {
      const bool is_part = !storage.root.empty();
      const LegacyStorage whole{is_part ? storage.root_elements : storage.elements,
                                storage.element_bytes()};
      const auto [place, is_new] =
          storages_.try_emplace(is_part ? storage.root : storage.key, whole);
      if (is_new || (place->second.elements == whole.elements &&
                     place->second.element_bytes == whole.element_bytes)) {
        continue;
      }
      files::FailFile(source, "names storage " + words::Quoted(place->first) +
                                  " twice, with different types or sizes");
    }
  }

  // Goes over the storages that stand from `at` on, in the order of their keys.
  void Place(const PickleMachine& machine, const PickleValue& keys, std::uint64_t at) {
    if (keys.kind != PickleKind::kList) machine.Fail("has no list of keys where it should be");
    for (const PickleValue& key : machine.Items(keys)) {
      if (key.kind != PickleKind::kText) machine.Fail("has a key of a storage that is not a text");
      const auto found = storages_.find(machine.Text(key));
      const std::string name = "storage " + words::Quoted(machine.Text(key));
      if (found == storages_.end()) {
        files::FailFile(source_, "holds " + name + ", which its pickle does not name");
      }
      LegacyStorage& storage = found->second;
      if (storage.is_placed) files::FailFile(source_, "holds " + name + " twice");
      std::array<std::byte, 8> size;
      if (source_.size() - at < size.size()) Cut(name);
      source_.Read(at, size);
      at += size.size();
      if (const std::uint64_t elements = core::LoadLittle(size.data(), size.size());
          elements != storage.elements) {
        files::FailFile(source_, "holds " + words::CountText(elements, "element") + " of " + name +
                                     ", which is of " + std::to_string(storage.elements));
      }
      if (storage.elements > (source_.size() - at) / storage.element_bytes) Cut(name);
      storage.begin = at;
      storage.is_placed = true;
      at += storage.elements * storage.element_bytes;
    }
    if (at != source_.size()) {
      files::FailFile(source_, "has " + words::CountText(source_.size() - at, "byte") +
                                   " behind its last storage");
    }
  }

  StoragePlace Find(const TorchStorage& storage) const {
    const std::string& key = storage.root.empty() ? storage.key : storage.root;
    const LegacyStorage& whole = storages_.find(key)->second;
    if (!whole.is_placed) {
      files::FailFile(source_, "does not hold storage " + words::Quoted(key));
    }
    return {whole.begin + storage.begin * whole.element_bytes,
            storage.elements * whole.element_bytes, whole.begin};
  }

 private:
  [[noreturn]] void Cut(const std::string& name) const {
    files::FailFile(source_, "is cut short in " + name);
  }

  const files::ByteSource& source_;
  std::map<std::string, LegacyStorage, std::less<>> storages_;
};

// Refuses what only has the name of a torch file, by what it is.
[[noreturn]] void FailNoTorchFile(const files::ByteSource& source) {
  constexpr std::uint64_t kTarMagicAt = 257;
  std::array<char, 5> magic{};
  if (source.size() >= kTarMagicAt + magic.size()) {
    source.Read(kTarMagicAt, std::as_writable_bytes(std::span(magic)));
  }
  if (std::string_view(magic.data(), magic.size()) == "ustar") {
    files::FailFile(
        source,
        "is a tar archive, as the first versions of torch wrote; load it with torch.load, and "
        "save it again",
        ErrorKind::kUnsupported);
  }
  files::FailFile(
      source,
      "is not a file of torch.save: it is neither a ZIP archive nor begins with the magic "
      "number of the older ones");
}

// Goes over the pickles that stand before the object's, from `at` on: the protocol's number, and
// the sizes of C's types and the byte order of the machine that wrote it. Storages are
// little-endian all the same: torch turns them round where the machine is not.
std::uint64_t SkipLegacyHead(const files::ByteSource& source, TorchObjects& objects,
                             std::uint64_t at) {
  {
    PickleMachine protocol(source, objects);
    const PickleValue number = protocol.Run(at);
    if (number.kind != PickleKind::kInteger || number.integer() != kLegacyProtocol) {
      protocol.Fail("has another protocol than " + std::to_string(kLegacyProtocol),
                    ErrorKind::kUnsupported);
    }
    at = protocol.end();
  }
  PickleMachine system(source, objects);
  system.Run(at);
  return system.end();
}

}  // namespace

bool LooksLikeLegacyTorch(std::span<const std::byte> head) {
  return head.size() >= kLegacyMagic.size() &&
         std::memcmp(head.data(), kLegacyMagic.data(), kLegacyMagic.size()) == 0;
}

OpenedTensors OpenLegacyTorch(std::unique_ptr<files::ByteSource> source,
                              const OpenOptions& options) {
  std::array<std::byte, kLegacyMagic.size()> head{};
  if (source->size() >= head.size()) source->Read(0, head);
  if (!LooksLikeLegacyTorch(head)) FailNoTorchFile(*source);
  TorchObjects objects;
  const std::uint64_t begin = SkipLegacyHead(*source, objects, head.size());
  PickleMachine machine(*source, objects);
  const PickleValue top = machine.Run(begin);
  PickleMachine keys(*source, objects);
  const PickleValue list = keys.Run(machine.end());
  LegacyStorages storages(*source, objects);
  storages.Place(keys, list, keys.end());
  const TorchFile file{machine, objects, top,
                       [&](const TorchStorage& storage) { return storages.Find(storage); }};
  return ReadTorchFile(std::move(source), file, options);
}

}  // namespace tensorcast::formats

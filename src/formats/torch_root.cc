// Walks dicts and lists; a value may be reached by many ways, so steps are counted.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/torch_root.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "files/error.h"
#include "files/system.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::string_view kRootNames[] = {"state_dict", "model", "module", "params_ema", "ema"};

// Ours: a few bytes can stand for very many ways through a pickle.
constexpr std::size_t kMostTorchDepth = 64;
constexpr std::size_t kMostTorchSteps = 10'000'000;
constexpr std::size_t kMostTorchTensors = 1'000'000;
constexpr std::size_t kMostTorchSizes = 4'000'000;
constexpr std::size_t kMostTorchNameBytes = std::size_t{64} << 20;

// What one tensor alone is called: as its file, without the ending.
std::string NameOfOne(std::string_view path) {
  const std::string_view name = path.substr(files::NameBegin(path));
  return std::string(name.substr(0, name.rfind('.')));
}

bool IsContainer(const PickleValue& value) {
  return value.kind == PickleKind::kTuple || value.kind == PickleKind::kList ||
         value.kind == PickleKind::kDict;
}

class RootFinder {
 public:
  RootFinder(const files::ByteSource& file, const PickleMachine& machine,
             const TorchObjects& objects)
      : file_(file), machine_(machine), objects_(objects) {}

  TorchRoot Find(const PickleValue& top, std::string_view wanted) {
    if (const TorchTensor* const tensor = objects_.TensorOf(top)) {
      if (!wanted.empty() && wanted != kTopRoot) FailChoice("is one tensor, and has no keys");
      root_.tensors.push_back({NameOfOne(file_.path()), tensor});
      return Finish();
    }
    if (!IsContainer(top)) FailObject(top, "");
    Take(wanted.empty() ? Choose(top) : Follow(top, wanted, wanted), "", 0);
    return Finish();
  }

 private:
  [[noreturn]] void FailChoice(const std::string& why, Remedy remedy = Remedy::kNone) const {
    throw Error(ErrorKind::kArguments, words::PathText(file_.path()) + ": " + why, remedy,
                file_.path());
  }

  // What is neither a container nor a tensor, where either has to be; `name` is its place.
  [[noreturn]] void FailObject(const PickleValue& value, const std::string& name) const {
    const std::string where = name.empty() ? "" : words::Quoted(name) + " ";
    if (value.kind == PickleKind::kOpaque &&
        machine_.GlobalName(value).starts_with("torch._utils._rebuild_")) {
      files::FailFile(file_,
                      where + "is made by " + words::Quoted(machine_.GlobalName(value)) +
                          ", which is not read; save a plain tensor (.to_dense(), .dequantize())",
                      ErrorKind::kUnsupported);
    }
    if (value.kind == PickleKind::kOpaque || value.kind == PickleKind::kGlobal) {
      files::FailFile(file_,
                      where + "is an object of " + words::Quoted(machine_.GlobalName(value)) +
                          ", which would have to be imported; nothing was: " +
                          (other_root_.empty() ? std::string("save the model's state_dict(), a "
                                                             "dict of tensors")
                                               : "--root takes what is in its " + other_root_),
                      ErrorKind::kUnsupported);
    }
    if (objects_.IsStorage(value)) {
      files::FailFile(file_, where + "is a storage, without the shape of a tensor",
                      ErrorKind::kUnsupported);
    }
    files::FailFile(file_, where + "is not a dict of tensors", ErrorKind::kUnsupported);
  }

  // One, and more for a text that is copied on the way.
  void CountStep(std::size_t text_bytes) {
    constexpr std::size_t kBytesOfStep = 256;
    steps_ += 1 + text_bytes / kBytesOfStep;
    if (steps_ > kMostTorchSteps) {
      files::FailFile(file_,
                      "has more than " + std::to_string(kMostTorchSteps) +
                          " values in its dicts and lists, counted by every way to them",
                      ErrorKind::kUnsupported);
    }
  }
  void CheckDepth(std::size_t depth) const {
    if (depth <= kMostTorchDepth) return;
    files::FailFile(file_,
                    "has dicts and lists within each other to more than " +
                        std::to_string(kMostTorchDepth) + " levels, or one within itself",
                    ErrorKind::kUnsupported);
  }

  // Calls use(key, value) for each item until it gives false; a list's keys are its indices.
  template <class Use> void ForItems(const PickleValue& container, Use use) {
    const std::span<const PickleValue> items = machine_.Items(container);
    const bool is_dict = container.kind == PickleKind::kDict;
    for (std::size_t i = 0; i + is_dict < items.size(); i += is_dict ? 2 : 1) {
      const PickleValue index{PickleKind::kInteger, 0, i};
      CountStep(is_dict && items[i].kind == PickleKind::kText ? items[i].count : 0);
      if (!use(is_dict ? items[i] : index, items[i + is_dict])) return;
    }
  }

  // What a key is that is no part of a name, for a message.
  std::string KeyKind(const PickleValue& key) const {
    switch (key.kind) {
      case PickleKind::kTuple: return ", a tuple,";
      case PickleKind::kGlobal:
      case PickleKind::kOpaque: return ", " + words::Quoted(machine_.GlobalName(key)) + ",";
      default: return "";
    }
  }

  // As a part of a name; nothing of what is neither a text nor an integer.
  std::optional<std::string> KeyText(const PickleValue& key) const {
    if (key.kind == PickleKind::kText) return std::string(machine_.Text(key));
    if (key.kind == PickleKind::kInteger) return std::to_string(key.integer());
    return std::nullopt;
  }

  bool HasTensor(const PickleValue& value, std::size_t depth) {
    if (objects_.TensorOf(value) != nullptr) return true;
    if (!IsContainer(value)) return false;
    CheckDepth(depth);
    bool has = false;
    ForItems(value, [&](const PickleValue&, const PickleValue& item) {
      has = HasTensor(item, depth + 1);
      return !has;
    });
    return has;
  }

  // The keys of items for which `is_wanted` holds, for a message.
  template <class Wanted> std::string KeysText(const PickleValue& container, Wanted is_wanted) {
    constexpr std::size_t kShown = 8;
    std::string text;
    std::size_t count = 0;
    ForItems(container, [&](const PickleValue& key, const PickleValue& item) {
      const std::optional<std::string> name = KeyText(key);
      if (!name || !is_wanted(item)) return true;
      if (count++ < kShown) text += (text.empty() ? "" : ", ") + words::Quoted(*name);
      return true;
    });
    if (count > kShown) text += " and " + std::to_string(count - kShown) + " more";
    return text;
  }

  PickleValue Choose(const PickleValue& top) {
    bool holds_tensor = false;
    ForItems(top, [&](const PickleValue&, const PickleValue& item) {
      holds_tensor = objects_.TensorOf(item) != nullptr;
      return !holds_tensor;
    });
    if (holds_tensor) {
      SayOtherRoots(top);
      return top;
    }
    std::vector<std::pair<std::string, PickleValue>> found;
    const PickleValue* first_object = nullptr;
    std::string object_name;
    ForItems(top, [&](const PickleValue& key, const PickleValue& item) {
      const std::optional<std::string> name = KeyText(key);
      if (name && item.kind == PickleKind::kOpaque && first_object == nullptr) {
        first_object = &item;
        object_name = *name;
      }
      if (!name || top.kind != PickleKind::kDict || !IsContainer(item)) return true;
      if (std::ranges::find(kRootNames, *name) == std::end(kRootNames)) return true;
      if (HasTensor(item, 1)) found.emplace_back(*name, item);
      return true;
    });
    if (found.size() == 1) {
      root_.notes.push_back("the tensors are those of its " + words::Quoted(found[0].first));
      return found[0].second;
    }
    const std::string holding =
        KeysText(top, [&](const PickleValue& item) { return HasTensor(item, 1); });
    if (!holding.empty()) {
      FailChoice("has its tensors in " + holding + ", and nothing says which are the model's",
                 Remedy::kChooseRoot);
    }
    if (first_object != nullptr) FailObject(*first_object, object_name);
    return top;  // it has no tensor anywhere
  }

  // A tensor beside a model's dict (the state of a random number generator) makes the whole file
  // the root.
  void SayOtherRoots(const PickleValue& top) {
    if (top.kind != PickleKind::kDict) return;
    std::string roots;
    ForItems(top, [&](const PickleValue& key, const PickleValue& item) {
      const std::optional<std::string> name = KeyText(key);
      if (!name || !IsContainer(item) ||
          std::ranges::find(kRootNames, *name) == std::end(kRootNames) || !HasTensor(item, 1)) {
        return true;
      }
      roots += (roots.empty() ? "" : " or ") + words::Quoted(*name);
      return true;
    });
    if (roots.empty()) return;
    root_.notes.push_back(
        "the tensors are those of the whole file; --root takes only those of its " + roots);
    other_root_ = roots;
  }

  // The value that keys joined by dots lead to; a key may have dots of its own.
  PickleValue Follow(const PickleValue& from, std::string_view path, std::string_view whole) {
    if (path == kTopRoot && path.data() == whole.data()) return from;
    std::optional<PickleValue> found;
    std::size_t longest = 0;
    ForItems(from, [&](const PickleValue& key, const PickleValue& item) {
      const std::optional<std::string> name = KeyText(key);
      if (!name || !path.starts_with(*name) || (found && name->size() < longest)) return true;
      if (path.size() != name->size() && path[name->size()] != '.') return true;
      found = item;
      longest = name->size();
      return true;
    });
    if (!found || (!IsContainer(*found) && longest != path.size())) {
      const std::string keys = KeysText(from, [](const PickleValue&) { return true; });
      FailChoice("has no root " + words::Quoted(whole) +
                     (keys.empty() ? "" : "; the keys there are " + keys),
                 Remedy::kNone);
    }
    if (longest != path.size()) return Follow(*found, path.substr(longest + 1), whole);
    if (!IsContainer(*found)) FailObject(*found, std::string(whole));
    return *found;
  }

  void Take(const PickleValue& container, const std::string& prefix, std::size_t depth) {
    CheckDepth(depth);
    ForItems(container, [&](const PickleValue& key, const PickleValue& item) {
      TakeItem(key, item, prefix, depth);
      return true;
    });
  }

  void TakeItem(const PickleValue& key, const PickleValue& item, const std::string& prefix,
                std::size_t depth) {
    const TorchTensor* const tensor = objects_.TensorOf(item);
    const std::optional<std::string> part = KeyText(key);
    const std::string name =
        prefix.empty() ? part.value_or("?") : prefix + '.' + part.value_or("?");
    if (name.size() > kMostKeptText) {
      files::FailFile(file_,
                      "has a name of more than " + std::to_string(kMostKeptText) + " bytes, " +
                          words::Quoted(name),
                      ErrorKind::kUnsupported);
    }
    CountStep(name.size());
    if (!part && HasTensor(item, depth + 1)) {
      files::FailFile(file_,
                      (prefix.empty() ? std::string("its root") : words::Quoted(prefix)) +
                          " has tensors under a key" + KeyKind(key) + " that is neither a text" +
                          (key.kind == PickleKind::kLarge ? " of at most 64 KiB" : "") +
                          " nor an integer",
                      ErrorKind::kUnsupported);
    }
    if (tensor != nullptr) {
      name_bytes_ += name.size();
      sizes_ += tensor->rank;
      if (root_.tensors.size() == kMostTorchTensors || sizes_ > kMostTorchSizes ||
          name_bytes_ > kMostTorchNameBytes) {
        files::FailFile(file_,
                        "has more than " + std::to_string(kMostTorchTensors) + " tensors, " +
                            std::to_string(kMostTorchSizes) +
                            " dimensions of them, or names of more than " +
                            std::to_string(kMostTorchNameBytes) + " bytes",
                        ErrorKind::kUnsupported);
      }
      root_.tensors.push_back({name, tensor});
    } else if (IsContainer(item)) {
      Take(item, name, depth + 1);
    } else if (item.kind == PickleKind::kOpaque || IsUnknownGlobal(item) ||
               objects_.IsStorage(item)) {
      FailObject(item, name);
    } else {
      if (others_++ == 0) first_other_ = name;
    }
  }

  // A dtype is a value like a number.
  bool IsUnknownGlobal(const PickleValue& value) const {
    return value.kind == PickleKind::kGlobal && !IsTorchDtype(machine_.GlobalName(value));
  }

  TorchRoot Finish() {
    std::vector<const std::string*> names;
    for (const NamedTorchTensor& one : root_.tensors) names.push_back(&one.name);
    const auto less = [](const std::string* a, const std::string* b) { return *a < *b; };
    std::ranges::sort(names, less);
    const auto twice = std::ranges::adjacent_find(
        names, [](const std::string* a, const std::string* b) { return *a == *b; });
    if (twice != names.end()) {
      files::FailFile(file_, "has two tensors of the name " + words::Quoted(**twice));
    }
    if (others_ != 0) {
      root_.notes.push_back(words::CountText(others_, "value") + " that " +
                            (others_ == 1 ? "is not a tensor is left out ("
                                          : "are not tensors are left out (the first ") +
                            words::EscapeName(first_other_) + ")");
    }
    SayOpaque();
    return std::move(root_);
  }

  void SayOpaque() {
    constexpr std::size_t kShown = 3;
    std::uint64_t count = 0;
    std::string names;
    std::size_t shown = 0;
    for (const auto& [name, times] : objects_.opaque()) {
      count += times;
      if (shown++ < kShown) names += (names.empty() ? "" : ", ") + words::EscapeName(name);
    }
    if (count == 0) return;
    if (shown > kShown) names += ", ...";
    root_.notes.push_back(words::CountText(count, "call") + " beside the tensors (" + names +
                          (count == 1 ? ") was not made; nothing was imported or run"
                                      : ") were not made; nothing was imported or run"));
  }

  const files::ByteSource& file_;
  const PickleMachine& machine_;
  const TorchObjects& objects_;
  TorchRoot root_;
  std::size_t steps_ = 0;
  std::size_t name_bytes_ = 0;
  std::size_t sizes_ = 0;
  std::uint64_t others_ = 0;  // values under the root that are no tensors
  std::string first_other_;
  std::string other_root_;  // the dicts beside tensors that are models' by their names
};

}  // namespace

TorchRoot FindTorchRoot(const files::ByteSource& file, const PickleMachine& machine,
                        const TorchObjects& objects, const PickleValue& top,
                        std::string_view wanted) {
  return RootFinder(file, machine, objects).Find(top, wanted);
}

}  // namespace tensorcast::formats

// First each long name is shortened by itself. Of those that then look alike the part is shown in
// which they differ, shortened in turn where it is long itself. Two groups that look alike after
// that are told apart as one.
//
// SPDX-License-Identifier: Apache-2.0
#include "report/distinct_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "naming/name_parts.h"
#include "words/error_text.h"
#include "words/text_width.h"
#include "words/utf8.h"

namespace tensorcast::report {
namespace {

using Views = std::vector<std::string_view>;

constexpr int kMostRounds = 4;

// What the parts of names are divided by; a part is shown whole where there is room.
bool IsDivider(char c) { return c == '.' || c == '/' || c == ':'; }

// How many bytes all names have in common at the front, whole parts of the names; `names` holds two
// that differ.
std::size_t CommonFront(const Views& names) {
  std::size_t common = names.front().size();
  for (const std::string_view name : names) {
    const auto [end, other] = std::mismatch(name.begin(), name.end(), names.front().begin(),
                                            names.front().begin() + static_cast<long>(common));
    common = static_cast<std::size_t>(end - name.begin());
  }
  while (common > 0 && !IsDivider(names.front()[common - 1])) --common;
  return common;
}

// How many bytes all names have in common at the end, whole parts of the names too; the first
// `front` bytes do not count.
std::size_t CommonBack(const Views& names, std::size_t front) {
  const auto rest = [&](std::string_view name) { return name.substr(front); };
  std::size_t common = rest(names.front()).size();
  for (const std::string_view whole : names) {
    const std::string_view name = rest(whole), first = rest(names.front());
    std::size_t same = 0;
    while (same < std::min({common, name.size(), first.size()}) &&
           name[name.size() - 1 - same] == first[first.size() - 1 - same]) {
      ++same;
    }
    common = same;
  }
  const std::string_view first = names.front();
  while (common > 0 && (!IsDivider(first[first.size() - common]) ||
                        words::ContinuesUtf8(first[first.size() - common]))) {
    --common;
  }
  return common;
}

Views PartsOf(std::string_view name) {
  Views parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!IsDivider(name[i])) continue;
    parts.push_back(name.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(name.substr(begin));
  return parts;
}

// "…0…gate.weight": a name without words from its front on, no more of them than there is no room
// for. The numbers, which say of which layer and expert it is, stay, and the last word, which says
// what it is; of the last word that is left out, or of the last of all, the end where there is room
// for that. Empty where even that is too long.
std::string WithoutWords(std::string_view name, std::size_t columns) {
  constexpr std::size_t kLeastEnd = 6;  // of a word, to be worth showing
  const Views parts = PartsOf(name);
  const std::size_t last = parts.size() - 1;
  std::size_t width = words::TextWidth(name);
  std::size_t end = 0;  // words before this part are left out
  while (end < last && width > columns) {
    const std::string_view part = parts[end++];
    if (naming::IsNumber(part)) continue;
    // With the divider behind it. "…" stands in the place of the divider before it; where there is
    // none, at the front, it takes a column.
    width -= words::TextWidth(part) + 1;
    if (end == 1) ++width;
  }
  if (last == 0) return {};
  // A part of which the end is shown, and how much.
  std::size_t cut = parts.size(), room = 0;
  if (width > columns) {
    const std::size_t taken = width - words::TextWidth(parts[last]);
    if (naming::IsNumber(parts[last - 1]) || taken + kLeastEnd > columns) return {};
    cut = last;
    room = columns - taken;
  } else if (end == last && columns - width > kLeastEnd) {
    cut = last - 1;
    room = columns - width - 1;  // for the divider behind it
  }
  std::string shown;
  bool is_behind_shown = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_number = naming::IsNumber(parts[i]);
    if (i < end && !is_number) {
      if (i == 0 || is_behind_shown) shown += "…";
      is_behind_shown = false;
      if (i != cut) continue;
    } else if (is_behind_shown) {
      shown += name[static_cast<std::size_t>(parts[i].data() - name.data()) - 1];
    }
    shown +=
        i == cut && !is_number ? parts[i].substr(words::BeginOfBack(parts[i], room)) : parts[i];
    is_behind_shown = true;
  }
  return shown;
}

// "…0." of "model.layers.0.", "…0…" of "layers.0.mlp.": what tells of a name's front which layer
// and expert it is of.
std::string NumbersOf(std::string_view front) {
  std::string shown;
  bool is_left_out = false;
  for (const std::string_view part : PartsOf(front)) {
    if (naming::IsNumber(part)) {
      shown.append(part).append(".");
      is_left_out = false;
    } else if (!part.empty() && !is_left_out) {
      if (shown.ends_with('.')) shown.pop_back();
      shown += "…";
      is_left_out = true;
    }
  }
  return shown;
}

// How texts are shortened each by itself.
using ShortenOne = std::string (*)(std::string_view text, std::size_t columns);

std::string ShortenTensor(std::string_view name, std::size_t columns) {
  if (name.size() <= columns || words::TextWidth(name) <= columns) return std::string(name);
  const std::string shown = WithoutWords(name, columns);
  return !shown.empty() ? shown : words::Shorten(name, columns);
}

// In so many rounds at most: parts of names take one.
std::vector<std::string> Display(const Views& names, std::size_t columns, ShortenOne shorten,
                                 int rounds = 1);

// Names that look alike when their middles are left out: the part in which they differ between as
// much of their ends as there is room for.
std::vector<std::string> DisplayAround(const Views& names, std::size_t columns,
                                       ShortenOne shorten) {
  const std::size_t front = CommonFront(names);
  const std::size_t back = CommonBack(names, front);
  Views middles;
  std::size_t widest = 0;
  for (const std::string_view name : names) {
    middles.push_back(name.substr(front, name.size() - front - back));
    widest = std::max(widest, words::TextWidth(middles.back()));
  }
  const std::string_view head = names.front().substr(0, front);
  const std::string_view tail = names.front().substr(names.front().size() - back);
  constexpr std::size_t kLeastMiddle = 6;
  std::string numbers = NumbersOf(head);
  const std::size_t taken = words::TextWidth(numbers) + words::TextWidth(tail);
  if (shorten == ShortenTensor && front + back > 0 && taken + kLeastMiddle <= columns) {
    std::vector<std::string> shown = Display(middles, columns - taken, shorten);
    for (std::string& text : shown) text = numbers + text + std::string(tail);
    return shown;
  }
  // A third of the room is kept for the ends, where there is something at them.
  constexpr std::size_t kMarks = 2;
  const std::size_t room = columns > kMarks ? columns - kMarks : 1;
  const std::size_t least = std::min(words::TextWidth(head) + words::TextWidth(tail), room / 3);
  const std::size_t for_middle = std::min(widest, std::max<std::size_t>(room - least, 1));
  const std::size_t for_ends = room - std::min(room, for_middle);
  // The end says what the tensor is, the front which model: the end has the larger share.
  const std::size_t for_tail =
      std::min(words::TextWidth(tail),
               std::max(for_ends * 2 / 3, for_ends - std::min(for_ends, words::TextWidth(head))));
  const std::size_t for_head = std::min(words::TextWidth(head), for_ends - for_tail);
  std::string before(head);
  if (for_head < words::TextWidth(head)) {
    before = std::string(head.substr(0, words::EndOfFront(head, for_head))) + "…";
  }
  std::string behind(tail);
  if (for_tail < words::TextWidth(tail)) {
    behind = "…" + std::string(tail.substr(words::BeginOfBack(tail, for_tail)));
  }
  std::vector<std::string> shown = front + back > 0
                                       ? Display(middles, for_middle, shorten)
                                       : std::vector<std::string>(names.begin(), names.end());
  for (std::string& text : shown) text = before + text + behind;
  return shown;
}

// Groups of which two show the same text become one, whose names differ in more. False: there were
// none.
bool JoinAlike(const std::vector<std::string>& shown,
               std::vector<std::vector<std::size_t>>& groups) {
  std::map<std::string_view, std::size_t> owners;
  bool is_joined = false;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::set<std::size_t> others;
    for (const std::size_t i : groups[g]) {
      const std::size_t owner = owners.try_emplace(shown[i], g).first->second;
      if (owner != g) others.insert(owner);
    }
    for (const std::size_t other : others) {
      for (const std::size_t i : groups[other]) owners[shown[i]] = g;
      groups[g].insert(groups[g].end(), groups[other].begin(), groups[other].end());
      groups[other].clear();
      is_joined = true;
    }
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return is_joined;
}

std::vector<std::string> Display(const Views& names, std::size_t columns, ShortenOne shorten,
                                 int rounds) {
  std::vector<std::string> shown;
  shown.reserve(names.size());
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < names.size(); ++i) {
    shown.push_back(shorten(names[i], columns));
    alike[shown.back()].push_back(i);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [text, group] : alike) groups.push_back(std::move(group));
  for (int round = 0; round < rounds; ++round) {
    for (const std::vector<std::size_t>& group : groups) {
      if (group.size() == 1) continue;
      Views differing;
      for (const std::size_t i : group) differing.push_back(names[i]);
      const std::vector<std::string> told_apart = DisplayAround(differing, columns, shorten);
      for (std::size_t k = 0; k < group.size(); ++k) shown[group[k]] = told_apart[k];
    }
    if (!JoinAlike(shown, groups)) break;
  }
  // What still looks like another's is shown whole.
  std::map<std::string_view, std::size_t> seen;
  for (const std::string& text : shown) ++seen[text];
  std::vector<std::size_t> twice;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (seen[shown[i]] > 1) twice.push_back(i);
  }
  for (const std::size_t i : twice) shown[i] = names[i];
  return shown;
}

}  // namespace

NamesOfFile EscapedNames(const std::vector<formats::TensorInfo>& tensors) {
  return {tensors.size(), [&](std::size_t i) { return words::Escape(tensors[i].name); }};
}

std::vector<std::string> DistinctNames(const std::vector<std::string>& names, std::size_t columns,
                                       const NamesOfFile& file) {
  const ShortenOne shorten = file.count > 0 ? ShortenTensor : words::Shorten;
  std::set<std::string> distinct(names.begin(), names.end());
  std::set<std::string> looks;  // texts that no other name may have
  for (const std::string& name : distinct) {
    if (words::TextWidth(name) > columns) looks.insert(shorten(name, columns));
  }
  Views views;
  std::vector<std::string> shown;
  for (bool is_new = true; is_new;) {
    // The file may have a million names: only those that would look like one of these are taken.
    for (std::size_t i = 0; i < file.count && !looks.empty(); ++i) {
      std::string name = file.name(i);
      if (name.size() > columns && looks.contains(shorten(name, columns))) {
        distinct.insert(std::move(name));
      }
    }
    views.assign(distinct.begin(), distinct.end());
    shown = Display(views, columns, shorten, kMostRounds);
    is_new = false;
    for (std::size_t i = 0; i < shown.size() && file.count > 0; ++i) {
      if (shown[i] != views[i]) is_new = looks.insert(shown[i]).second || is_new;
    }
  }
  std::vector<std::string> result;
  result.reserve(names.size());
  for (const std::string& name : names) {
    const auto place = std::lower_bound(views.begin(), views.end(), name);
    result.push_back(shown[static_cast<std::size_t>(place - views.begin())]);
  }
  return result;
}

std::string DistinctName(const std::string& name, std::size_t columns, const NamesOfFile& file) {
  return DistinctNames({name}, columns, file).front();
}

}  // namespace tensorcast::report

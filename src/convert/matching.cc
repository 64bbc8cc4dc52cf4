// One walk over the tensors for all patterns of a request.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/matching.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "convert/candidate.h"
#include "files/error.h"
#include "words/nearest_names.h"

namespace tensorcast::convert {
namespace {

// "a.*", "a.* & rank=2".
std::string Joined(std::span<const naming::TensorPattern> all) {
  std::string text;
  for (const naming::TensorPattern& pattern : all) {
    if (&pattern != &all.front()) text += " & ";
    text += pattern.text();
  }
  return text;
}

}  // namespace

Matching::Matching(const Survey& survey, const SelectionRequest& request)
    : survey_(&survey),
      rule_matches_(request.rules.size()),
      rule_takes_(request.rules.size()),
      rule_is_late_(request.rules.size()),
      only_matches_(request.only.size()),
      excluded_matches_(request.excluded.size()) {
  rules_.reserve(survey.tensors().size());
  marks_.reserve(survey.tensors().size());
  ForEachCandidate(survey, [&](const Candidate& candidate) {
    const naming::PatternSubject subject = candidate.Subject();
    const auto matches = [&](const naming::TensorPattern& pattern) {
      return pattern.Matches(subject);
    };
    const auto names = [&](const naming::TensorPattern& pattern) {
      return candidate.IsNamedBy(pattern);
    };
    Marks marks = {request.only.empty(), false, false};
    for (std::size_t i = 0; i < request.only.size(); ++i) {
      if (only_matches_[i] && marks.is_named) continue;
      if (!matches(request.only[i])) continue;
      only_matches_[i] = marks.is_chosen = true;
      marks.is_named = marks.is_named || names(request.only[i]);
    }
    for (std::size_t i = 0; i < request.excluded.size(); ++i) {
      if (excluded_matches_[i] && marks.is_excluded) continue;
      if (matches(request.excluded[i])) excluded_matches_[i] = marks.is_excluded = true;
    }
    std::uint32_t taker = kNone;
    for (std::uint32_t i = 0; i < request.rules.size(); ++i) {
      if ((rule_takes_[i] || rule_is_late_[i]) && taker != kNone) continue;
      const std::vector<naming::TensorPattern>& patterns = request.rules[i].patterns;
      if (!std::ranges::all_of(patterns, matches)) continue;
      rule_matches_[i] = true;
      if (!std::ranges::any_of(patterns, names)) continue;
      if (taker == kNone) {
        taker = i;
      } else {
        rule_is_late_[i] = true;
      }
    }
    if (taker != kNone) rule_takes_[taker] = true;
    rules_.push_back(taker);
    marks_.push_back(marks);
  });
}

std::string MeantText(std::string_view pattern, std::span<const std::string> names) {
  constexpr std::string_view kDividers = "./";
  const bool is_front = pattern.ends_with(".*") || pattern.ends_with("/*");
  const std::string_view literal = pattern.substr(0, pattern.size() - (is_front ? 1 : 0));
  // What is no plain name: wildcards, regular expressions, conditions.
  if (literal.find_first_of("*?[\\:<>=") != std::string_view::npos) return {};
  if (!is_front) return words::DidYouMean(names, pattern);
  const auto parts = std::ranges::count_if(
      literal, [&](char c) { return kDividers.find(c) != std::string_view::npos; });
  std::set<std::string> fronts;  // of as many parts
  for (const std::string_view name : names) {
    std::size_t end = 0;
    for (auto left = parts; left > 0 && end != std::string_view::npos; --left) {
      end = name.find_first_of(kDividers, end);
      if (end != std::string_view::npos) ++end;
    }
    if (end != std::string_view::npos) fronts.insert(std::string(name.substr(0, end)) + '*');
  }
  return words::DidYouMean(std::vector(fronts.begin(), fronts.end()), pattern);
}

std::string MeantText(std::string_view pattern, std::span<const Survey* const> inputs) {
  std::vector<std::string> names;
  for (const Survey* const input : inputs) {
    for (const formats::TensorInfo& info : input->tensors()) names.push_back(info.name);
    for (const scale::ScaledWeight& one : input->scales.weights.weights) names.push_back(one.name);
  }
  return MeantText(pattern, names);
}

void RefuseIdle(const std::string& place, const std::string& pattern,
                std::span<const Survey> inputs, Remedy remedy) {
  std::vector<const Survey*> surveys;
  for (const Survey& one : inputs) surveys.push_back(&one);
  throw files::Error(core::ErrorKind::kArguments,
                     place + "'" + words::EscapeName(pattern) + "' matches no tensor" +
                         MeantText(pattern, surveys),
                     remedy, pattern);
}

void RequireMatches(std::span<const Matching> inputs, const SelectionRequest& request) {
  const auto require = [&](std::vector<bool> Matching::*list, std::size_t i,
                           const std::string& where, std::span<const naming::TensorPattern> all,
                           Remedy remedy) {
    if (std::ranges::any_of(inputs, [&](const Matching& one) { return (one.*list)[i]; })) return;
    const std::string patterns = Joined(all);
    std::vector<const Survey*> surveys;
    for (const Matching& one : inputs) surveys.push_back(one.survey_);
    throw files::Error(core::ErrorKind::kArguments,
                       where + "'" + words::EscapeName(patterns) + "' matches no tensor" +
                           MeantText(patterns, surveys),
                       remedy, patterns);
  };
  for (std::size_t i = 0; i < request.rules.size(); ++i) {
    const Rule& rule = request.rules[i];
    require(&Matching::rule_matches_, i, rule.where, rule.patterns,
            rule.where.empty() ? Remedy::kMatchRule : Remedy::kMatchNames);
  }
  const auto require_all = [&](std::vector<bool> Matching::*list,
                               const std::vector<naming::TensorPattern>& patterns, Remedy remedy) {
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      require(list, i, {}, {&patterns[i], 1}, remedy);
    }
  };
  require_all(&Matching::only_matches_, request.only, Remedy::kMatchChosen);
  require_all(&Matching::excluded_matches_, request.excluded, Remedy::kMatchExcluded);
}

std::vector<IdleRule> IdleRules(std::span<const Matching> inputs, const SelectionRequest& request) {
  std::vector<IdleRule> idle;
  for (std::size_t i = 0; i < request.rules.size(); ++i) {
    if (std::ranges::any_of(inputs, [&](const Matching& one) { return one.rule_takes_[i]; })) {
      continue;
    }
    const bool is_late =
        std::ranges::any_of(inputs, [&](const Matching& one) { return one.rule_is_late_[i]; });
    idle.push_back({i, is_late ? "rules before it do" : "what it matches goes with other tensors"});
  }
  return idle;
}

}  // namespace tensorcast::convert

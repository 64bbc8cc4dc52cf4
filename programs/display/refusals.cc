// One row for each remedy and each reason that has a flag.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/refusals.h"

#include <string_view>

#include "convert/selection.h"
#include "files/error.h"
#include "shell/exit_codes.h"

namespace tensorcast::tool {
namespace {

// What stands around a message.
struct RemedyWords {
  Remedy remedy;
  std::string_view before;
  std::string_view after;
};

constexpr std::string_view kPatterns =
    " (patterns match whole names; 'tensorcast inspect' lists them)";

constexpr RemedyWords kWords[] = {
    {Remedy::kAllowHardLinks, "", " with --allow-hard-links"},
    {Remedy::kAllowOverwriting, "", " with --force"},
    {Remedy::kChooseOneTensor, "", "; choose one with --tensor"},
    {Remedy::kLeaveOut, "", "; or leave it with --exclude"},
    {Remedy::kIgnoreScales, "", ": --exclude it, or cast the bare codes with --raw-scaled"},
    {Remedy::kTakeDirectory, "",
     ": give the directory, which has both, --exclude it, or cast the bare codes with "
     "--raw-scaled"},
    {Remedy::kKeepPacked, "", ": pass them through as they are with --keep packed, or --exclude"},
    {Remedy::kAssumeType, "", ": name it with --assume-type"},
    {Remedy::kMatchRule, "--rule ", kPatterns},
    {Remedy::kMatchChosen, "--tensor ", kPatterns},
    {Remedy::kMatchExcluded, "--exclude ", kPatterns},
    {Remedy::kMatchSelected, "--select ", kPatterns},
    {Remedy::kMatchNames, "", kPatterns},
    {Remedy::kChooseRoot, "", ": choose with --root"},
};

}  // namespace

int ExitCodeOf(core::ErrorKind kind) {
  switch (kind) {
    case core::ErrorKind::kArguments: return kExitArguments;
    case core::ErrorKind::kContents: return kExitContents;
    case core::ErrorKind::kSystem: return kExitSystem;
    case core::ErrorKind::kUnsupported: return kExitUnsupported;
  }
  return kExitSystem;
}

std::string RefusalText(const files::Error& error) {
  for (const RemedyWords& words : kWords) {
    if (words.remedy != error.remedy()) continue;
    return std::string(words.before).append(error.what()).append(words.after);
  }
  return error.what();
}

std::string RuleFlag(const convert::RequestedRule& rule) {
  return (rule.where.empty() ? "--rule " : words::Escape(rule.where) + ": ") +
         convert::RuleText(rule);
}

std::string IdleText(const convert::RequestedRule& rule, std::string_view why) {
  return RuleFlag(rule) + " takes no tensor: " + std::string(why);
}

void NameFlags(const convert::Request& request, std::vector<convert::Decision>& decisions) {
  using convert::Reason;
  for (convert::Decision& decision : decisions) {
    switch (decision.reason) {
      case Reason::kAsked:  // gives memory back
        decision.text = std::string(request.repack.empty() ? "--to" : "--repack");
        break;
      case Reason::kRule:
        if (decision.rule) decision.text = RuleFlag(request.rules[*decision.rule]);
        break;
      case Reason::kNoRule:
        if (request.rules.empty()) decision.text = "--to same";
        break;
      case Reason::kNotNamed: decision.text = "not named by --tensor"; break;
      case Reason::kTextNotNamed: decision.text = "not named by --tensor or --rule"; break;
      case Reason::kKept:
        decision.text = "--keep " + std::string(convert::KeepName(decision.kept));
        break;
      default: break;  // the library's words name what the file holds
    }
    if (decision.applies_scales) decision.text += ", scales applied";
  }
}

}  // namespace tensorcast::tool

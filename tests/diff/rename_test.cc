// New names of old ones, and what is no new name.
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/rename.h"

#include <gtest/gtest.h>

#include <string>

#include "files/error.h"

namespace tensorcast::naming {
namespace {

std::string Applied(const std::string& from, const std::string& to, const std::string& name) {
  return Rename(from, to).Apply(name).value_or("(none)");
}

TEST(Rename, StarsStandForWhatStarsTook) {
  EXPECT_EQ(Applied("model.*", "*", "model.w"), "w");
  EXPECT_EQ(Applied("*", "model.*", "w"), "model.w");
  EXPECT_EQ(Applied("model.*", "*", "w"), "(none)");
  EXPECT_EQ(Applied("model.*", "*", "model."), "");
  EXPECT_EQ(Applied("*.q.*", "*_q_*", "layers.0.q.weight"), "layers.0_q_weight");
  EXPECT_EQ(Applied("*.*", "*", "a.b.c"), "a");  // the earlier as little as can be
  EXPECT_EQ(Applied("*.*", "x*", "a.b.c"), "xa");
  EXPECT_EQ(Applied("*a*b*", "[*|*|*]", "xxabyabz"), "[xx||yabz]");
  EXPECT_EQ(Applied("*b*ab", "*|*", "abbabab"), "a|bab");
  EXPECT_EQ(Applied("w[*]?*", "*", "w*.x"), "x");  // a * in a set is none
  EXPECT_EQ(Applied("\\**", "*", "*x"), "x");
  EXPECT_EQ(Applied("*", "\\*\\\\", "x"), "*\\");
  EXPECT_EQ(Applied("**", "*|*", "ab"), "|ab");
  EXPECT_EQ(Applied("w", "v", "w"), "v");
}

TEST(Rename, GroupsStandForWhatGroupsTook) {
  EXPECT_EQ(Applied("re:layers\\.(\\d+)\\.(.*)", "blk.\\1.\\2", "layers.12.w"), "blk.12.w");
  EXPECT_EQ(Applied("re:(a)|(b)", "[\\1\\2]", "b"), "[b]");  // a group that took nothing
  EXPECT_EQ(Applied("re:.*", "x.\\0", "w"), "x.w");
  EXPECT_EQ(Applied("re:(.*)", "*\\\\", "w"), "*\\");
  EXPECT_EQ(Applied("re:w", "v", "ww"), "(none)");
}

TEST(Rename, WhatIsNoNewNameIsRefused) {
  const auto refusal = [](const std::string& from, const std::string& to) -> std::string {
    try {
      const Rename rename(from, to);
      return "taken";
    } catch (const files::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::kArguments);
      return error.what();
    }
  };
  EXPECT_EQ(refusal("a.*", "*.*"),
            "'*.*' is not a name that 'a.*' can give: 'a.*' has no * number 2");
  EXPECT_EQ(refusal("re:(a)", "\\2"),
            "'\\2' is not a name that 're:(a)' can give: 're:(a)' has no group 2");
  EXPECT_EQ(refusal("a", ""), "'' is not a name that 'a' can give: it is empty");
  EXPECT_EQ(refusal("a", "b\\"), "'b\\' is not a name that 'a' can give: it ends in a backslash");
  EXPECT_EQ(refusal("[a", "b"), "'[a' is not a pattern: its [ is not closed");
}

}  // namespace
}  // namespace tensorcast::naming

// The speed that a progress bar shows: of constant work it is exact, a change is followed within
// seconds, and what was done before the run is not counted.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/recent_speed.h"

#include <gtest/gtest.h>

namespace tensorcast::tool {
namespace {

TEST(RecentSpeed, IsNotKnownBeforeTimeHasPassed) {
  RecentSpeed speed;
  EXPECT_EQ(speed.BytesPerSecond(), 0);
  speed.Add(1000, 0);
  EXPECT_EQ(speed.BytesPerSecond(), 0);
}

TEST(RecentSpeed, OfConstantWorkIsExactFromTheFirstPieceOn) {
  RecentSpeed speed;
  for (int i = 1; i <= 1000; ++i) {
    speed.Add(static_cast<std::uint64_t>(i) * 500, 0.25 * i);
    ASSERT_NEAR(speed.BytesPerSecond(), 2000, 1e-9) << i;
  }
}

TEST(RecentSpeed, FollowsAChange) {
  RecentSpeed speed;
  std::uint64_t bytes = 0;
  for (int i = 1; i <= 100; ++i) speed.Add(bytes += 100, i);  // 100 s at 100 a second
  for (int i = 1; i <= 10; ++i) speed.Add(bytes += 1000, 100 + i);
  // Ten seconds are 1 - 1/e of what counts; the average of the whole run would be 182.
  EXPECT_NEAR(speed.BytesPerSecond(), 669, 1);
  for (int i = 11; i <= 60; ++i) speed.Add(bytes += 1000, 100 + i);
  EXPECT_NEAR(speed.BytesPerSecond(), 1000, 5);
}

TEST(RecentSpeed, IsSmoothWherePiecesComeUnevenly) {
  RecentSpeed speed;
  std::uint64_t bytes = 0;
  for (int i = 1; i <= 400; ++i) {  // every fourth is nine times as large: 300 a second
    speed.Add(bytes += i % 4 == 0 ? 225 : 25, 0.25 * i);
    if (i > 100) {
      ASSERT_NEAR(speed.BytesPerSecond(), 300, 15) << i;
    }
  }
}

TEST(RecentSpeed, DoesNotCountWhatWasDoneBefore) {
  RecentSpeed speed;
  speed.BeginAt(1'000'000, 5);
  speed.Add(1'000'300, 6);
  EXPECT_DOUBLE_EQ(speed.BytesPerSecond(), 300);
}

TEST(RecentSpeed, BeginsAgainWithOtherWork) {
  RecentSpeed speed;
  speed.Add(1'000'000, 1);
  speed.Add(50, 2);  // of what is read a second time, say
  EXPECT_DOUBLE_EQ(speed.BytesPerSecond(), 50);
}

}  // namespace
}  // namespace tensorcast::tool

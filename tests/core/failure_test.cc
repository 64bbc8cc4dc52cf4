// What is thrown inside a call, as the status and the text that leave it: ours, nobody's, the
// caller's.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/failure.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "core/given.h"

namespace tensorcast::core {
namespace {

struct Outcome {
  Status status;
  std::string text;
};

template <class Body> Outcome OutcomeOf(const Body& body) {
  Outcome outcome;
  outcome.text = "of an earlier call";
  outcome.status = Guarded(&outcome.text, [&] {
    body();
    return Status();
  });
  EXPECT_EQ(Guarded(nullptr,
                    [&] {
                      body();
                      return Status();
                    }),
            outcome.status);
  return outcome;
}

TEST(Failure, NobodyForesaw) {
  const Outcome of_exception = OutcomeOf([] { throw std::out_of_range("at 7 of 3\n\x1b[2J"); });
  EXPECT_EQ(of_exception.status.code(), StatusCode::kInternalError);
  EXPECT_EQ(of_exception.text, "internal error: at 7 of 3??[2J");
  const Outcome of_anything = OutcomeOf([] { throw 1; });
  EXPECT_EQ(of_anything.status.code(), StatusCode::kInternalError);
  EXPECT_EQ(of_anything.text, "internal error");
}

TEST(Failure, OfOurs) {
  const Outcome good = OutcomeOf([] {});
  EXPECT_TRUE(good.status.ok());
  EXPECT_EQ(good.text, "");
  const Outcome failed = OutcomeOf([] {
    throw Failure(Status(StatusCode::kBadInput, Remedy::kAllowOverwriting), "a.npy exists");
  });
  EXPECT_EQ(failed.status, Status(StatusCode::kBadInput, Remedy::kAllowOverwriting));
  EXPECT_EQ(failed.text, "a.npy exists");
  const Outcome memory = OutcomeOf([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.status.code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(memory.text, "out of memory");
}

// What a status and a text say is kept whole, from wherever it was thrown.
TEST(Failure, IsKeptWhole) {
  const auto fails = [](std::string* error) {
    return Guarded(error, []() -> Status {
      throw Failure(StatusCode::kFileError, "a.npy: no room", Remedy::kTakeDirectory, "a.npy", 28);
    });
  };
  const auto expect = [](StatusCode kind, Remedy remedy, const std::string& subject,
                         const std::string& text, int error) {
    const Refusal last = LastRefusal();
    EXPECT_EQ(last.kind, kind);
    EXPECT_EQ(last.remedy, remedy);
    EXPECT_EQ(last.subject, subject);
    EXPECT_EQ(last.text, text);
    EXPECT_EQ(last.system_error, error);
  };
  std::string error;
  EXPECT_EQ(fails(nullptr), Status(StatusCode::kFileError, Remedy::kTakeDirectory));
  expect(StatusCode::kFileError, Remedy::kTakeDirectory, "a.npy", "a.npy: no room", 28);
  // Through a call that passes on the status and the text, and through one that throws them again.
  (void)Guarded(&error, [&] { return fails(&error); });
  expect(StatusCode::kFileError, Remedy::kTakeDirectory, "a.npy", "a.npy: no room", 28);
  (void)Guarded(&error, [&]() -> Status {
    std::string inner;
    const Status status = fails(&inner);
    throw Failure(status, inner);
  });
  expect(StatusCode::kFileError, Remedy::kTakeDirectory, "a.npy", "a.npy: no room", 28);
  // A call that gets over it and fails of itself says its own.
  (void)Guarded(&error, [&] {
    std::string inner;
    (void)fails(&inner);
    error = "no such option";
    return Status(StatusCode::kBadInput);
  });
  expect(StatusCode::kBadInput, Remedy::kNone, "", "no such option", 0);
  (void)Guarded(nullptr, [] { return Status(StatusCode::kWrongCall); });
  expect(StatusCode::kWrongCall, Remedy::kNone, "",
         std::string(Status(StatusCode::kWrongCall).message()), 0);
  (void)Guarded(&error, []() -> Status { throw std::out_of_range("at 7"); });
  expect(StatusCode::kInternalError, Remedy::kNone, "", "internal error: at 7", 0);
}

TEST(Failure, IsKeptCut) {
  const std::string path(4096, 'p');
  const std::string text = path + "\xC3\xA4";
  const auto keep = [](const std::string& subject, const std::string& what) {
    std::string error;
    const Status status = Guarded(&error, [&]() -> Status {
      throw Failure(StatusCode::kFileError, what, Remedy::kNone, subject, 2);
    });
    const Failure whole(status, error);  // of the text that was not cut
    EXPECT_EQ(whole.what(), what);
    EXPECT_EQ(whole.subject(), LastRefusal().subject);
    return LastRefusal();
  };
  EXPECT_EQ(keep(path, text).subject, path);
  EXPECT_EQ(keep(path, text).text, path);
  EXPECT_EQ(keep(path, text).system_error, 2);
  EXPECT_EQ(keep("", path.substr(1) + "\xC3\xA4").text, path.substr(1));  // no half of a character
  EXPECT_EQ(keep(path + 'p', text).subject, "");
  EXPECT_EQ(keep(path + 'p', text).system_error, 0);
}

// Throws before, or what a task throws.
class FailingExecutor final : public Executor {
 public:
  explicit FailingExecutor(std::function<void()> thrown) : thrown_(std::move(thrown)) {}
  std::size_t Concurrency() const noexcept override { return 3; }
  void ParallelFor(std::size_t, void (*task)(void* context, std::size_t index),
                   void* context) override {
    thrown_();
    task(context, 0);
  }

 private:
  std::function<void()> thrown_;
};

Outcome OutcomeOfExecutor(const std::function<void()>& thrown, void (*task)(void*, std::size_t)) {
  FailingExecutor executor(thrown);
  GivenExecutor given(&executor);
  EXPECT_EQ(given.get()->Concurrency(), 3u);
  return OutcomeOf([&] { given.get()->ParallelFor(1, task, nullptr); });
}

TEST(Failure, OfTheCallersExecutor) {
  const auto none = [](void*, std::size_t) {};
  const Outcome failed =
      OutcomeOfExecutor([] { throw std::runtime_error("the pool is shut"); }, none);
  EXPECT_EQ(failed.status.code(), StatusCode::kExecutorFailed);
  EXPECT_EQ(failed.text, "the executor failed, or did not run every task once: the pool is shut");
  EXPECT_EQ(OutcomeOfExecutor([] { throw 1; }, none).status.code(), StatusCode::kExecutorFailed);
  EXPECT_EQ(OutcomeOfExecutor([] { throw std::bad_alloc(); }, none).status.code(),
            StatusCode::kOutOfMemory);
  // Ours comes through it as it is.
  const Outcome ours = OutcomeOfExecutor(
      [] {}, [](void*, std::size_t) { throw Failure(StatusCode::kBadFile, "torn"); });
  EXPECT_EQ(ours.status.code(), StatusCode::kBadFile);
  EXPECT_EQ(ours.text, "torn");
  EXPECT_EQ(GivenExecutor(nullptr).get(), nullptr);
}

TEST(Failure, OfTheCallersFunction) {
  const std::function<void(const int&)> call = Given(std::function<void(const int&)>(
      [](const int& n) { throw std::out_of_range("no " + std::to_string(n)); }));
  const Outcome failed = OutcomeOf([&] { call(3); });
  EXPECT_EQ(failed.status.code(), StatusCode::kCallbackFailed);
  EXPECT_EQ(failed.text, "a callback threw: no 3");
  EXPECT_FALSE(Given(std::function<void(const int&)>()));
  EXPECT_EQ(CallGiven(StatusCode::kCallbackFailed, [] { return 7; }), 7);
}

}  // namespace
}  // namespace tensorcast::core

// The caller's floating-point environment and locale change no byte of a string cast, and the
// environment comes back as it was.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "core/option_sets.h"
#include "core/source_codes.h"
#include "core/thread_executor.h"
#include "oracle/packing.h"
#include "text/text_batch.h"

namespace tensorcast::testing {
namespace {

const std::vector<std::string>& Texts() {
  static const std::vector<std::string> texts = {
      "1.5",        "-0.1",     "3.3333333333333333333333333", "1e-310", "4.9e-324",     "1.8e19",
      "65519.9999", "464.0001", "0.30000000000000004",         "-1e-45", "123456.789e3", "2.5",
      "3.5",        "-0"};
  return texts;
}

// What every type makes of the texts, and what it prints for codes of its own.
struct Outcome {
  std::vector<std::vector<std::byte>> parsed;
  std::vector<std::vector<std::string>> printed;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Prepared {
  TypeInfo type;
  std::vector<std::byte> source;
};
constexpr std::size_t kCodes = 211;

std::vector<Prepared> Sources() {
  std::vector<Prepared> sources;
  for (const TypeInfo& type : FixedWidthTypes()) {
    sources.push_back({type, oracle::Pack(MixedCodes(type, type, kCodes, 9), type.bits)});
  }
  return sources;
}

// Only calls of the library; buffers are made beforehand where an exception could trap.
struct Buffers {
  std::vector<std::byte> parsed = std::vector<std::byte>(8 * 20);
  std::vector<std::uint64_t> offsets = std::vector<std::uint64_t>(kCodes + 1);
  std::string bytes = std::string(kCodes * kLongestPrinted, ' ');
};

Outcome Everything(const std::vector<Prepared>& sources, const TextBatch& batch,
                   const HostileEnvironment& environment, const RunOptions& run) {
  Outcome outcome;
  for (const Prepared& prepared : sources) {
    for (const StringStyle style : {StringStyle::kNumpy, StringStyle::kOrt}) {
      CastOptions options;
      options.string_style = style;
      Buffers buffers;
      std::uint64_t size = 0;
      Status parsed, sized, printed;
      EnvironmentWords set, after;
      {
        const HostileScope scope(environment);
        parsed = ParseStrings(batch.view(), prepared.type.type, buffers.parsed, options, run);
        sized =
            PrintedStringBytes(prepared.type.type, prepared.source, kCodes, &size, options, run);
        printed = PrintStrings(prepared.type.type, prepared.source, kCodes, buffers.offsets,
                               buffers.bytes, options, run);
        after = ReadEnvironment();
        set = scope.set();
      }
      EXPECT_TRUE(parsed.ok() && sized.ok() && printed.ok()) << prepared.type.name;
      EXPECT_EQ(size, buffers.offsets.back()) << prepared.type.name;
      EXPECT_EQ(after, set) << prepared.type.name << " in \"" << environment.name
                            << "\": " << Describe(set) << " became " << Describe(after);
      outcome.parsed.push_back(buffers.parsed);
      std::vector<std::string> texts;
      for (std::size_t i = 0; i < kCodes; ++i) {
        texts.push_back(
            buffers.bytes.substr(buffers.offsets[i], buffers.offsets[i + 1] - buffers.offsets[i]));
      }
      outcome.printed.push_back(texts);
    }
  }
  return outcome;
}

TEST(Environment, RoundingFlushingAndTraps) {
  const std::vector<Prepared> sources = Sources();
  const TextBatch batch(Texts());
  const Outcome calm = Everything(sources, batch, HostileEnvironments()[0], {});
  for (const HostileEnvironment& environment : HostileEnvironments()) {
    EXPECT_EQ(Everything(sources, batch, environment, {}), calm) << environment.name;
    // On workers that live in that environment.
    thread_local std::unique_ptr<HostileScope> scope;
    ThreadExecutor workers(
        2, [&] { scope = std::make_unique<HostileScope>(environment); }, [] { scope.reset(); });
    RunOptions run;
    run.executor = &workers;
    EXPECT_EQ(Everything(sources, batch, HostileEnvironments()[0], run), calm) << environment.name;
  }
}

// A locale that writes 1.5 as 1,5, made for this test; why there is none otherwise.
std::string SetCommaLocale(const std::filesystem::path& folder) {
  if (!std::filesystem::exists("/usr/share/i18n/locales/de_DE")) {
    return "no locale sources here (Debian: apt-get install locales)";
  }
  const std::string made = (folder / "de_DE.UTF-8").string();
  if (std::system(("localedef -i de_DE -f UTF-8 '" + made + "' >/dev/null 2>&1").c_str()) != 0) {
    return "localedef could not make a locale in " + made;
  }
  setenv("LOCPATH", folder.c_str(), 1);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) return "setlocale refused de_DE.UTF-8";
  return {};
}

TEST(Environment, ALocaleWithACommaChangesNothing) {
  const std::vector<Prepared> sources = Sources();
  const TextBatch batch(Texts());
  const Outcome calm = Everything(sources, batch, HostileEnvironments()[0], {});

  std::string pattern = (std::filesystem::temp_directory_path() / "tensorcast-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::string why_not = SetCommaLocale(pattern);
  if (why_not.empty()) {
    // The locale is at work: the C library itself writes and reads a comma.
    char text[16];
    std::snprintf(text, sizeof text, "%g", 1.5);
    EXPECT_STREQ(text, "1,5");
    EXPECT_EQ(Everything(sources, batch, HostileEnvironments()[0], {}), calm);
    std::uint64_t code = 0;
    EXPECT_EQ(ParseValue("1,5", DataType::kFloat32, &code).code(), StatusCode::kNotANumber);
    EXPECT_EQ(ParseValue("1.500,5", DataType::kFloat32, &code).code(), StatusCode::kNotANumber);
  }
  std::setlocale(LC_ALL, "C");
  std::filesystem::remove_all(pattern);
  if (!why_not.empty()) GTEST_SKIP() << "NOT RUN: " << why_not;
}

}  // namespace
}  // namespace tensorcast::testing

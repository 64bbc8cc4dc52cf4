// Strings through the streaming job: parsed, printed and copied, chunk by chunk, on any threads.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "convert/runner.h"
#include "convert/text_jobs.h"
#include "test_files.h"

namespace tensorcast::convert {
namespace {

using files::Interrupted;
using formats::FileContents;
using formats::TensorInfo;
using formats::TensorReader;
using formats::TensorWriter;
using io::ErrorOf;
using io::LittleEndian;
using io::Tensor;
using text::StringPiece;
using text::TextSize;

// A file of strings in memory: text i of each tensor is a function of i.
class TextSource final : public TensorReader {
 public:
  TextSource(std::vector<std::uint64_t> shape, std::string (*text)(std::uint64_t)) : text_(text) {
    TensorInfo info = Tensor("t", DataType::kString, std::move(shape));
    for (std::uint64_t i = 0; i < info.elements; ++i) info.bytes += text(i).size();
    contents_.tensors = {info};
  }
  const FileContents& contents() const override { return contents_; }
  std::uint64_t file_bytes() const override { return 0; }
  void Read(std::size_t, std::uint64_t, std::span<std::byte>) const override { std::abort(); }
  StringPiece ReadStrings(std::size_t, std::uint64_t first, std::uint64_t n) const override {
    most_ = std::max(most_, n);
    StringPiece piece;
    for (std::uint64_t i = first; i < first + n; ++i) piece.Append(text_(i));
    return piece;
  }
  std::uint64_t most_at_once() const { return most_; }
  void CheckUnchanged() const override {}

 private:
  std::string (*text_)(std::uint64_t);
  FileContents contents_;
  mutable std::uint64_t most_ = 0;
};

// int32 numbers 0, 1, 2 ...
class NumberSource final : public TensorReader {
 public:
  explicit NumberSource(std::vector<std::uint64_t> shape) {
    contents_.tensors = {Tensor("n", DataType::kInt32, std::move(shape))};
  }
  const FileContents& contents() const override { return contents_; }
  std::uint64_t file_bytes() const override { return 0; }
  void Read(std::size_t, std::uint64_t offset, std::span<std::byte> out) const override {
    for (std::size_t i = 0; i < out.size(); i += 4) {
      const auto number = static_cast<std::uint32_t>((offset + i) / 4);
      std::memcpy(out.data() + i, &number, 4);
    }
  }
  void CheckUnchanged() const override {}

 private:
  FileContents contents_;
};

class Sink final : public TensorWriter {
 public:
  void Write(std::size_t, std::uint64_t offset, std::span<const std::byte> data) override {
    if (bytes.size() < offset + data.size()) bytes.resize(offset + data.size());
    std::memcpy(bytes.data() + offset, data.data(), data.size());
  }
  void WriteStrings(std::size_t, std::uint64_t first, const Strings& strings) override {
    EXPECT_EQ(first, texts.size());  // in order
    for (std::uint64_t i = 0; i < strings.size(); ++i) texts.emplace_back(strings[i]);
  }
  std::uint64_t file_bytes() const override { return 0; }

  std::string bytes;
  std::vector<std::string> texts;

 private:
  void DoSync() override {}
  void DoCommit() override {}
};

constexpr std::uint64_t kMany = 300'001;  // several chunks, the last odd

TEST(TextConversion, ParsesInChunks) {
  const TextSource source({kMany}, [](std::uint64_t i) { return " " + std::to_string(i) + ".5"; });
  for (const std::size_t threads : {1, 3}) {
    const std::unique_ptr<Executor> executor = MakeTbbExecutor(threads);
    Sink sink;
    JobOptions options;
    options.executor = executor.get();
    std::uint64_t last = 0;
    options.progress = [&](const Progress& now) {
      EXPECT_GE(now.bytes_done, last);
      last = now.bytes_done;
      EXPECT_EQ(now.bytes_total, source.contents().tensors[0].bytes);
    };
    const TensorJob job{0, 0, {DataType::kInt32}};
    const JobTotals result = RunJobs(source, std::span(&job, 1), &sink, options);
    EXPECT_TRUE(result.totals.empty());
    EXPECT_EQ(result.bytes_read, source.contents().tensors[0].bytes);
    EXPECT_EQ(last, result.bytes_read);
    EXPECT_EQ(result.bytes_written, 4 * kMany);
    std::string wanted;
    for (std::uint64_t i = 0; i < kMany; ++i) wanted += LittleEndian(i, 4);
    EXPECT_EQ(sink.bytes, wanted);
  }
  EXPECT_LT(source.most_at_once(), kMany / 2);
}

// A packed type: chunks begin at whole bytes, and the pad bits are zero.
TEST(TextConversion, ParsesToPackedTypes) {
  const TextSource source({kMany}, [](std::uint64_t i) { return std::to_string(i % 16); });
  Sink sink;
  const TensorJob job{0, 0, {DataType::kUint4}};
  RunJobs(source, std::span(&job, 1), &sink, {});
  ASSERT_EQ(sink.bytes.size(), (kMany + 1) / 2);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const auto byte = static_cast<unsigned char>(sink.bytes[i / 2]);
    ASSERT_EQ(i % 2 == 0 ? byte & 15u : byte >> 4, i % 16) << i;
  }
  EXPECT_EQ(static_cast<unsigned char>(sink.bytes.back()) >> 4, 0);
}

TEST(TextConversion, NamesTheFirstThatIsNoNumber) {
  const TextSource source({3, 100'003}, [](std::uint64_t i) {
    return i >= 200'007 && i % 7 == 0 ? std::string("\x1b[2J") : "1e3";
  });
  const std::uint64_t first = 200'011 / 7 * 7;
  for (const std::size_t threads : {1, 4}) {
    const std::unique_ptr<Executor> executor = MakeTbbExecutor(threads);
    JobOptions options;
    options.executor = executor.get();
    options.input = "in\n.npy";
    Sink sink;
    const TensorJob job{0, 0, {DataType::kFloat32}};
    EXPECT_EQ(ErrorOf([&] { RunJobs(source, std::span(&job, 1), &sink, options); }),
              "3 in\\x0A.npy: tensor \"t\" holds at [" + std::to_string(first / 100'003) + "," +
                  std::to_string(first % 100'003) +
                  "] the text \"\\x1B[2J\", which is not a number");
  }
}

TEST(TextConversion, NamesWhatIsNoInteger) {
  const TextSource source({}, [](std::uint64_t) { return std::string("1e30"); });
  JobOptions options;
  options.input = "x.npy";
  Sink sink;
  const TensorJob job{0, 0, {DataType::kInt64}};
  EXPECT_EQ(ErrorOf([&] { RunJobs(source, std::span(&job, 1), &sink, options); }),
            "3 x.npy: tensor \"t\" holds the text \"1e30\", which is not an integer from -2^63 to "
            "2^64 - 1; a floating type holds it");
}

TEST(TextConversion, PrintsInChunksAndKnowsTheSizeBefore) {
  const NumberSource source({kMany});
  for (const std::size_t threads : {1, 3}) {
    const std::unique_ptr<Executor> executor = MakeTbbExecutor(threads);
    JobOptions options;
    options.executor = executor.get();
    const TensorJob job{0, 0, {DataType::kString}};
    ASSERT_TRUE(IsTextJob(source, job));
    const TextSize size = MeasureTexts(source, job, options);
    EXPECT_EQ(size.most_code_points, 6u);
    EXPECT_EQ(size.most_bytes, 6u);
    // 10 of one digit, 90 of two ... and 200,001 of six.
    EXPECT_EQ(size.total_bytes, 10u + 180 + 2'700 + 36'000 + 450'000 + 6 * 200'001);
    Sink sink;
    const JobTotals result = RunJobs(source, std::span(&job, 1), &sink, options);
    EXPECT_EQ(result.bytes_read, 4 * kMany);
    EXPECT_EQ(result.bytes_written, size.total_bytes);
    ASSERT_EQ(sink.texts.size(), kMany);
    for (std::uint64_t i = 0; i < kMany; ++i) ASSERT_EQ(sink.texts[i], std::to_string(i));
  }
}

TEST(TextConversion, CopiesTexts) {
  const TextSource source({5}, [](std::uint64_t i) {
    return std::vector<std::string>{"", "\u00e9\U0001F600", "\xff\xfe", "abc", "a"}[i];
  });
  const TensorJob job{0, 0, {}};
  ASSERT_TRUE(IsTextJob(source, job));
  const TextSize size = MeasureTexts(source, job, {});
  EXPECT_EQ(size.most_code_points, 3u);
  EXPECT_EQ(size.most_bytes, 6u);
  EXPECT_EQ(size.total_bytes, 12u);
  Sink sink;
  RunJobs(source, std::span(&job, 1), &sink, {});
  EXPECT_EQ(sink.texts, (std::vector<std::string>{"", "\u00e9\U0001F600", "\xff\xfe", "abc", "a"}));
}

TEST(TextConversion, CanBeInterrupted) {
  const NumberSource source({kMany});
  std::atomic<bool> interrupted{false};
  JobOptions options;
  options.interrupted = &interrupted;
  options.progress = [&](const Progress&) { interrupted = true; };
  const TensorJob job{0, 0, {DataType::kString}};
  EXPECT_THROW(MeasureTexts(source, job, options), Interrupted);
  interrupted = false;
  Sink sink;
  EXPECT_THROW(RunJobs(source, std::span(&job, 1), &sink, options), Interrupted);
  EXPECT_LT(sink.texts.size(), kMany);
}

}  // namespace
}  // namespace tensorcast::convert

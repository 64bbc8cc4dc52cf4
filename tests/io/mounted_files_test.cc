// File systems that a caller lends: what is read of them is what they hold, in ranges that are
// tried again, several at once and of bounded size; what changes meanwhile is refused.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "checkpoint/checkpoint_others.h"
#include "checkpoint/checkpoint_reader.h"
#include "files/named_file.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "tensorcast/convert.hpp"
#include "tensorcast/file_system.hpp"
#include "test_files.h"

namespace tensorcast::io {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Files in memory, whose calls are counted; `fault` is asked before each and may throw.
class HeldFiles final : public FileSystem {
 public:
  struct File {
    std::string bytes;
    std::string version;
  };
  struct Call {
    std::string path;
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
  };

  std::map<std::string, File> files;
  std::function<void(const Call&)> fault = [](const Call&) {};

  std::optional<FileEntry> Find(const std::string& path, bool) override {
    fault({path, 0, 0});
    const std::lock_guard lock(mutex_);
    if (const auto file = files.find(path); file != files.end()) {
      return FileEntry{"", false, file->second.bytes.size(), file->second.version};
    }
    const auto below = files.lower_bound(path + '/');
    if (below == files.end() || !below->first.starts_with(path + '/')) return std::nullopt;
    return FileEntry{"", true, 0, ""};
  }
  std::vector<FileEntry> List(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    const std::string begin = path.ends_with('/') ? path : path + '/';
    std::map<std::string, FileEntry> entries;
    for (const auto& [name, file] : files) {
      if (!name.starts_with(begin)) continue;
      const std::string rest = name.substr(begin.size());
      const std::string own = rest.substr(0, rest.find('/'));
      entries[own] = {own, own != rest, own == rest ? file.bytes.size() : 0, ""};
    }
    std::vector<FileEntry> list;
    for (auto& [name, entry] : entries) list.push_back(entry);
    return list;
  }
  void Read(const std::string& path, const FileEntry& file, std::uint64_t offset,
            std::span<std::byte> out) override {
    const std::size_t now = ++at_once_;
    std::size_t most = most_at_once;
    while (now > most && !most_at_once.compare_exchange_weak(most, now)) {
    }
    {
      const std::lock_guard lock(mutex_);
      reads.push_back({path, offset, out.size()});
    }
    try {
      fault({path, offset, out.size()});
      const std::lock_guard lock(mutex_);
      const std::string& bytes = files.at(path).bytes;
      EXPECT_LE(offset + out.size(), file.bytes);
      std::memcpy(out.data(), bytes.data() + offset, out.size());
    } catch (...) {
      --at_once_;
      throw;
    }
    --at_once_;
  }

  std::vector<Call> reads;
  std::atomic<std::size_t> most_at_once = 0;

 private:
  std::mutex mutex_;
  std::atomic<std::size_t> at_once_ = 0;
};

std::string NoisyBytes(std::size_t count) {
  std::mt19937 random(7);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string AllOf(const files::ByteSource& source, std::size_t at_once) {
  std::string bytes(source.size(), '\0');
  const std::span<std::byte> out = std::as_writable_bytes(std::span(bytes));
  for (std::size_t done = 0; done < out.size(); done += at_once) {
    source.Read(done, out.subspan(done, std::min(at_once, out.size() - done)));
  }
  return bytes;
}

class MountedFilesTest : public FileTest {
 protected:
  MountedFilesTest() { options_.first_pause = std::chrono::milliseconds(1); }

  void Lend() {
    std::string error;
    ASSERT_TRUE(Mount::Make("held://", held_, options_, &mount_, &error).ok()) << error;
  }
  static std::unique_ptr<files::ByteSource> OpenHeld(const std::string& path) {
    return files::OpenFile(path);
  }

  std::shared_ptr<HeldFiles> held_ = std::make_shared<HeldFiles>();
  MountOptions options_;
  Mount mount_;
};

// A safetensors file of float32 tensors, each of one row.
std::string RowsFile(const std::vector<std::pair<std::string, std::vector<float>>>& tensors) {
  std::string header = "{", data;
  for (const auto& [name, values] : tensors) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    header += (begin == 0 ? "\"" : ",\"") + name + R"(":{"dtype":"F32","shape":[)" +
              std::to_string(values.size()) + "],\"data_offsets\":[" + std::to_string(begin) + ',' +
              std::to_string(data.size()) + "]}";
  }
  header += '}';
  std::string length(8, '\0');
  const std::uint64_t bytes = header.size();
  std::memcpy(length.data(), &bytes, sizeof(bytes));
  return length + header + data;
}

TEST_F(MountedFilesTest, AreReadInRangesThatGrow) {
  const std::string bytes = NoisyBytes(40 * kMiB + 123);
  held_->files["held://a/x"] = {bytes, "1"};
  Lend();
  const auto file = OpenHeld("held://a/x");
  EXPECT_EQ(file->path(), "held://a/x");
  std::string head(8, '\0');
  file->Read(0, std::as_writable_bytes(std::span(head)));
  EXPECT_EQ(head, bytes.substr(0, 8));
  ASSERT_EQ(held_->reads.size(), 1u);  // a header takes no more than one small range
  EXPECT_EQ(held_->reads[0].bytes, std::size_t{64} << 10);

  EXPECT_EQ(AllOf(*file, 100'000), bytes);
  std::uint64_t read = 0;
  std::size_t largest = 0;
  for (const HeldFiles::Call& call : held_->reads) {
    read += call.bytes;
    largest = std::max(largest, call.bytes);
  }
  EXPECT_EQ(read, bytes.size());  // each byte once
  EXPECT_EQ(largest, 8 * kMiB);
  EXPECT_LT(held_->reads.size(), 16u);
  EXPECT_NO_THROW(file->CheckUnchanged());
}

TEST_F(MountedFilesTest, ReadAnywhereAndAgain) {
  const std::string bytes = NoisyBytes(5 * kMiB);
  held_->files["held://x"] = {bytes, ""};
  options_.range_bytes = 300'000;
  options_.buffer_bytes = 1'000'000;  // three ranges: others go, and are read again
  Lend();
  const auto file = OpenHeld("held://x");
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::size_t begin = random() % bytes.size();
    const std::size_t count = std::min<std::size_t>(random() % 700'000, bytes.size() - begin);
    std::string got(count, '\0');
    file->Read(begin, std::as_writable_bytes(std::span(got)));
    ASSERT_EQ(got, bytes.substr(begin, count)) << begin;
  }
}

TEST_F(MountedFilesTest, NothingIsReadButWhatIsAskedFor) {
  const std::string bytes = NoisyBytes(kMiB);
  held_->files["held://x"] = {bytes, ""};
  options_.buffer_bytes = 0;
  Lend();
  const auto file = OpenHeld("held://x");
  for (const auto& [begin, count] : {std::pair(700'000, 5), {700'000, 5}, {0, 0}, {3, 200'000}}) {
    std::string got(count, '\0');
    held_->reads.clear();
    file->Read(begin, std::as_writable_bytes(std::span(got)));
    EXPECT_EQ(got, bytes.substr(begin, count));
    ASSERT_EQ(held_->reads.size(), count == 0 ? 0u : 1u);  // the second time, too
    if (count != 0) {
      EXPECT_EQ(held_->reads[0].offset, static_cast<std::uint64_t>(begin));
      EXPECT_EQ(held_->reads[0].bytes, static_cast<std::size_t>(count));
    }
  }
  held_->fault = [](const HeldFiles::Call&) { throw FileRefused("not there"); };
  std::string got(10, '\0');
  EXPECT_NE(ErrorOf([&] {
              file->Read(90, std::as_writable_bytes(std::span(got)));
            }).find("held://x: bytes 90 to 99 cannot be read: not there"),
            std::string::npos);
}

TEST_F(MountedFilesTest, AreReadAheadSeveralAtOnce) {
  held_->files["held://x"] = {std::string(60 * kMiB, 'x'), ""};
  // A range in the middle comes only when two others are asked for beside it: no machine is too
  // busy for that, and the deadline is for a reader that asks for one after another.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  held_->fault = [&](const HeldFiles::Call& call) {
    while (call.offset > 20 * kMiB && held_->most_at_once < 3 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  Lend();
  EXPECT_EQ(AllOf(*OpenHeld("held://x"), kMiB), held_->files["held://x"].bytes);
  EXPECT_GE(held_->most_at_once, 3u);
  EXPECT_LE(held_->most_at_once, 1 + options_.ranges_ahead);
}

TEST_F(MountedFilesTest, AreNotReadAheadWhereThatIsNotAskedFor) {
  held_->files["held://x"] = {std::string(20 * kMiB, 'x'), ""};
  options_.ranges_ahead = 0;
  Lend();
  EXPECT_EQ(AllOf(*OpenHeld("held://x"), kMiB), held_->files["held://x"].bytes);
  EXPECT_EQ(held_->most_at_once, 1u);
}

TEST_F(MountedFilesTest, AreTriedAgain) {
  const std::string bytes = NoisyBytes(20 * kMiB);
  held_->files["held://x"] = {bytes, ""};
  std::mutex mutex;
  std::map<std::uint64_t, int> failed;  // each range fails four times, as the file's look does
  held_->fault = [&](const HeldFiles::Call& call) {
    const std::lock_guard lock(mutex);
    if (failed[call.bytes == 0 ? UINT64_MAX : call.offset]++ < 4) {
      throw std::runtime_error("503 Slow Down");
    }
  };
  Lend();
  EXPECT_EQ(AllOf(*OpenHeld("held://x"), kMiB), bytes);
}

TEST_F(MountedFilesTest, SayWhatCouldNotBeRead) {
  held_->files["held://x"] = {std::string(20 * kMiB, 'x'), ""};
  std::atomic<int> tries = 0;
  held_->fault = [&](const HeldFiles::Call& call) {
    if (call.bytes == 0) return;
    ++tries;
    throw std::runtime_error("503 Slow\nDown");
  };
  Lend();
  std::string out(10, '\0');
  const auto read = [&] {
    OpenHeld("held://x")->Read(100, std::as_writable_bytes(std::span(out)));
  };
  EXPECT_EQ(ErrorOf(read),
            "4 held://x: bytes 100 to 65635 cannot be read, tried 5 times: 503 Slow\\x0ADown");
  EXPECT_EQ(tries, 5);
  // What is refused is not tried again.
  tries = 0;
  held_->fault = [&](const HeldFiles::Call& call) {
    if (call.bytes == 0) return;
    ++tries;
    throw FileRefused("403 Forbidden", EACCES);
  };
  EXPECT_EQ(ErrorOf(read), "4 held://x: bytes 100 to 65635 cannot be read: 403 Forbidden");
  EXPECT_EQ(tries, 1);
  // The next reading asks anew.
  held_->fault = [](const HeldFiles::Call&) {};
  read();
  EXPECT_EQ(out, std::string(10, 'x'));
}

TEST_F(MountedFilesTest, AreRefusedWhereTheyChange) {
  held_->files["held://x"] = {"12345", "one"};
  Lend();
  const auto file = OpenHeld("held://x");
  EXPECT_EQ(AllOf(*file, 5), "12345");
  EXPECT_EQ(ErrorOf([&] { file->CheckUnchanged(); }), "no error");
  const std::string rewritten =
      "4 held://x: was rewritten while it was read; do not change a file that is being read";
  held_->files["held://x"] = {"12345", "two"};
  EXPECT_EQ(ErrorOf([&] { file->CheckUnchanged(); }), rewritten);
  held_->files["held://x"] = {"123456", "one"};
  EXPECT_EQ(ErrorOf([&] { file->CheckUnchanged(); }), rewritten);
  held_->files.clear();
  EXPECT_EQ(ErrorOf([&] { file->CheckUnchanged(); }),
            "4 held://x: is gone since it was opened: No such file or directory");
}

TEST_F(MountedFilesTest, AreFoundByTheLongestPrefixAlone) {
  held_->files["held://x"] = {"outer", ""};
  const auto inner = std::make_shared<HeldFiles>();
  inner->files["held://in/x"] = {"inner", ""};
  Lend();
  Mount of_inner;
  ASSERT_TRUE(Mount::Make("held://in/", inner, options_, &of_inner).ok());
  EXPECT_EQ(AllOf(*OpenHeld("held://x"), 5), "outer");
  const auto kept = OpenHeld("held://in/x");
  EXPECT_EQ(ErrorOf([] { OpenHeld("held://none"); }),
            "4 held://none: cannot be opened: No such file or directory");
  std::string error;
  Mount again;
  inner->files["held://x"] = {"over it", ""};
  ASSERT_TRUE(Mount::Make("held://", inner, options_, &again).ok());
  EXPECT_EQ(AllOf(*OpenHeld("held://x"), 7), "over it");
  again = Mount();
  EXPECT_EQ(AllOf(*OpenHeld("held://x"), 5), "outer");
  EXPECT_EQ(Mount::Make("/tmp/", inner, options_, &again, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "/tmp/: the prefix of a file system has to have \"://\" in it");
  of_inner = Mount();
  EXPECT_EQ(ErrorOf([] { OpenHeld("held://in/x"); }),
            "4 held://in/x: cannot be opened: No such file or directory");
  EXPECT_EQ(AllOf(*kept, 5), "inner");  // what is open keeps its file system
}

TEST_F(MountedFilesTest, LeadNowhereElse) {
  held_->files["held://d/x"] = {"bytes", ""};
  Lend();
  EXPECT_EQ(ErrorOf([] { OpenHeld("held://d/../../etc/passwd"); }),
            "3 held://d/../../etc/passwd: has a \"..\"");
  EXPECT_EQ(ErrorOf([] { OpenHeld("held://d"); }),
            "5 held://d: is a directory; name one of its files");
}

TEST_F(MountedFilesTest, AreConvertedAsADirectory) {
  const std::string first = RowsFile({{"a", std::vector<float>(3'000'000, 1.5F)}});
  const std::string second = RowsFile({{"b", {1, 2, 3}}});
  held_->files["held://m/model-00001-of-00002.safetensors"] = {first, "1"};
  held_->files["held://m/model-00002-of-00002.safetensors"] = {second, "1"};
  held_->files["held://m/model.safetensors.index.json"] = {
      R"({"metadata":{},"weight_map":{"a":"model-00001-of-00002.safetensors",)"
      R"("b":"model-00002-of-00002.safetensors"}})",
      "1"};
  held_->files["held://m/config.json"] = {R"({"torch_dtype":"float32"})", "1"};
  held_->files["held://m/texts/vocabulary.txt"] = {"one two", "1"};
  Lend();
  convert::Request request;
  request.files = {{"held://m", Path("out")}};
  request.to = DataType::kFloat16;
  std::string error;
  convert::ConversionPlan plan;
  ASSERT_TRUE(convert::ConversionPlan::Make(request, {}, &plan, &error).ok()) << error;
  ASSERT_TRUE(convert::RunConversion(plan, {}, false, nullptr, &error).ok()) << error;
  EXPECT_EQ(ReadBytes(Path("out/texts/vocabulary.txt")), "one two");
  EXPECT_EQ(ReadBytes(Path("out/config.json")), R"({"torch_dtype":"float16"})");
  const std::string made = ReadBytes(Path("out/model-00001-of-00002.safetensors"));
  EXPECT_EQ(made.substr(made.size() - 4), std::string("\x00\x3E\x00\x3E", 4));  // 1.5 twice
  EXPECT_EQ(ReadBytes(Path("out/model-00002-of-00002.safetensors")).size() % 2, 0u);

  // A shard or a configuration that changes while it runs: nothing is made.
  for (const char* const name : {"held://m/model-00002-of-00002.safetensors",
                                 "held://m/config.json", "held://m/texts/vocabulary.txt"}) {
    request.files = {{"held://m", Path("other")}};
    ASSERT_TRUE(convert::ConversionPlan::Make(request, {}, &plan, &error).ok()) << error;
    std::atomic<bool> done = false;
    held_->fault = [&](const HeldFiles::Call& call) {
      if (call.path == "held://m/model-00001-of-00002.safetensors" && call.bytes > kMiB &&
          !done.exchange(true)) {
        held_->files[name].version += '+';
      }
    };
    EXPECT_EQ(convert::RunConversion(plan, {}, false, nullptr, &error).code(),
              StatusCode::kFileError);
    EXPECT_EQ(error, std::string(name) +
                         ": was rewritten while it was read; do not change a file that is being "
                         "read");
    EXPECT_FALSE(std::filesystem::exists(Path("other")));
    held_->fault = [](const HeldFiles::Call&) {};
  }
}

TEST_F(MountedFilesTest, NamesThatAreNoneHereAreNotCopied) {
  held_->files["held://m/model.safetensors"] = {RowsFile({{"a", {1}}}), "1"};
  held_->files["held://m/good.txt"] = {"x", "1"};
  class Lying final : public FileSystem {
   public:
    explicit Lying(std::shared_ptr<HeldFiles> held) : held_(std::move(held)) {}
    std::optional<FileEntry> Find(const std::string& path, bool anew) override {
      return held_->Find(path, anew);
    }
    std::vector<FileEntry> List(const std::string& path) override {
      std::vector<FileEntry> list = held_->List(path);
      for (const char* const name : {"..", "../up.txt", "", "/etc/passwd"}) {
        list.push_back({name, false, 1, ""});
      }
      return list;
    }
    void Read(const std::string& path, const FileEntry& file, std::uint64_t offset,
              std::span<std::byte> out) override {
      held_->Read(path, file, offset, out);
    }

   private:
    std::shared_ptr<HeldFiles> held_;
  };
  ASSERT_TRUE(Mount::Make("held://", std::make_shared<Lying>(held_), options_, &mount_).ok());
  const checkpoint::CheckpointReader reader("held://m", {});
  const checkpoint::OtherFiles others = checkpoint::FindOtherFiles(reader);
  EXPECT_EQ(others.copied, std::vector<std::string>{"good.txt"});
  EXPECT_EQ(others.left_out.size(), 4u);
}

// Under the thread sanitizer too (tests/threads).
class MountedFilesThreads : public MountedFilesTest {};

TEST_F(MountedFilesThreads, ReadTheSameFilesAtOnce) {
  const std::string bytes = NoisyBytes(6 * kMiB);
  held_->files["held://x"] = {bytes, ""};
  held_->files["held://y"] = {bytes, ""};
  options_.range_bytes = 200'000;
  options_.buffer_bytes = 1'000'000;
  std::atomic<unsigned> calls = 0;
  held_->fault = [&](const HeldFiles::Call&) {
    if (++calls % 5 == 0) throw std::runtime_error("reset by peer");
  };
  options_.tries = 20;
  Lend();
  const auto x = OpenHeld("held://x"), y = OpenHeld("held://y");
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const files::ByteSource& file = t % 2 == 0 ? *x : *y;
      // Chunks in turn, as the threads of a conversion take them.
      for (std::size_t begin = t / 2 * 150'000; begin < bytes.size(); begin += 450'000) {
        std::string got(std::min<std::size_t>(150'000, bytes.size() - begin), '\0');
        file.Read(begin, std::as_writable_bytes(std::span(got)));
        if (got != std::string_view(bytes).substr(begin, got.size())) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(MountedFilesThreads, EndWithTheMount) {
  held_->files["held://x"] = {std::string(64 * kMiB, 'x'), ""};
  held_->fault = [](const HeldFiles::Call& call) {
    if (call.offset > 4 * kMiB) throw std::runtime_error("nothing comes");
  };
  options_.first_pause = std::chrono::seconds(100);
  Lend();
  const auto file = OpenHeld("held://x");
  std::string out(3 * kMiB, '\0');
  file->Read(0, std::as_writable_bytes(std::span(out)));  // and what is behind it, which fails
  const auto begun = std::chrono::steady_clock::now();
  mount_ = Mount();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(50));
}

}  // namespace
}  // namespace tensorcast::io

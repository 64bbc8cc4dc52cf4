// Sizes that a short test cannot write: data beyond 4 GiB in a sparse file, and headers at the
// format's limit in bounded memory.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_files.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENSORCAST_TEST_SANITIZED 1
#endif

namespace tensorcast::io {
namespace {

using LargeFile = FileTest;

TEST_F(LargeFile, ReadsBeyondFourGibibytes) {
  const std::uint64_t first = (std::uint64_t{5} << 30) + 3;
  const std::string header = R"({"a":{"dtype":"U8","shape":[)" + std::to_string(first) +
                             R"(],"data_offsets":[0,)" + std::to_string(first) +
                             R"(]},"b":{"dtype":"U8","shape":[4],"data_offsets":[)" +
                             std::to_string(first) + ',' + std::to_string(first + 4) + "]}}";
  const std::string path = Path("x.safetensors");
  WriteBytes(path, Safetensors(header));
  const std::uint64_t data = 8 + header.size();
  std::filesystem::resize_file(path, data + first);
  {
    std::ofstream file(path, std::ios::binary | std::ios::app);
    file << "tail";
  }
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  EXPECT_EQ(reader->contents().tensors[0].bytes, first);
  EXPECT_EQ(ReadTensor(*reader, 1), "tail");
  std::string end(8, 'x');
  reader->Read(0, first - 8, std::as_writable_bytes(std::span(end)));
  EXPECT_EQ(end, std::string(8, '\0'));
}

TEST_F(LargeFile, ReadsNpyBeyondFourGibibytes) {
  const std::uint64_t n = (std::uint64_t{5} << 28) + 1;
  const std::string path = Path("x.npy");
  WriteBytes(path, Npy(NpyDict(">f4", '(' + std::to_string(n) + ",)")));
  std::filesystem::resize_file(path, 128 + 4 * (n - 1));
  {
    std::ofstream file(path, std::ios::binary | std::ios::app);
    file << "abcd";
  }
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  std::string end(8, 'x');
  reader->Read(0, 4 * n - 8, std::as_writable_bytes(std::span(end)));
  EXPECT_EQ(end, std::string(4, '\0') + "dcba");
}

// ------------------------------------------------------------------------------------ memory

// Peak resident memory, in bytes, that `body` adds in a process of its own.
template <class Function> std::uint64_t PeakOf(Function body) {
  int result[2];
  if (pipe(result) != 0) return UINT64_MAX;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    // The peak that the fork inherits is forgotten.
    std::ofstream("/proc/self/clear_refs") << '5';
    const auto peak = [] {
      std::ifstream status("/proc/self/status");
      std::uint64_t kibibytes = 0;
      for (std::string word; status >> word;) {
        if (word == "VmHWM:") status >> kibibytes;
      }
      return kibibytes * 1024;
    };
    const std::uint64_t before = peak();
    body();
    const std::uint64_t used = peak() - before;
    const bool sent = write(result[1], &used, sizeof used) == sizeof used;
    _exit(sent && !::testing::Test::HasFailure() ? 0 : 1);
  }
  close(result[1]);
  std::uint64_t used = UINT64_MAX;
  if (read(result[0], &used, sizeof used) != sizeof used) used = UINT64_MAX;
  close(result[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return used;
}

// What the whole program may take beside this is counted in 256 MiB.
constexpr std::uint64_t kTimesHeader = 4;
constexpr std::uint64_t kBeside = std::uint64_t{64} << 20;

class HeaderMemory : public FileTest {
 protected:
  void Check(const std::string& header, const std::string& expected) {
#if defined(TENSORCAST_TEST_SANITIZED)
    GTEST_SKIP() << "sanitizers have their own memory";
#endif
    const std::string path = Path("x.safetensors");
    WriteBytes(path, Safetensors(header));
    const std::uint64_t used = PeakOf(
        [&] { EXPECT_EQ(ReplaceAll(ErrorOf([&] { Open(path); }), path, "FILE"), expected); });
    std::printf("header %zu bytes, peak %llu bytes\n", header.size(),
                static_cast<unsigned long long>(used));
    EXPECT_LT(used, kTimesHeader * header.size() + kBeside);
  }
};

constexpr std::size_t kLargest = 100'000'000;

TEST_F(HeaderMemory, OfManySmallEntries) {
  std::string header;
  header.reserve(kLargest);
  header += '{';
  for (std::uint64_t i = 0; header.size() < kLargest - 100; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  Check(header + '}', "no error");
}

TEST_F(HeaderMemory, OfManyDimensions) {
  const std::string shape = '[' + ReplaceAll(std::string(63, '0'), "0", "0,") + "0]";
  std::string header;
  header.reserve(kLargest);
  header += '{';
  for (std::uint64_t i = 0; header.size() < kLargest - 300; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":)" + shape +
              R"(,"data_offsets":[0,0]})";
  }
  Check(header + '}', "no error");
}

TEST_F(HeaderMemory, OfOneLongName) {
  const std::string name(kLargest - 100, 'n');
  Check("{\"" + name + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "no error");
}

TEST_F(HeaderMemory, OfOneLongMetadataValue) {
  Check(R"({"__metadata__":{"k":")" + std::string(kLargest - 100, 'v') + "\"}}", "no error");
}

TEST_F(HeaderMemory, OfOneLongNumber) {
  Check("{\"a\":" + std::string(kLargest - 100, '9') + "}",
        "3 FILE: the header has a number of more than 100 digits at offset 113; expected whole "
        "numbers from 0 to 2^64 - 1");
}

TEST_F(HeaderMemory, OfDeepNesting) {
  Check("{\"a\":" + std::string(kLargest - 100, '['),
        "3 FILE: tensor \"a\" is an array; expected an object with dtype, shape and data_offsets");
}

// A writer's list is the caller's; what it adds is its layout.
TEST_F(HeaderMemory, OfWriting) {
#if defined(TENSORCAST_TEST_SANITIZED)
  GTEST_SKIP() << "sanitizers have their own memory";
#endif
  formats::FileContents contents;
  for (int i = 0; i < 700'000; ++i) {
    contents.tensors.push_back(Tensor("layers." + std::to_string(i), DataType::kInt4, {3, 1}));
  }
  const std::string path = Path("x.safetensors");
  const std::uint64_t bytes = formats::CheckTensorFile(path, contents, {});
  const std::uint64_t header = bytes - 2 * contents.tensors.size();
  const std::uint64_t used = PeakOf([&] { formats::CheckTensorFile(path, contents, {}); });
  std::printf("header %llu bytes, peak %llu bytes\n", static_cast<unsigned long long>(header),
              static_cast<unsigned long long>(used));
  EXPECT_LT(used, kTimesHeader * header + kBeside);
}

TEST_F(HeaderMemory, OfSpaces) { Check("{}" + std::string(kLargest - 2, ' '), "no error"); }

}  // namespace
}  // namespace tensorcast::io

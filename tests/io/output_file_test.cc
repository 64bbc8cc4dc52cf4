// What the world can do to an output: it exists, it is the input, the disk is full, the process is
// killed. Nothing incomplete ever stands under the final name.
//
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "test_files.h"

namespace tensorcast::io {
namespace {

class OutputTest : public FileTest {
 protected:
  static formats::FileContents Bytes(std::uint64_t n) {
    formats::FileContents contents;
    contents.tensors = {Tensor("a", DataType::kUint8, {n})};
    return contents;
  }

  // Both ways to ask say the same, and leave the directory as it was.
  std::string Refusal(const std::string& path, const files::CreateOptions& options = {},
                      std::uint64_t bytes = 4) const {
    const std::vector<std::string> before = Names();
    const std::string error =
        ErrorOf([&] { formats::CreateTensorFile(path, Bytes(bytes), options); });
    EXPECT_EQ(ErrorOf([&] { formats::CheckTensorFile(path, Bytes(bytes), options); }), error);
    EXPECT_EQ(Names(), before);
    return ReplaceAll(error, directory(), "DIR");
  }

  static void WriteWhole(const std::string& path, std::string_view data,
                         const files::CreateOptions& options = {}) {
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, Bytes(data.size()), options);
    WriteTensor(*writer, 0, data);
    writer->Commit();
  }

  static struct stat StatusOf(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status;
  }

  // The names of temporary files, their random digits as ########.
  std::vector<std::string> Temporaries() const {
    std::vector<std::string> found;
    for (std::string name : Names()) {
      const std::size_t mark = name.find(".tensorcast-");
      if (mark == std::string::npos) continue;
      name.replace(mark + 12, 8, "########");
      found.push_back(name);
    }
    return found;
  }
};

TEST_F(OutputTest, StandsUnderItsNameOnlyWhenCommitted) {
  const std::string path = Path("x.safetensors");
  const std::uint64_t expected = formats::CheckTensorFile(path, Bytes(4), {});
  {
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, Bytes(4), {});
    EXPECT_EQ(writer->file_bytes(), expected);
    WriteTensor(*writer, 0, "1234");
    EXPECT_EQ(Temporaries(), std::vector<std::string>{".x.safetensors.tensorcast-########.tmp"});
    EXPECT_EQ(Names().size(), 1u);
  }
  EXPECT_TRUE(Names().empty());
  WriteWhole(path, "1234");
  EXPECT_EQ(Names(), std::vector<std::string>{"x.safetensors"});
  EXPECT_EQ(std::filesystem::file_size(path), expected);
  EXPECT_EQ(ReadTensor(*Open(path), 0), "1234");
}

// What is written last, and what is written again after its part of the file has gone to the disk.
TEST_F(OutputTest, LargeOutputsHoldWhatWasWrittenLast) {
  constexpr std::size_t kSize = (std::size_t{9} << 20) + 5, kPiece = 700'001;
  const std::string path = Path("x.safetensors");
  std::string expected(kSize, '\0');
  for (std::size_t i = 0; i < kSize; ++i) expected[i] = static_cast<char>(i * 2654435761u >> 24);
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, Bytes(kSize), {});
  const auto write = [&](std::size_t begin, char mask) {
    std::string piece = expected.substr(begin, kPiece);
    for (char& byte : piece) byte = static_cast<char>(byte ^ mask);
    writer->Write(0, begin, std::as_bytes(std::span(piece)));
  };
  for (const char mask : {'\x5A', '\0'}) {
    for (std::size_t begin = 0; begin < kSize; begin += 2 * kPiece) write(begin, mask);
    for (std::size_t begin = kPiece; begin < kSize; begin += 2 * kPiece) write(begin, mask);
  }
  writer->Commit();
  EXPECT_TRUE(ReadTensor(*Open(path), 0) == expected);
}

TEST_F(OutputTest, RemovesWhatItWroteWhenTheJobThrows) {
  try {
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(Path("x.npy"), Bytes(4), {});
    WriteTensor(*writer, 0, "12");
    throw std::runtime_error("interrupted");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(Names().empty());
}

TEST_F(OutputTest, DoesNotReplaceUnlessAsked) {
  const std::string path = Path("x.npy");
  WriteBytes(path, "precious");
  EXPECT_EQ(Refusal(path), "2 DIR/x.npy: the output exists; name another file, or replace it");
  EXPECT_EQ(ReadBytes(path), "precious");
  WriteWhole(path, "1234", {.overwrite = true, .inputs = {}});
  EXPECT_EQ(ReadTensor(*Open(path), 0), "1234");
}

TEST_F(OutputTest, DoesNotReplaceWhatAppearsMeanwhile) {
  const std::string path = Path("x.npy");
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, Bytes(4), {});
  WriteTensor(*writer, 0, "1234");
  WriteBytes(path, "another run's");
  EXPECT_EQ(ErrorOf([&] { writer->Commit(); }),
            "2 " + path +
                ": the output appeared while it was written; name another file, or "
                "replace it");
  EXPECT_EQ(ReadBytes(path), "another run's");
}

TEST_F(OutputTest, IsNeverTheInputByAnyName) {
  const std::string input = Path("in.npy");
  WriteBytes(input, "input");
  std::filesystem::create_symlink("in.npy", Path("soft.npy"));
  std::filesystem::create_hard_link(input, Path("hard.npy"));
  std::filesystem::create_directory(Path("sub"));
  std::filesystem::create_directory_symlink(".", Path("here"));
  const std::string tail = ": the output is the input DIR/in.npy; name another file";
  for (const std::string name :
       {"in.npy", "./in.npy", "sub/../in.npy", "here/in.npy", "soft.npy", "hard.npy"}) {
    for (const bool overwrite : {false, true}) {
      EXPECT_EQ(Refusal(Path(name), {.overwrite = overwrite, .inputs = {input}}),
                "2 DIR/" + name + tail);
    }
  }
  // The input may be the link, and it may be one of several.
  EXPECT_EQ(Refusal(input, {.overwrite = true, .inputs = {Path("other"), Path("soft.npy")}}),
            "2 DIR/in.npy: the output is the input DIR/soft.npy; name another file");
  // A relative path to the same file.
  const std::filesystem::path old = std::filesystem::current_path();
  std::filesystem::current_path(directory());
  EXPECT_EQ(Refusal("in.npy", {.overwrite = true, .inputs = {input}}), "2 in.npy" + tail);
  std::filesystem::current_path(old);
  EXPECT_EQ(ReadBytes(input), "input");
}

TEST_F(OutputTest, IsAFile) {
  std::filesystem::create_directory(Path("d.npy"));
  const files::CreateOptions force{.overwrite = true, .inputs = {}};
  EXPECT_EQ(Refusal(Path("d.npy"), force), "2 DIR/d.npy: the output is a directory; name a file");
  std::filesystem::create_directory_symlink("d.npy", Path("l.npy"));
  EXPECT_EQ(Refusal(Path("l.npy"), force), "2 DIR/l.npy: the output is a directory; name a file");
  std::filesystem::create_symlink("/dev/null", Path("null.npy"));
  EXPECT_EQ(Refusal(Path("null.npy"), force),
            "2 DIR/null.npy: the output is a device; name a file");
  ASSERT_EQ(mkfifo(Path("pipe.npy").c_str(), 0600), 0);
  EXPECT_EQ(Refusal(Path("pipe.npy"), force), "2 DIR/pipe.npy: the output is a pipe; name a file");
  EXPECT_EQ(Refusal(std::string("a\0.npy", 6)), "2 a\\x00.npy: a path holds no NUL byte");
}

TEST_F(OutputTest, SaysThatItsDirectoryIsMissing) {
  EXPECT_EQ(Refusal(Path("none/x.npy")),
            "4 DIR/none/x.npy: its directory DIR/none cannot be used: No such file or directory");
  WriteBytes(Path("file"), "");
  EXPECT_EQ(Refusal(Path("file/x.npy")), "4 DIR/file/x.npy: cannot be accessed: Not a directory");
}

TEST_F(OutputTest, SymbolicLinksAreReplacedNotFollowed) {
  std::filesystem::create_symlink("nowhere", Path("dangling.npy"));
  EXPECT_EQ(Refusal(Path("dangling.npy")),
            "2 DIR/dangling.npy: the output exists (a symbolic link to nothing); name another "
            "file, or replace it");
  WriteWhole(Path("dangling.npy"), "1234", {.overwrite = true, .inputs = {}});
  EXPECT_EQ(Names(), std::vector<std::string>{"dangling.npy"});
  EXPECT_FALSE(std::filesystem::is_symlink(Path("dangling.npy")));

  // As in a cache of blobs: what the link leads to belongs to others.
  WriteBytes(Path("blob"), "shared");
  std::filesystem::create_symlink("blob", Path("link.npy"));
  WriteWhole(Path("link.npy"), "1234", {.overwrite = true, .inputs = {}});
  EXPECT_EQ(ReadBytes(Path("blob")), "shared");
  EXPECT_EQ(ReadTensor(*Open(Path("link.npy")), 0), "1234");
}

TEST_F(OutputTest, PermissionsAreThoseOfTheUmask) {
  for (const mode_t mask : {022, 027, 077}) {
    const mode_t old = umask(mask);
    WriteWhole(Path("x.npy"), "1");
    umask(old);
    EXPECT_EQ(StatusOf(Path("x.npy")).st_mode & 07777, 0666 & ~mask);
    std::filesystem::remove(Path("x.npy"));
  }
}

TEST_F(OutputTest, LetsOthersDoNoMoreThanItsInputs) {
  struct Row {
    mode_t first, second, output;  // inputs, and what is made of both
  };
  constexpr Row kRows[] = {{0600, 0666, 0600}, {0666, 0600, 0600}, {0640, 0644, 0640},
                           {0640, 0604, 0600}, {0444, 0777, 0644}, {0000, 0666, 0600},
                           {0755, 0755, 0644}};
  const mode_t old = umask(022);
  for (const std::string name : {"x.npy", "x.npz", "x.pb", "x.safetensors"}) {
    for (const Row& row : kRows) {
      WriteBytes(Path("first"), "");
      WriteBytes(Path("second"), "");
      ASSERT_EQ(chmod(Path("first").c_str(), row.first), 0);
      ASSERT_EQ(chmod(Path("second").c_str(), row.second), 0);
      const std::unique_ptr<formats::TensorWriter> writer = formats::CreateTensorFile(
          Path(name), Bytes(4), {.overwrite = true, .inputs = {Path("first"), Path("second")}});
      ASSERT_EQ(Temporaries().size(), 1u);
      EXPECT_EQ(StatusOf(Path(Names()[0])).st_mode & 07777, row.output) << name;
      WriteTensor(*writer, 0, "1234");
      writer->Commit();
      EXPECT_EQ(StatusOf(Path(name)).st_mode & 07777, row.output) << name;
      std::filesystem::remove(Path(name));
    }
  }
  // Nothing is known of an input that is gone, nor may another group what the input's may.
  WriteWhole(Path("gone.npy"), "1234", {.overwrite = false, .inputs = {Path("none")}});
  EXPECT_EQ(StatusOf(Path("gone.npy")).st_mode & 07777, 0600u);
  ASSERT_EQ(chmod(Path("first").c_str(), 0664), 0);
  if (chown(Path("first").c_str(), static_cast<uid_t>(-1), 54321) == 0) {
    umask(002);
    WriteWhole(Path("group.npy"), "1234", {.overwrite = false, .inputs = {Path("first")}});
    EXPECT_EQ(StatusOf(Path("group.npy")).st_mode & 07777, 0644u);
    // Where the directory hands on that group, it is the same.
    std::filesystem::create_directory(Path("shared"));
    ASSERT_EQ(chown(Path("shared").c_str(), static_cast<uid_t>(-1), 54321), 0);
    ASSERT_EQ(chmod(Path("shared").c_str(), 02775), 0);
    WriteWhole(Path("shared/x.npy"), "1234", {.overwrite = false, .inputs = {Path("first")}});
    EXPECT_EQ(StatusOf(Path("shared/x.npy")).st_mode & 07777, 0664u);
  }
  umask(old);
}

TEST_F(OutputTest, KeepsThePermissionsOfWhatItReplaces) {
  const std::string path = Path("x.npy");
  const mode_t old = umask(022);
  for (const mode_t mode : {0600, 0640, 0664, 0666, 0755, 0444, 0000}) {
    WriteBytes(path, "old");
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, Bytes(4), {.overwrite = true, .inputs = {}});
    // Nor does the unfinished file let anybody else in.
    ASSERT_EQ(Temporaries().size(), 1u);
    EXPECT_EQ(StatusOf(Path(Names()[0])).st_mode & 07777, mode | 0600);
    WriteTensor(*writer, 0, "1234");
    writer->Commit();
    EXPECT_EQ(StatusOf(path).st_mode & 07777, mode);
    std::filesystem::remove(path);
  }
  umask(old);
}

TEST_F(OutputTest, KeepsTheOwnerOfWhatItReplacesWhereItMay) {
  const std::string path = Path("x.npy");
  WriteBytes(path, "old");
  if (chown(path.c_str(), 12345, 54321) != 0) GTEST_SKIP() << "this user may not give files away";
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  WriteWhole(path, "1234", {.overwrite = true, .inputs = {}});
  EXPECT_EQ(StatusOf(path).st_uid, 12345u);
  EXPECT_EQ(StatusOf(path).st_gid, 54321u);
  EXPECT_EQ(StatusOf(path).st_mode & 07777, 0640u);

  // One who may not: the old group's permissions are not another group's.
  ASSERT_EQ(chmod(directory().c_str(), 0777), 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(11111) != 0 || setuid(11111) != 0) _exit(2);
    WriteWhole(path, "1234", {.overwrite = true, .inputs = {}});
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(StatusOf(path).st_uid, 11111u);
  EXPECT_EQ(StatusOf(path).st_gid, 11111u);
  EXPECT_EQ(StatusOf(path).st_mode & 07777, 0600u);
}

// What a process prints whose standard streams are closed does not land in its files.
TEST_F(OutputTest, IsNeverAStandardStream) {
  const std::string path = Path("x.npy"), input = Path("in.npy");
  WriteWhole(input, "abcd");
  WriteWhole(Path("expected.npy"), "1234");
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(stream);
    const std::shared_ptr<const formats::TensorReader> reader = Open(input);
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, Bytes(4), {});
    WriteTensor(*writer, 0, "1234");
    int landed = 0;
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      landed += write(stream, "text", 4) >= 0 ? 1 : 0;
    }
    writer->Commit();
    _exit(landed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ReadBytes(path), ReadBytes(Path("expected.npy")));
}

TEST_F(OutputTest, LongNamesHaveRoomForTheTemporaryOne) {
  const std::string name = std::string(251, 'n') + ".npy";
  WriteWhole(Path(name), "1234");
  EXPECT_EQ(Names(), std::vector<std::string>{name});
}

// ------------------------------------------------------------------------------- full disks

TEST_F(OutputTest, SaysBeforehandThatTheDiskHasNoRoom) {
  const std::string path = Path("x.npy");
  const formats::FileContents contents = Bytes(std::uint64_t{1} << 61);
  for (const std::string& error :
       {ErrorOf([&] { formats::CheckTensorFile(path, contents, {}); }),
        ErrorOf([&] { formats::CreateTensorFile(path, contents, {}); })}) {
    EXPECT_TRUE(error.starts_with("4 " + path + ": the output takes 2305843009213694080 bytes, " +
                                  "and its disk has "))
        << error;
    EXPECT_TRUE(error.ends_with(" free; free some room, or write to another disk")) << error;
  }
  EXPECT_TRUE(Names().empty());
}

TEST_F(OutputTest, KnowsTheLimitOnFiles) {
  struct rlimit old {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  struct rlimit small = old;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = Refusal(Path("x.npy"), {}, 4096);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_EQ(error,
            "4 DIR/x.npy: the output takes 4224 bytes, and files are limited to 4096; raise "
            "the limit (ulimit -f)");
}

TEST_F(OutputTest, FailedWritesLeaveNothing) {
  const std::string path = Path("x.npy");
  struct rlimit old {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  struct rlimit small = old;
  small.rlim_cur = 4096;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, Bytes(10'000), {});
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string error = ErrorOf([&] { WriteTensor(*writer, 0, std::string(10'000, 'x')); });
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
    EXPECT_EQ(error, "4 " + path +
                         ": cannot be written at offset 4096: File too large; raise the "
                         "limit on the size of files (ulimit -f), or write to a file "
                         "system that holds larger files");
  }
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(Names().empty());
}

// A file system of 64 KiB, where the test may mount one. In a child: the mount is its own.
TEST_F(OutputTest, FullDisk) {
  constexpr int kCannotMount = 77;
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", directory().c_str(), "tmpfs", 0, "size=64k,nr_inodes=3") != 0) {
      _exit(kCannotMount);
    }
    const std::string path = Path("x.npy");
    // More than there is: said beforehand.
    EXPECT_EQ(Refusal(path, {}, 100'000),
              "4 DIR/x.npy: the output takes 100128 bytes, and its disk has 65536 free; free some "
              "room, or write to another disk");
    // Enough when looked at, taken by another before it is reserved.
    {
      const std::unique_ptr<formats::TensorWriter> writer =
          formats::CreateTensorFile(path, Bytes(40'000), {});
      EXPECT_EQ(Refusal(Path("y.npy"), {}, 40'000).substr(0, 45),
                "4 DIR/y.npy: the output takes 40128 bytes, an");
    }
    EXPECT_TRUE(Names().empty());
    // No inode left: the directory takes one, two files the others.
    WriteBytes(Path("1"), "");
    WriteBytes(Path("2"), "");
    EXPECT_EQ(ReplaceAll(ErrorOf([&] { formats::CreateTensorFile(path, Bytes(1), {}); }),
                         directory(), "DIR"),
              "4 DIR/x.npy: cannot be created in DIR: No space left on device; free some room, or "
              "write to another disk");
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "this user may not mount a tmpfs";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// ------------------------------------------------------------------------------------ kills

// Runs `body` in a child, which is then killed.
template <class Function> void KilledAfter(Function body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(OutputTest, KilledWhileWriting) {
  const std::string path = Path("x.npy");
  for (const std::size_t written : {0, 1, 3, 4}) {
    KilledAfter([&] {
      const std::unique_ptr<formats::TensorWriter> writer =
          formats::CreateTensorFile(path, Bytes(4), {});
      WriteTensor(*writer, 0, std::string_view("1234").substr(0, written));
      kill(getpid(), SIGKILL);
    });
    EXPECT_EQ(Temporaries(), std::vector<std::string>{".x.npy.tensorcast-########.tmp"});
    ASSERT_EQ(Names().size(), 1u);
    const std::string stale = Path(Names()[0]);
    // The next run of the same output removes it and says so; one of another output does not.
    formats::CreateTensorFile(Path("y.npy"), Bytes(4), {});
    formats::CheckTensorFile(path, Bytes(4), {});
    EXPECT_EQ(Temporaries().size(), 1u);
    const std::unique_ptr<formats::TensorWriter> writer =
        formats::CreateTensorFile(path, Bytes(4), {});
    EXPECT_EQ(writer->notes(),
              std::vector<std::string>{"removed " + stale + ", left by a run that was killed"});
    EXPECT_FALSE(std::filesystem::exists(stale));
  }
  KilledAfter([&] { WriteWhole(path, "1234"); });
  EXPECT_EQ(Names(), std::vector<std::string>{"x.npy"});
  EXPECT_EQ(ReadTensor(*Open(path), 0), "1234");
}

// Killed at any moment: the final name holds all or nothing.
TEST_F(OutputTest, KilledAtAnyMoment) {
  const std::string path = Path("x.safetensors");
  const std::string data(200'000, 'x');
  int complete = 0;
  for (int i = 0; i < 60; ++i) {
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      WriteWhole(path, data, {.overwrite = true, .inputs = {}});
      _exit(0);
    }
    usleep(static_cast<useconds_t>(i * 100));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (!std::filesystem::exists(path)) continue;
    ++complete;
    EXPECT_EQ(ReadTensor(*Open(path), 0), data);
    std::filesystem::remove(path);
  }
  RecordProperty("complete", complete);
  WriteWhole(path, data);
  EXPECT_EQ(Names(), std::vector<std::string>{"x.safetensors"});
}

TEST_F(OutputTest, LeavesTheTemporaryFileOfALivingRun) {
  const std::string path = Path("x.npy");
  const std::unique_ptr<formats::TensorWriter> first =
      formats::CreateTensorFile(path, Bytes(4), {});
  WriteTensor(*first, 0, "1111");
  const std::unique_ptr<formats::TensorWriter> second =
      formats::CreateTensorFile(path, Bytes(4), {});
  EXPECT_TRUE(second->notes().empty());
  EXPECT_EQ(Temporaries().size(), 2u);
  WriteTensor(*second, 0, "2222");
  first->Commit();
  EXPECT_NE(ErrorOf([&] { second->Commit(); }), "no error");
  EXPECT_EQ(ReadTensor(*Open(path), 0), "1111");
}

TEST_F(OutputTest, RemovesOnlyWhatIsItsOwn) {
  const std::vector<std::string> others = {
      ".x.npy.tensorcast-0123456.tmp", ".x.npy.tensorcast-0123456G.tmp",
      ".x.npy.tensorcast-01234567.temp", ".xx.npy.tensorcast-01234567.tmp",
      "x.npy.tensorcast-01234567.tmp"};
  for (const std::string& name : others) WriteBytes(Path(name), "");
  WriteBytes(Path("target"), "");
  std::filesystem::create_symlink("target", Path(".x.npy.tensorcast-00000000.tmp"));
  std::filesystem::create_directory(Path(".x.npy.tensorcast-0000000.tmp"));
  const std::vector<std::string> before = Names();
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(Path("x.npy"), Bytes(1), {});
  EXPECT_TRUE(writer->notes().empty());
  EXPECT_EQ(Names().size(), before.size() + 1);
}

}  // namespace
}  // namespace tensorcast::io

// npz: what is read of what other programs write, and exactly which bytes are written.
//
// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include <zlib.h>

#include "zip_bytes.h"

namespace tensorcast::io {
namespace {

using NpzFile = FileTest;

const std::string kStoredArray = Npy(NpyDict("<f4", "(2,)"), "12345678");  // 136 bytes

// A local header as numpy writes it: the sizes in a ZIP64 extra field.
ZipEntry NumpyEntry(const std::string& name, const std::string& content) {
  ZipEntry entry(name, content);
  entry.local_size = entry.local_packed_size = UINT32_MAX;
  entry.local_extra = LittleEndian(1, 2) + LittleEndian(16, 2) + LittleEndian(content.size(), 8) +
                      LittleEndian(content.size(), 8);
  return entry;
}

TEST_F(NpzFile, ReadsTheMembersInTheOrderOfTheDirectory) {
  const std::string path = Path("x.npz");
  ZipEntry deflated("a/b.npy", kStoredArray);
  deflated.Deflate(DeflateStored(kStoredArray));
  const std::string other = Npy(NpyDict(">i2", "(1, 2)", "True"), "abcd");
  WriteBytes(path, Zip({NumpyEntry("z.npy", kStoredArray), deflated,
                        NumpyEntry("caf\u00e9.npy", other), ZipEntry(".npy", kStoredArray)}));
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  EXPECT_EQ(TensorNames(*reader), (std::vector<std::string>{"z", "a/b", "caf\u00e9", ""}));
  EXPECT_EQ(ReadTensor(*reader, "z"), "12345678");
  EXPECT_EQ(ReadTensor(*reader, "a/b"), "12345678");
  EXPECT_EQ(ReadTensor(*reader, "caf\u00e9"), "badc");
  const formats::TensorInfo& info = reader->contents().tensors[2];
  EXPECT_EQ(info.type, DataType::kInt16);
  EXPECT_EQ(info.shape, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_TRUE(info.fortran_order);
}

TEST_F(NpzFile, ReadsAnEmptyArchive) {
  const std::string path = Path("model.bin");
  WriteBytes(path, Zip({}));
  EXPECT_TRUE(Open(path)->contents().tensors.empty());
  WriteBytes(path, Zip({}, {.comment = "of no member"}));
  EXPECT_TRUE(Open(path)->contents().tensors.empty());
}

TEST_F(NpzFile, ReadsWhatOtherProgramsWrite) {
  const std::string path = Path("x.npz");
  // Sizes after the data, for a writer that cannot go back; gaps; comments; ZIP64's end record.
  ZipEntry streamed("s.npy", kStoredArray);
  streamed.Deflate(DeflateStored(kStoredArray));
  streamed.flags = 8;
  streamed.local_crc = streamed.local_size = streamed.local_packed_size = 0;
  streamed.after = "PK\x07\x08" + LittleEndian(streamed.crc, 4) + LittleEndian(141, 4) +
                   LittleEndian(136, 4) + "a gap";
  ZipEntry wide("w.npy", kStoredArray);
  wide.comment = "PK\x05\x06";
  wide.size = wide.packed_size = UINT32_MAX;
  wide.local_size = wide.local_packed_size = 136;
  wide.central_extra = LittleEndian(0x5455, 2) + LittleEndian(1, 2) + "t" + LittleEndian(1, 2) +
                       LittleEndian(16, 2) + LittleEndian(136, 8) + LittleEndian(136, 8);
  const std::string narrow = Zip({streamed, wide});
  const std::uint64_t begin = narrow.find("PK\x01\x02");
  const std::uint64_t end = narrow.rfind("PK\x05\x06");
  const std::string records = "PK\x06\x06" + LittleEndian(44, 8) + LittleEndian(45, 2) +
                              LittleEndian(45, 2) + LittleEndian(0, 8) + LittleEndian(2, 8) +
                              LittleEndian(2, 8) + LittleEndian(end - begin, 8) +
                              LittleEndian(begin, 8) + "PK\x06\x07" + LittleEndian(0, 4) +
                              LittleEndian(end, 8) + LittleEndian(1, 4);
  for (const std::string& bytes :
       {narrow, Zip({streamed, wide}, {.comment = "PK\x05\x06 a comment that looks like an end"}),
        Zip({streamed, wide},
            {.directory_bytes = UINT32_MAX, .directory_begin = UINT32_MAX, .before = records})}) {
    WriteBytes(path, bytes);
    const std::shared_ptr<const formats::TensorReader> reader = Open(path);
    EXPECT_EQ(ReadTensor(*reader, "s"), "12345678");
    EXPECT_EQ(ReadTensor(*reader, "w"), "12345678");
  }
}

TEST_F(NpzFile, AssumesATypeWhereItFits) {
  const std::string path = Path("x.npz");
  const auto open = [&](DataType type) {
    return checkpoint::OpenTensorFile(path, {.assume_type = type}).reader;
  };
  WriteBytes(path, Zip({ZipEntry("one.npy", Npy(NpyDict("|V1", "(2,)"), "ab")),
                        ZipEntry("two.npy", Npy(NpyDict("<V2", "(1,)"), "ab")),
                        ZipEntry("also.npy", Npy(NpyDict("<V2", "(1,)"), "cd")),
                        ZipEntry("f.npy", kStoredArray)}));
  const std::shared_ptr<const formats::TensorReader> reader = open(DataType::kInt4);
  EXPECT_EQ(reader->contents().tensors[0].type, DataType::kInt4);
  EXPECT_EQ(reader->contents().tensors[1].type, DataType::kBfloat16);
  EXPECT_EQ(reader->contents().tensors[3].type, DataType::kFloat32);
  EXPECT_EQ(reader->notes(),
            (std::vector<std::string>{
                path + ": dtype \"|V1\" is read as int4, as assumed",
                path + ": dtype \"<V2\" is read as bfloat16; another type can be assumed"}));
  WriteBytes(path, Zip({ZipEntry("f.npy", kStoredArray)}));
  EXPECT_EQ(
      ErrorOf([&] { open(DataType::kInt4); }),
      "2 " + path +
          ": has no member that the assumed type int4 fits; it is for |V1, <V2 and <f1, which "
          "do not name their type");
}

TEST_F(NpzFile, InflatesForSeveralThreadsAndAgain) {
  const std::string path = Path("x.npz");
  std::vector<ZipEntry> entries;
  for (int i = 0; i < 100; ++i) {  // more than are kept inflated
    ZipEntry entry(std::to_string(i) + ".npy",
                   Npy(NpyDict("|u1", "(8,)"), LittleEndian(static_cast<std::uint64_t>(i), 8)));
    entry.Deflate(DeflateStored(entry.packed));
    entries.push_back(entry);
  }
  WriteBytes(path, Zip(entries));
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 400; ++i) {
        const auto tensor = static_cast<std::size_t>((i * 7 + t * 13) % 100);
        EXPECT_EQ(ReadTensor(*reader, tensor), LittleEndian(tensor, 8));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NpzFile, WritesExactlyTheseBytes) {
  const std::string path = Path("x.npz");
  formats::FileContents contents;
  contents.tensors = {Tensor("w", DataType::kFloat32, {2}),
                      Tensor("\u00e9/x", DataType::kInt4, {3})};
  const std::unique_ptr<formats::TensorWriter> writer =
      formats::CreateTensorFile(path, contents, {});
  WriteTensor(*writer, 1, "\x21\x03");
  writer->Write(0, 4, std::as_bytes(std::span("5678", 4)));
  writer->Write(0, 0, std::as_bytes(std::span("1234", 4)));
  writer->Commit();

  const std::string second = Npy(NpyDict("<V1", "(3,)"), "\x01\x02\x03");
  const auto local = [](std::uint64_t flags, const std::string& name, const std::string& content,
                        std::uint64_t padding) {
    return "PK\x03\x04" + LittleEndian(45, 2) + LittleEndian(flags, 2) + LittleEndian(0, 4) +
           LittleEndian(33, 2) + LittleEndian(Crc32(content), 4) + LittleEndian(UINT32_MAX, 4) +
           LittleEndian(UINT32_MAX, 4) + LittleEndian(name.size(), 2) +
           LittleEndian(20 + padding, 2) + name + LittleEndian(1, 2) + LittleEndian(16, 2) +
           LittleEndian(content.size(), 8) + LittleEndian(content.size(), 8) +
           LittleEndian(0xD935, 2) + LittleEndian(padding - 4, 2) + LittleEndian(64, 2) +
           std::string(padding - 6, '\0') + content;
  };
  const auto central = [](std::uint64_t flags, const std::string& name, const std::string& content,
                          std::uint64_t offset) {
    return "PK\x01\x02" + LittleEndian(3 << 8 | 45, 2) + LittleEndian(45, 2) +
           LittleEndian(flags, 2) + LittleEndian(0, 4) + LittleEndian(33, 2) +
           LittleEndian(Crc32(content), 4) + LittleEndian(content.size(), 4) +
           LittleEndian(content.size(), 4) + LittleEndian(name.size(), 2) + LittleEndian(0, 8) +
           LittleEndian(0600u << 16, 4) + LittleEndian(offset, 4) + name;
  };
  // 30 + 5 + 20 = 55 needs 9 to 64; 200 + 30 + 8 + 20 = 258 needs 62 to 320.
  const std::string first = local(0, "w.npy", kStoredArray, 9);
  ASSERT_EQ(first.size(), 200u);
  const std::string members = first + local(0x800, "\u00e9/x.npy", second, 62);
  const std::string directory =
      central(0, "w.npy", kStoredArray, 0) + central(0x800, "\u00e9/x.npy", second, 200);
  EXPECT_EQ(ReadBytes(path), members + directory + "PK\x05\x06" + LittleEndian(0, 4) +
                                 LittleEndian(2, 2) + LittleEndian(2, 2) +
                                 LittleEndian(directory.size(), 4) +
                                 LittleEndian(members.size(), 4) + LittleEndian(0, 2));
  EXPECT_EQ(writer->reading_hint(), "numpy.load('" + path + "')['\u00e9/x'].view(ml_dtypes.int4)");
}

TEST_F(NpzFile, RefusesWhatAnArchiveDoesNotHold) {
  const std::string path = Path("x.npz");
  const auto error = [&](const std::vector<std::string>& names) {
    formats::FileContents contents;
    for (const std::string& name : names) {
      contents.tensors.push_back(Tensor(name, DataType::kInt8, {1}));
    }
    const std::string text = ErrorOf([&] { formats::CreateTensorFile(path, contents, {}); });
    EXPECT_EQ(ErrorOf([&] { formats::CheckTensorFile(path, contents, {}); }), text);
    return ReplaceAll(text, path, "FILE");
  };
  EXPECT_EQ(error({"a", "b", "a"}), "2 FILE: tensor \"a\" would be in the file twice");
  EXPECT_EQ(error({"/a"}),
            "5 FILE: tensor \"/a\" cannot be a member of an archive: a name that is an absolute "
            "path");
  EXPECT_EQ(error({"a/../b"}),
            "5 FILE: tensor \"a/../b\" cannot be a member of an archive: a name that leads out of "
            "its directory");
  EXPECT_EQ(error({std::string("a\0", 2)}),
            "5 FILE: tensor \"a\\x00\" cannot be a member of an archive: a name with a NUL byte");
  EXPECT_EQ(error({"\xff"}),
            "5 FILE: tensor \"\\xFF\" has a name that is not UTF-8, as .npz needs it");
  EXPECT_TRUE(error({std::string(65'533, 'a')})
                  .ends_with("cannot be a member of an archive: a name of more than 65535 bytes"));
  EXPECT_TRUE(Names().empty());
}

TEST_F(NpzFile, SaysThatMetadataIsLost) {
  formats::FileContents contents;
  contents.metadata["format"] = "pt";
  const std::string path = Path("x.npz");
  EXPECT_EQ(formats::CreateTensorFile(path, contents, {})->notes(),
            std::vector<std::string>{path + ": the input's __metadata__ has no place in .npz"});
}

// A member of more than 4 GiB, nearly all of it a hole in the file, and one that begins beyond.
TEST_F(NpzFile, ReadsBeyondFourGibibytes) {
  const std::string path = Path("x.npz");
  const std::uint64_t n = (std::uint64_t{5} << 30) + 3;
  const std::string header = Npy(NpyDict("|u1", '(' + std::to_string(n) + ",)"));
  const std::uint64_t size = header.size() + n;
  const auto wide = [](std::initializer_list<std::uint64_t> values) {
    std::string extra = LittleEndian(1, 2) + LittleEndian(8 * values.size(), 2);
    for (const std::uint64_t value : values) extra += LittleEndian(value, 8);
    return extra;
  };
  ZipEntry first("a.npy", header);
  // Of n zeros, put together from runs of 2^k.
  uLong zero = crc32_z(0, reinterpret_cast<const Bytef*>(""), 1);
  for (std::uint64_t run = 1; run <= n; run *= 2) {
    if ((n & run) != 0) {
      first.crc =
          static_cast<std::uint32_t>(crc32_combine(first.crc, zero, static_cast<z_off_t>(run)));
    }
    zero = crc32_combine(zero, zero, static_cast<z_off_t>(run));
  }
  first.size = first.packed_size = UINT32_MAX;
  first.local_extra = first.central_extra = wide({size, size});
  ZipEntry second = NumpyEntry("b.npy", kStoredArray);
  const std::string whole = Zip({first, second});
  const std::uint64_t hole = whole.find(header) + header.size();
  const std::uint64_t directory = whole.find("PK\x01\x02");
  second.offset = UINT32_MAX;
  second.central_extra = wide({hole + n});
  const std::string entries = Zip({first, second});
  const std::string tail = entries.substr(directory, entries.rfind("PK\x05\x06") - directory);
  const std::uint64_t begin = directory + n;
  WriteBytes(path, whole.substr(0, hole));
  std::filesystem::resize_file(path, hole + n);
  {
    std::ofstream file(path, std::ios::binary | std::ios::app);
    file << whole.substr(hole, directory - hole) << tail << "PK\x06\x06" << LittleEndian(44, 8)
         << LittleEndian(45, 2) << LittleEndian(45, 2) << LittleEndian(0, 8) << LittleEndian(2, 8)
         << LittleEndian(2, 8) << LittleEndian(tail.size(), 8) << LittleEndian(begin, 8)
         << "PK\x06\x07" << LittleEndian(0, 4) << LittleEndian(begin + tail.size(), 8)
         << LittleEndian(1, 4) << "PK\x05\x06" << LittleEndian(0, 4) << LittleEndian(2, 2)
         << LittleEndian(2, 2) << LittleEndian(tail.size(), 4) << LittleEndian(UINT32_MAX, 4)
         << LittleEndian(0, 2);
  }
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  ASSERT_EQ(reader->contents().tensors.size(), 2u);
  EXPECT_EQ(reader->contents().tensors[0].bytes, n);
  std::string end(4, 'x');
  reader->Read(0, n - 4, std::as_writable_bytes(std::span(end)));
  EXPECT_EQ(end, std::string(4, '\0'));
  EXPECT_EQ(ReadTensor(*reader, 1), "12345678");
}

// One flipped bit, which a cast would have written with a checksum that is right.
TEST_F(NpzFile, ReadingAWholeMemberCanBeInterrupted) {
  const std::string array = Npy(NpyDict("|u1", "(3,)"), "abc");
  ZipEntry deflated("d.npy", array);
  WriteBytes(Path("x.npz"),
             Zip({deflated.Deflate(DeflateStored(array)), ZipEntry("s.npy", array)}));
  std::atomic<bool> interrupted = false;
  formats::OpenOptions options;
  options.interrupted = std::make_shared<files::CurrentInterrupt>(&interrupted);
  const std::shared_ptr<const formats::TensorReader> reader =
      checkpoint::OpenTensorFile(Path("x.npz"), options).reader;
  interrupted = true;
  EXPECT_THROW(ReadTensor(*reader, 0), files::Interrupted);
  EXPECT_THROW(ReadTensor(*reader, 1), files::Interrupted);
  interrupted = false;  // and nothing is left half done
  EXPECT_EQ(ReadTensor(*reader, 0), "abc");
  EXPECT_EQ(ReadTensor(*reader, 1), "abc");
}

TEST_F(NpzFile, ADamagedStoredMemberIsNotRead) {
  const std::string path = Path("x.npz");
  std::string whole = Zip({NumpyEntry("a.npy", kStoredArray), NumpyEntry("b.npy", kStoredArray)});
  whole[whole.find("12345678") + 3] ^= 1;
  WriteBytes(path, whole);
  const std::shared_ptr<const formats::TensorReader> reader = Open(path);
  EXPECT_EQ(ReadTensor(*reader, 1), "12345678");
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(ErrorOf([&] { ReadTensor(*reader, 0); }),
              "3 " + path +
                  ": member \"a.npy\" does not have the CRC-32 that the central directory states; "
                  "it is damaged");
  }
}

}  // namespace
}  // namespace tensorcast::io

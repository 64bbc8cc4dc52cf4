// npz archives that lie: each refused in one line, whose words are all here.
//
// SPDX-License-Identifier: Apache-2.0
#include "zip_bytes.h"

namespace tensorcast::io {
namespace {

using NpzBadInput = FileTest;

const std::string kArray = Npy(NpyDict("<f4", "(2,)"), "12345678");  // 136 bytes

// An entry changed by a function, alone in an archive or with what the end record says.
template <class Function> std::string With(Function change, const ZipEnd& end = {}) {
  ZipEntry entry("w.npy", kArray);
  change(entry);
  return Zip({entry}, end);
}

std::string WithName(const std::string& name) { return Zip({ZipEntry(name, kArray)}); }

std::vector<BadFile> Structure() {
  return {
      {"a head and nothing", "PK\x03\x04",
       "3 FILE: has no end record of a ZIP archive; the file is cut short, or is not an archive"},
      {"bytes after the end", Zip({ZipEntry("w.npy", kArray)}) + "x",
       "3 FILE: has no end record of a ZIP archive; the file is cut short, or is not an archive"},
      {"a directory that begins elsewhere", With([](ZipEntry&) {}, {.directory_begin = 170}),
       "3 FILE: has a central directory of 51 bytes from offset 170, which does not end at its end "
       "record, at 222"},
      {"a directory beyond the file", With([](ZipEntry&) {}, {.directory_begin = 0xFFFFFFF0}),
       "3 FILE: has a central directory of 51 bytes from offset 4294967280, which does not end at "
       "its end record, at 222"},
      {"a hole after the directory", With([](ZipEntry&) {}, {.before = "hole"}),
       "3 FILE: has a central directory of 51 bytes from offset 171, which does not end at its end "
       "record, at 226"},
      {"fewer members than it says", With([](ZipEntry&) {}, {.entries = 2}),
       "3 FILE: has fewer members in its central directory than the 2 of its end record"},
      {"more members than it says",
       Zip({ZipEntry("w.npy", kArray), ZipEntry("v.npy", kArray)}, {.entries = 1}),
       "3 FILE: has more members in its central directory than the 1 of its end record"},
      {"a directory cut short",
       With([](ZipEntry&) {}, {.directory_bytes = 50, .directory_begin = 172}),
       "3 FILE: has no whole entry at offset 172, in its central directory"},
      {"several disks", With([](ZipEntry&) {}, {.disk = 1}),
       "5 FILE: is one disk of a ZIP archive in several; join them first"},
      {"members on other disks", With([](ZipEntry&) {}, {.entries_here = 0}),
       "5 FILE: is one disk of a ZIP archive in several; join them first"},
      {"a member on another disk", With([](ZipEntry& entry) { entry.disk = 3; }),
       "5 FILE: is one disk of a ZIP archive in several; join them first"},
      {"a name twice", Zip({ZipEntry("w.npy", kArray), ZipEntry("w.npy", kArray)}),
       "3 FILE: member \"w.npy\" is in the central directory twice"},
      {"a member inside another",
       Zip({[] {
              ZipEntry outer("w.npy", "PK..");
              outer.packed = Zip({ZipEntry("v.npy", kArray)});
              outer.size = outer.packed_size = outer.packed.size();
              return outer;
            }(),
            [] {
              ZipEntry inner("v.npy", kArray);
              inner.offset = 35;
              return inner;
            }()}),
       "3 FILE: member \"v.npy\" begins at offset 35, inside member \"w.npy\", which ends at 279"},
      {"a member beyond the directory", With([](ZipEntry& entry) { entry.offset = 5000; }),
       "3 FILE: member \"w.npy\" lies at offset 5000 with 136 bytes of data, beyond the central "
       "directory's offset 171"},
      {"data beyond the directory",
       With([](ZipEntry& entry) { entry.packed_size = entry.size = 137; }),
       "3 FILE: member \"w.npy\" lies at offset 0 with 137 bytes of data, beyond the central "
       "directory's offset 171"},
      {"no local header there", With([](ZipEntry& entry) { entry.offset = 4; }),
       "3 FILE: member \"w.npy\" has no local header at offset 4"},
      {"another signature", With([](ZipEntry& entry) { entry.signature = "PK\x03\x05"; }),
       "3 FILE: member \"w.npy\" has no local header at offset 0"},

      // ZIP64.
      {"sizes in an extra field that is not there",
       With([](ZipEntry& entry) { entry.size = entry.packed_size = 0xFFFFFFFF; }),
       "3 FILE: member \"w.npy\" has extra fields that are cut short, in the central directory"},
      {"a size of 2^63 in an extra field", With([](ZipEntry& entry) {
         entry.central_extra = LittleEndian(1, 2) + LittleEndian(16, 2) +
                               LittleEndian(std::uint64_t{1} << 63, 8) +
                               LittleEndian(std::uint64_t{1} << 63, 8);
         entry.size = entry.packed_size = 0xFFFFFFFF;
       }),
       "3 FILE: member \"w.npy\" lies at offset 0 with 9223372036854775808 bytes of data, beyond "
       "the central directory's offset 171"},
      {"an extra field longer than there is",
       With([](ZipEntry& entry) { entry.central_extra = LittleEndian(1, 2) + LittleEndian(9, 2); }),
       "3 FILE: member \"w.npy\" has extra fields that are cut short, in the central directory"},
      {"half an extra field", With([](ZipEntry& entry) { entry.local_extra = "abc"; }),
       "3 FILE: member \"w.npy\" has extra fields that are cut short, in its local header"},
      {"a locator that points nowhere",
       With([](ZipEntry&) {},
            {.before = "PK\x06\x07" + LittleEndian(0, 4) + LittleEndian(std::uint64_t{1} << 60, 8) +
                       LittleEndian(1, 4)}),
       "3 FILE: gives its ZIP64 end record the offset 1152921504606846976, where there is no room "
       "for it"},
      {"a locator to something else",
       With([](ZipEntry&) {}, {.before = "PK\x06\x07" + LittleEndian(0, 4) + LittleEndian(9, 8) +
                                         LittleEndian(1, 4)}),
       "3 FILE: has no ZIP64 end record at offset 9, where its locator says it is"},
      {"two end records that differ",
       With([](ZipEntry&) {},
            {.before = "PK\x06\x06" + LittleEndian(44, 8) + LittleEndian(45, 2) +
                       LittleEndian(45, 2) + LittleEndian(0, 8) + LittleEndian(7, 8) +
                       LittleEndian(7, 8) + LittleEndian(51, 8) + LittleEndian(171, 8) +
                       "PK\x06\x07" + LittleEndian(0, 4) + LittleEndian(222, 8) +
                       LittleEndian(1, 4)}),
       "3 FILE: has two end records, ZIP64's and the older, that do not agree"},
      {"a million members",
       With([](ZipEntry&) {},
            {.entries = 0xFFFF,
             .before = "PK\x06\x06" + LittleEndian(44, 8) + LittleEndian(45, 2) +
                       LittleEndian(45, 2) + LittleEndian(0, 8) + LittleEndian(1'000'000, 8) +
                       LittleEndian(1'000'000, 8) + LittleEndian(51, 8) + LittleEndian(171, 8) +
                       "PK\x06\x07" + LittleEndian(0, 4) + LittleEndian(222, 8) +
                       LittleEndian(1, 4)}),
       "3 FILE: has 1000000 members in a directory of 51 bytes; at most 200000 and 16777216 are "
       "read"},
  };
}

std::vector<BadFile> Headers() {
  const auto differs = [](const std::string& what) {
    return "3 FILE: member \"w.npy\" has another " + what +
           " in its local header, at offset 0, than in the central directory";
  };
  return {
      {"another name", With([](ZipEntry& entry) { entry.local_name = "x.npy"; }), differs("name")},
      {"another method", With([](ZipEntry& entry) { entry.local_method = 8; }), differs("method")},
      {"other flags", With([](ZipEntry& entry) { entry.local_flags = 2; }),
       differs("set of flags")},
      {"another CRC", With([](ZipEntry& entry) { entry.local_crc = 1; }), differs("CRC-32")},
      {"another size", With([](ZipEntry& entry) { entry.local_size = 135; }), differs("size")},
      {"another compressed size", With([](ZipEntry& entry) { entry.local_packed_size = 1; }),
       differs("compressed size")},
      {"sizes after the data, but others", With([](ZipEntry& entry) {
         entry.flags = 8;
         entry.local_size = 1;
       }),
       differs("size")},
      {"encrypted", With([](ZipEntry& entry) { entry.flags = 1; }),
       "5 FILE: member \"w.npy\" is encrypted; decrypt it first"},
      {"bzip2", With([](ZipEntry& entry) { entry.method = 12; }),
       "5 FILE: member \"w.npy\" is compressed by method 12 (bzip2); stored and deflated members "
       "are read"},
      {"an unknown method", With([](ZipEntry& entry) { entry.method = 77; }),
       "5 FILE: member \"w.npy\" is compressed by method 77; stored and deflated members are read"},
      {"a patch", With([](ZipEntry& entry) { entry.flags = 32; }),
       "5 FILE: member \"w.npy\" is a patch of another file, which is not read"},
      {"stored in fewer bytes than it has", With([](ZipEntry& entry) { entry.packed_size = 100; }),
       "3 FILE: member \"w.npy\" is stored, but takes 100 bytes for 136"},

      // Names.
      {"no name", WithName(""), "3 FILE: member \"\" has a name of no character"},
      {"a NUL", WithName(std::string("a\0.npy", 6)),
       "3 FILE: member \"a\\x00.npy\" has a name with a NUL byte"},
      {"absolute", WithName("/etc/x.npy"),
       "3 FILE: member \"/etc/x.npy\" has a name that is an absolute path"},
      {"up", WithName("a/../../x.npy"),
       "3 FILE: member \"a/../../x.npy\" has a name that leads out of its directory"},
      {"up on another system", WithName("..\\x.npy"),
       "3 FILE: member \"..\\x.npy\" has a name that leads out of its directory"},
      {"no array", WithName("notes.txt"),
       "5 FILE: member \"notes.txt\" is not an .npy file; an .npz archive holds nothing else"},
      {"steering the terminal", WithName("\x1b[2J\n"),
       "5 FILE: member \"\\x1B[2J\\x0A\" is not an .npy file; an .npz archive holds nothing else"},

      // What is in the member.
      {"an object array", Zip({ZipEntry("o.npy", Npy(NpyDict("|O", "(1,)"), "1"))}),
       "5 FILE: o.npy: has the dtype \"|O\": it is an object array, which is a pickle and could "
       "run "
       "code; it is never read"},
      {"another size than the array's", Zip({ZipEntry("w.npy", kArray + "x")}),
       "3 FILE: w.npy: has 2 elements of <f4, 8 bytes, from offset 128, and 1 byte after them; "
       "expected none"},
      {"no array in it", Zip({ZipEntry("w.npy", "hello")}),
       "3 FILE: w.npy: does not begin with \\x93NUMPY, as an npy file does"},
      {"a type that is not said", Zip({ZipEntry("w.npy", Npy(NpyDict("|V1", "(1,)"), "1"))}),
       "2 FILE: w.npy: has the dtype \"|V1\": elements of one byte without a type, which may be "
       "float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float8e8m0, float6e2m3, "
       "float6e3m2, float4e2m1, int4, uint4, int2, uint2"},
  };
}

// Deflated members; what only inflating finds is found when the tensor is read.
std::vector<BadFile> Streams() {
  const std::string stream = DeflateStored(kArray);
  const auto with = [&](auto change) {
    return With([&](ZipEntry& entry) {
      entry.Deflate(stream);
      change(entry);
    });
  };
  return {
      {"a bomb", with([](ZipEntry& entry) { entry.size = 147'000; }),
       "3 FILE: member \"w.npy\" would give 147000 bytes from 141; deflate cannot do more than "
       "1032 for one"},
      {"a size that the array has not", with([](ZipEntry& entry) { entry.size = 137; }),
       "3 FILE: w.npy: has 2 elements of <f4, 8 bytes, from offset 128, and 1 byte after them; "
       "expected none"},
      {"no stream", with([](ZipEntry& entry) { entry.packed[0] = 7; }),
       "3 FILE: member \"w.npy\" has damaged deflated data before offset 36 (invalid block type)"},
      {"a stream that ends in the header",
       with([](ZipEntry& entry) { entry.Deflate(DeflateStored(kArray.substr(0, 100))); }),
       "3 FILE: member \"w.npy\" holds 100 bytes; the central directory says 136"},
      {"a stream that ends early",
       with([](ZipEntry& entry) { entry.Deflate(DeflateStored(kArray.substr(0, 135))); }),
       "3 FILE: member \"w.npy\" holds 135 bytes; the central directory says 136"},
      {"a stream that is cut",
       with([&](ZipEntry& entry) { entry.Deflate(stream.substr(0, stream.size() - 1)); }),
       "3 FILE: member \"w.npy\" ends in the middle of its deflated data, after 135 of 136 bytes"},
      {"a stream that goes on",
       with([](ZipEntry& entry) { entry.Deflate(DeflateStored(kArray + "x")); }),
       "3 FILE: member \"w.npy\" holds more than the 136 bytes that the central directory says"},
      {"bytes after the stream", with([&](ZipEntry& entry) { entry.Deflate(stream + "abc"); }),
       "3 FILE: member \"w.npy\" has 3 bytes after the end of its deflated data"},
      {"another CRC", with([](ZipEntry& entry) { entry.crc ^= 1; }),
       "3 FILE: member \"w.npy\" does not have the CRC-32 that the central directory states; it is "
       "damaged"},
      {"a changed byte", with([](ZipEntry& entry) { entry.packed.back() = '9'; }),
       "3 FILE: member \"w.npy\" does not have the CRC-32 that the central directory states; it is "
       "damaged"},
  };
}

TEST_F(NpzBadInput, SaysWhatIsWrong) {
  const std::string path = Path("x.npz");
  for (const std::vector<BadFile>& cases : {Structure(), Headers(), Streams()}) {
    for (const BadFile& test : cases) {
      SCOPED_TRACE(test.what);
      WriteBytes(path, test.bytes);
      EXPECT_EQ(ReplaceAll(ErrorOf([&] { ReadTensor(*Open(path), 0); }), path, "FILE"), test.error);
    }
  }
}

TEST_F(NpzBadInput, TruncatedAtEveryByte) {
  ZipEntry deflated("v.npy", kArray);
  deflated.Deflate(DeflateStored(kArray));
  const std::string whole = Zip({ZipEntry("w.npy", kArray), deflated});
  const std::string path = Path("x.npz");
  WriteBytes(path, whole);
  EXPECT_EQ(ReadTensor(*Open(path), 0), "12345678");
  EXPECT_EQ(ReadTensor(*Open(path), 1), "12345678");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    WriteBytes(path, std::string_view(whole).substr(0, size));
    EXPECT_EQ(
        ErrorOf([&] { Open(path); }),
        "3 " + path +
            ": has no end record of a ZIP archive; the file is cut short, or is not an archive")
        << size;
  }
}

TEST_F(NpzBadInput, NeedsAPlaceToInflateTo) {
  ZipEntry deflated("v.npy", kArray);
  deflated.Deflate(DeflateStored(kArray));
  const std::string path = Path("x.npz");
  WriteBytes(path, Zip({deflated}));
  formats::OpenOptions options;
  options.spool = {Path("none"), "; name another"};
  EXPECT_EQ(ErrorOf([&] { ReadTensor(*checkpoint::OpenTensorFile(path, options).reader, 0); }),
            "4 " + path + ": v.npy: needs a temporary file, which cannot be created in " +
                Path("none") + ": No such file or directory; name another");
  options.spool.directory = Path(".");
  EXPECT_EQ(ReadTensor(*checkpoint::OpenTensorFile(path, options).reader, 0), "12345678");
  // Without a directory in memory, whatever the environment says.
  EXPECT_EQ(ReadTensor(*Open(path), 0), "12345678");
}

}  // namespace
}  // namespace tensorcast::io

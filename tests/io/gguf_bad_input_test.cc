// Every way a GGUF file can be wrong, with the words and the kind of the error.
//
// SPDX-License-Identifier: Apache-2.0
#include "gguf_bytes.h"

namespace tensorcast::io {
namespace {

using GgufBadInput = FileTest;

// One float32 tensor "w" of the given dimensions, type and offset, and 128 bytes of data.
std::string OneTensor(const std::vector<std::uint64_t>& dimensions, int type = 0,
                      std::uint64_t offset = 0) {
  return Gguf({.infos = {GgufInfo("w", dimensions, type, offset)}, .data = std::string(128, 'x')});
}
std::string OneKey(const std::string& key) { return Gguf({.keys = {key}}); }
// Counts that lie, in front of nothing.
std::string Counts(std::uint64_t tensors, std::uint64_t keys) {
  return "GGUF" + LittleEndian(3, 4) + LittleEndian(tensors, 8) + LittleEndian(keys, 8);
}

std::vector<BadFile> GgufCases() {
  const std::string data(128, 'x');
  const std::uint64_t huge = std::uint64_t{1} << 62;
  return {
      {"no magic", "GGML....", "3 FILE: does not begin with GGUF, as a GGUF file does"},
      {"version 1", Gguf({.version = 1}),
       "5 FILE: is of GGUF version 1; versions 2 and 3 are read"},
      {"version 4", Gguf({.version = 4}),
       "5 FILE: is of GGUF version 4; versions 2 and 3 are read"},
      {"big-endian", Gguf({.version = 0x03000000}),
       "5 FILE: is a big-endian GGUF file, which is not read; convert it with gguf-py's "
       "gguf_convert_endian.py first"},

      // Counts and lengths.
      {"2^64 - 1 keys", Counts(0, UINT64_MAX),
       "3 FILE: says that it has 18446744073709551615 keys, more than its 24 bytes can hold"},
      {"2^63 tensors", Counts(std::uint64_t{1} << 63, 0),
       "3 FILE: says that it has 9223372036854775808 tensors, more than its 24 bytes can hold"},
      {"more tensors than there is room for behind the keys",
       "GGUF" + LittleEndian(3, 4) + LittleEndian(2, 8) + LittleEndian(1, 8) +
           GgufKey("k", std::string(30, 'x')) + "....",
       "3 FILE: says that it has 2 tensors, more than the 4 bytes behind its keys can hold"},
      {"a key's name of 2^63 bytes",
       Counts(0, 1) + LittleEndian(std::uint64_t{1} << 63, 8) + "......",
       "3 FILE: key 1 of 1 has a string of 9223372036854775808 bytes at offset 24; expected at "
       "most 65535"},
      {"a key's name beyond the end", Counts(0, 1) + LittleEndian(60000, 8) + "......",
       "3 FILE: key 1 of 1 has a string of 60000 bytes at offset 24, but only 6 bytes after it; "
       "the file is cut short"},
      {"a text of 2 GiB", OneKey(GgufText("k") + LittleEndian(8, 4) + LittleEndian(1u << 31, 8)),
       "3 FILE: the key \"k\" has a string of 2147483648 bytes at offset 37; expected at most "
       "1073741824"},
      {"an array of 2^60 bytes", OneKey(GgufArray("k", 0, std::uint64_t{1} << 60, "")),
       "3 FILE: the key \"k\" is an array of 1152921504606846976 elements, more than the file's 64 "
       "bytes can hold"},
      {"an array of 2^61 doubles", OneKey(GgufArray("k", 12, std::uint64_t{1} << 61, "")),
       "3 FILE: the key \"k\" is an array of 2305843009213693952 elements, more than the file's 64 "
       "bytes can hold"},
      {"an array of texts beyond the end",
       OneKey(GgufArray("k", 8, 2, LittleEndian(1000, 8) + "12345678")),
       "3 FILE: the key \"k\" has a string of 1000 bytes at offset 49, but only 39 bytes after it; "
       "the file is cut short"},

      // Keys.
      {"an array of arrays", OneKey(GgufArray("k", 9, 1, GgufArray("", 0, 1, "1"))),
       "5 FILE: the key \"k\" is an array of arrays, which GGUF's readers do not take"},
      {"a value of type 13", OneKey(GgufKey("k", 13, 0, 8)),
       "3 FILE: the key \"k\" has a value of the unknown type 13; expected 0 to 12"},
      {"an array of type -1", OneKey(GgufArray("k", -1, 0, "")),
       "3 FILE: the key \"k\" has an array of the unknown type 4294967295; expected 0 to 12"},
      {"a key without a name", OneKey(GgufKey("", 0, 1, 1)), "3 FILE: key 1 of 1 has no name"},
      {"a key twice", Gguf({.keys = {GgufKey("k", 0, 1, 1), GgufKey("k", "x")}}),
       "3 FILE: the key \"k\" is there twice"},
      {"alignment 3", OneKey(GgufKey("general.alignment", 4, 3, 4)),
       "3 FILE: the key \"general.alignment\" is 3; expected a power of two of 32 bits"},
      {"alignment 0", OneKey(GgufKey("general.alignment", 4, 0, 4)),
       "3 FILE: the key \"general.alignment\" is 0; expected a power of two of 32 bits"},
      {"alignment 2^63", OneKey(GgufKey("general.alignment", 10, std::uint64_t{1} << 63, 8)),
       "3 FILE: the key \"general.alignment\" is 9223372036854775808; expected a power of two of "
       "32 bits"},
      {"alignment -32", OneKey(GgufKey("general.alignment", 5, 0xFFFFFFE0, 4)),
       "3 FILE: the key \"general.alignment\" is -32; expected a whole number"},
      {"alignment 32.0", OneKey(GgufKey("general.alignment", 6, 0x42000000, 4)),
       "3 FILE: the key \"general.alignment\" is 32; expected a whole number"},

      // Tensors.
      {"a name of 128 bytes",
       Gguf({.infos = {GgufInfo(std::string(128, 'n'), {4}, 0, 0)}, .data = data}),
       "3 FILE: tensor 1 of 1 has a string of 128 bytes at offset 24; expected at most 127"},
      {"five dimensions", OneTensor({1, 1, 1, 1, 1}),
       "3 FILE: tensor \"w\" has 5 dimensions; expected at most 4"},
      {"2^32 - 1 dimensions",
       Gguf({.infos = {GgufText("w") + LittleEndian(UINT32_MAX, 4) + std::string(12, 'x')}}),
       "3 FILE: tensor \"w\" has 4294967295 dimensions; expected at most 4"},
      {"type 4", OneTensor({4}, 4),
       "5 FILE: tensor \"w\" is of GGUF's type Q4_2, which llama.cpp removed"},
      {"type 9", OneTensor({32}, 9),
       "5 FILE: tensor \"w\" is of GGUF's type Q8_1, which is not in files"},
      {"type -1", OneTensor({4}, -1),
       "5 FILE: tensor \"w\" is of GGUF's type -1, which is not known"},
      {"a row of a block and a half", OneTensor({48, 2}, 8),
       "3 FILE: tensor \"w\" has the shape [2, 48] of Q8_0, whose rows are blocks of 32 values; "
       "the last dimension is not a multiple of that"},
      {"a scalar of blocks", OneTensor({}, 8),
       "3 FILE: tensor \"w\" has the shape [] of Q8_0, whose rows are blocks of 32 values; the "
       "last dimension is not a multiple of that"},
      {"a product of 2^64", OneTensor({std::uint64_t{1} << 32, std::uint64_t{1} << 32}),
       "3 FILE: tensor \"w\" has the shape [4294967296, 4294967296]: more than 2^63 - 1 elements"},
      {"a product of 2^63", OneTensor({2, huge}),
       "3 FILE: tensor \"w\" has the shape [4611686018427387904, 2]: more than 2^63 - 1 elements"},
      {"a dimension of 2^63 beside one of 0", OneTensor({std::uint64_t{1} << 63, 0}),
       "3 FILE: tensor \"w\" has the shape [0, 9223372036854775808]: more than 2^63 - 1 elements"},
      {"bytes that overflow", OneTensor({huge}),
       "3 FILE: tensor \"w\" has the shape [4611686018427387904] of F32: more than 2^63 - 1 bytes"},
      {"data beyond the end", OneTensor({33}),
       "3 FILE: tensor \"w\" takes 132 bytes from data offset 0 on, but the file has only 128 "
       "bytes of data; it is cut short"},
      {"an offset beyond the end", OneTensor({1}, 0, 125),
       "3 FILE: tensor \"w\" takes 4 bytes from data offset 125 on, but the file has only 128 "
       "bytes of data; it is cut short"},
      {"an offset of 2^64 - 1", OneTensor({1}, 0, UINT64_MAX),
       "3 FILE: tensor \"w\" takes 4 bytes from data offset 18446744073709551615 on, but the file "
       "has only 128 bytes of data; it is cut short"},
      {"a tensor twice",
       Gguf({.infos = {GgufInfo("w", {1}, 0, 0), GgufInfo("w", {1}, 0, 32)}, .data = data}),
       "3 FILE: tensor \"w\" is in the header twice"},
      {"overlapping",
       Gguf({.infos = {GgufInfo("b", {8}, 0, 28), GgufInfo("a", {8}, 0, 0)}, .data = data}),
       "3 FILE: tensor \"b\" begins at offset 124, inside tensor \"a\", which ends at 128"},
      {"the same place",
       Gguf({.infos = {GgufInfo("a", {1}, 0, 64), GgufInfo("b", {1}, 0, 64)}, .data = data}),
       "3 FILE: tensor \"b\" begins at offset 160, inside tensor \"a\", which ends at 164"},
  };
}

TEST_F(GgufBadInput, IsRefusedInOneLine) {
  const std::string path = Path("x.gguf");
  for (const BadFile& bad : GgufCases()) {
    SCOPED_TRACE(bad.what);
    WriteBytes(path, bad.bytes);
    EXPECT_EQ(ReplaceAll(ErrorOf([&] { Open(path); }), path, "FILE"), bad.error);
  }
}

TEST_F(GgufBadInput, TruncatedAtEveryByte) {
  const std::string whole =
      Gguf({.keys = {GgufKey("general.architecture", "x"), GgufKey("general.alignment", 4, 8, 4),
                     GgufArray("a", 8, 2, GgufText("one") + GgufText("two")),
                     GgufArray("n", 6, 3, std::string(12, '\1'))},
            .infos = {GgufInfo("w", {2, 2}, 0, 0), GgufInfo("q", {32}, 8, 16)},
            .data = std::string(16 + 34, 'x'),
            .alignment = 8});
  const std::string path = Path("x.gguf");
  WriteBytes(path, whole);
  EXPECT_EQ(Open(path)->contents().tensors.size(), 2u);
  for (std::size_t size = 4; size < whole.size(); ++size) {
    WriteBytes(path, std::string_view(whole).substr(0, size));
    const std::string error = ErrorOf([&] { Open(path); });
    EXPECT_TRUE(error.starts_with("3 " + path + ": ")) << size << ": " << error;
    EXPECT_TRUE(error.ends_with("cut short") || error.ends_with("can hold"))
        << size << ": " << error;
  }
}

}  // namespace
}  // namespace tensorcast::io

// Which format a file is taken for, what is said of all others, and how text is escaped.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "test_files.h"

namespace tensorcast::io {
namespace {

using FormatChoice = FileTest;

TEST_F(FormatChoice, FirstBytesDecide) {
  const std::string path = Path("model.bin");
  WriteBytes(path, Safetensors("{}"));
  EXPECT_TRUE(Open(path)->contents().tensors.empty());
  WriteBytes(path, Npy(NpyDict("|u1", "(1,)"), "1"));
  EXPECT_EQ(Open(path)->contents().tensors.at(0).name, "model");
  // Also against the name.
  const std::string wrong = Path("model.safetensors");
  WriteBytes(wrong, Npy(NpyDict("|u1", "(1,)"), "1"));
  EXPECT_EQ(Open(wrong)->contents().tensors.at(0).dtype, "|u1");
}

TEST_F(FormatChoice, ThenTheEnding) {
  const std::string path = Path("x.NPY");
  WriteBytes(path, "what");
  EXPECT_EQ(ErrorOf([&] { Open(path); }),
            "3 " + path + ": does not begin with \\x93NUMPY, as an npy file does");
}

TEST_F(FormatChoice, SaysWhatItDoesNotRead) {
  const std::string path = Path("x");
  const auto error = [&](const std::string& bytes) {
    WriteBytes(path, bytes);
    return ReplaceAll(ErrorOf([&] { Open(path); }), path, "FILE");
  };
  const std::string read =
      ".safetensors, .npy, .npz, .pb, .pt, .pth, .bin, .ckpt, .onnx and .gguf files are read";
  EXPECT_EQ(error("?"), "5 FILE: is not in a known format; " + read);
  EXPECT_EQ(error(""), "5 FILE: is not in a known format; " + read);
  EXPECT_EQ(
      error("PK\x03\x04...."),
      "3 FILE: has no end record of a ZIP archive; the file is cut short, or is not an archive");
  EXPECT_EQ(error("version https://git-lfs"),
            "5 FILE: is a Git LFS pointer; fetch the file itself (git lfs pull); " + read);
}

// A pickle begins with 80 02 or 80 04, a gzip file with 1F 8B; so do these.
TEST_F(FormatChoice, TheLengthOfAHeaderIsNoSignature) {
  const std::string path = Path("model.safetensors");
  for (const std::size_t length : {0x0280u, 0x0480u, 0x8B1Fu, 0x10480u}) {
    WriteBytes(path, Safetensors("{}" + std::string(length - 2, ' ')));
    EXPECT_TRUE(Open(path)->contents().tensors.empty()) << length;
    EXPECT_TRUE(Open(directory())->contents().tensors.empty()) << length;
  }
  WriteBytes(path, "\x80\x02}q\x01.");
  EXPECT_EQ(ErrorOf([&] { Open(directory()); }),
            "5 " + path +
                ": is a pickle that torch.save did not write; .safetensors, .npy, .npz, .pb, .pt, "
                ".pth, .bin, .ckpt, .onnx and .gguf files are read");
}

TEST_F(FormatChoice, ReadsRegularFilesOnly) {
  EXPECT_EQ(ErrorOf([&] { Open(directory()); }),
            "5 " + directory() +
                ": has no .safetensors file; name one of its files, or a directory that Hugging "
                "Face's libraries wrote");
  EXPECT_EQ(ErrorOf([&] { Open("/dev/zero"); }),
            "5 /dev/zero: is a device; copy its data into a file first");
  const std::string pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf([&] { Open(pipe); }),
            "5 " + pipe + ": is a pipe; copy its data into a file first");
  EXPECT_EQ(ErrorOf([&] { Open(Path("none\n.npy")); }),
            "4 " + directory() + "/none\\x0A.npy: cannot be opened: No such file or directory");
  EXPECT_EQ(ErrorOf([&] { Open(""); }), "4 \"\": cannot be opened: No such file or directory");
  EXPECT_EQ(ErrorOf([&] { Open(std::string("a\0b", 3)); }), "2 a\\x00b: a path holds no NUL byte");
}

TEST_F(FormatChoice, ReadsThroughLinks) {
  WriteBytes(Path("blob"), Safetensors("{}"));
  std::filesystem::create_symlink("blob", Path("model.safetensors"));
  EXPECT_TRUE(Open(Path("model.safetensors"))->contents().tensors.empty());
}

TEST_F(FormatChoice, WritesByTheEnding) {
  const std::string path = Path("out.pt");
  EXPECT_EQ(ErrorOf([&] { formats::CreateTensorFile(path, {}, {}); }),
            "5 " + path +
                ": .pt files are read, not written; .safetensors, .npy, .npz, .pb, .onnx and .gguf "
                "are written");
  EXPECT_EQ(ErrorOf([&] { formats::CreateTensorFile(Path("out.h5"), {}, {}); }),
            "5 " + Path("out.h5") +
                ": the output's format is not known by its ending; .safetensors, .npy, .npz, .pb, "
                ".onnx and .gguf are written");
  EXPECT_EQ(ErrorOf([&] { formats::CheckTensorFile(path, {}, {}); }),
            ErrorOf([&] { formats::CreateTensorFile(path, {}, {}); }));
  EXPECT_EQ(ErrorOf([&] { formats::CreateTensorFile(Path("out.bin"), {}, {}); }),
            "5 " + Path("out.bin") +
                ": .bin files are read, not written; .safetensors, .npy, .npz, .pb, .onnx and "
                ".gguf are written");
  formats::CreateTensorFile(Path("out.SafeTensors"), {}, {})->Commit();
  EXPECT_EQ(ReadBytes(Path("out.SafeTensors")), Safetensors("{}      "));
}

TEST(Escape, LeavesTextAndShowsTheRest) {
  EXPECT_EQ(words::Escape("layers.0.weight"), "layers.0.weight");
  EXPECT_EQ(words::Escape("caf\u00e9 \u4e2d \U0001F600"), "caf\u00e9 \u4e2d \U0001F600");
  EXPECT_EQ(words::Escape(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(words::Escape("\n\r\t\x1b\x7f"), "\\x0A\\x0D\\x09\\x1B\\x7F");
  EXPECT_EQ(words::Escape("\u0085\u009b"), "\\xC2\\x85\\xC2\\x9B");  // C1: ESC [ in one
  EXPECT_EQ(words::Escape("\u202e\u2066"),
            "\\xE2\\x80\\xAE\\xE2\\x81\\xA6");  // turns what follows round
  // The Arabic letter mark, the zero-width space, the soft hyphen, a line separator.
  EXPECT_EQ(words::Escape("\u061c\u200b\u00ad\u2028"),
            "\\xD8\\x9C\\xE2\\x80\\x8B\\xC2\\xAD\\xE2\\x80\\xA8");
  EXPECT_EQ(words::Escape("\xff\xc0\xaf\xed\xa0\x80"), "\\xFF\\xC0\\xAF\\xED\\xA0\\x80");
  EXPECT_EQ(words::Escape("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
  EXPECT_EQ(words::Escape("\xe2\x82"), "\\xE2\\x82");
}

TEST(Escape, KeepsTheEndsOfALongName) {
  EXPECT_EQ(words::EscapeName("layers.0.weight"), "layers.0.weight");
  EXPECT_EQ(words::EscapeName(std::string(120, 'a')), std::string(120, 'a'));
  EXPECT_EQ(words::EscapeName(std::string(99'999, 'a') + "z"),
            std::string(80, 'a') + "…" + std::string(39, 'a') + "z (100000 bytes)");
  // Cut between characters, of whatever is none too.
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "\u4e2d";
  EXPECT_EQ(words::EscapeName(wide).find("\\x"), std::string::npos);
  EXPECT_LT(words::EscapeName(std::string(100'000, '\x80')).size(), 600u);
}

}  // namespace
}  // namespace tensorcast::io

// Valid files with seeded random damage: each is either refused in one line or read consistently.
// TENSORCAST_MUTATIONS sets how many, TENSORCAST_SEED where they begin.
//
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <random>

#include "gguf_bytes.h"
#include "torch_bytes.h"
#include "wire_bytes.h"
#include "zip_bytes.h"

namespace tensorcast::io {
namespace {

class Mutation : public FileTest {
 protected:
  void Run(const std::vector<std::string>& files, const std::string& ending,
           std::uint64_t least_refused);
};

std::uint64_t Setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Recognised by their ending: TensorProtos with values in each kind of field.
std::vector<std::string> ValidTensorProtos() {
  const std::string head = VarintField(1, 2) + VarintField(1, 3);
  return {
      head + VarintField(2, 5) + BytesField(8, "name") + BytesField(9, "abcdefghijkl") +
          BytesField(16, BytesField(1, "key") + BytesField(2, "value")),
      head + VarintField(2, 3) + BytesField(5, Negative(-5) + "\x01\x02") + VarintField(5, 9) +
          BytesField(5, "\x03\x04") + BytesField(12, "doc"),
      head + VarintField(2, 27) + BytesField(5, "\x01\x02\x03\x04\x05\x06") + BytesField(17, "new"),
      head + VarintField(2, 1) + BytesField(4, "abcdefghijkl") + Tag(4, 5) + "mnop" +
          BytesField(4, "qrstuvwx"),
      BytesField(1, "\x02\x02") + VarintField(2, 8) + BytesField(6, "one") + BytesField(6, "") +
          BytesField(6, "three") + BytesField(8, "text") + BytesField(6, "four"),
  };
}

std::vector<std::string> ValidFiles() {
  return {
      Safetensors(
          R"({"__metadata__":{"format":"pt","tensorcast.types":"{\"p\":{\"dtype\":\"INT4\",)"
          R"(\"shape\":[3,1]}}"},"w.weight":{"dtype":"F32","shape":[2,2],"data_offsets":)"
          R"([0,16]},"h":{"dtype":"BF16","shape":[],"data_offsets":[16,18]},"p":{"dtype":)"
          R"("U8","shape":[2],"data_offsets":[18,20]},"z":{"dtype":"F4","shape":[2,0],)"
          R"("data_offsets":[20,20]},"u":{"dtype":"X1","shape":[7],"data_offsets":[20,23]}} )",
          "abcdefghijklmnopqrstuvw"),
      Npy(NpyDict(">i4", "(3, 2)", "True"), "aaaabbbbccccddddeeeeffff"),
      Npy(NpyDict("<V2", "(5,)"), "aabbccddee"),
      Npy("{'descr': '|V1', 'fortran_order': False, 'shape': (3, 3L), }", "abcdefghi"),
      Npy(NpyDict(">U2", "(3,)"), std::string("\0\0\0A\0\x01\xF6\0\0\0\0B\0\0\0\0"
                                              "\0\0\0\0\0\0\0\0",
                                              24)),
  };
}

// By their content: both kinds of torch's, with a view, a dict in a dict and what is not known.
std::vector<std::string> ValidTorchFiles() {
  const std::string storage = pickle::Storage("ShortStorage", "0", 6);
  const std::string whole = pickle::Whole(pickle::Dict(
      {pickle::Text("args"), pickle::Call(pickle::Global("argparse", "Namespace"), {}),
       pickle::Text("model"),
       pickle::Dict(
           {pickle::Text("a"), pickle::Rebuild(storage, 0, {2, 3}, {3, 1}), pickle::Text("b"),
            pickle::Dict({pickle::Int(7), pickle::Rebuild(storage, 1, {2, 2}, {1, 2})})})}));
  const std::string data = "aabbccddeeff";
  return {
      TorchZip(whole, {{"0", data}}), TorchZip(whole, {{"0", data}}, "big"),
      LegacyTorch(whole, pickle::Whole("](" + pickle::Text("0") + 'e'), LittleEndian(6, 8) + data)};
}

std::vector<std::string> ValidArchives() {
  const std::string numbers = Npy(NpyDict("<i2", "(2, 3)"), "123456789012");
  ZipEntry deflated("a/b.npy", numbers);
  deflated.Deflate(DeflateStored(numbers));
  ZipEntry wide("w.npy", numbers);
  wide.local_size = wide.local_packed_size = UINT32_MAX;
  wide.local_extra = LittleEndian(1, 2) + LittleEndian(16, 2) + LittleEndian(numbers.size(), 8) +
                     LittleEndian(numbers.size(), 8);
  ZipEntry after("s.npy", Npy(NpyDict("<U2", "(2,)"), LittleEndian('a', 8) + LittleEndian('b', 8)));
  after.flags = 8;
  after.local_crc = after.local_size = after.local_packed_size = 0;
  after.after = "PK\x07\x08------------";
  return {Zip({ZipEntry("x.npy", numbers), deflated}), Zip({deflated, wide}, {.comment = "why"}),
          Zip({after, wide})};
}

std::vector<std::string> ValidGgufs() {
  return {
      Gguf({.keys = {GgufKey("general.alignment", 4, 16, 4), GgufKey("a", "text"),
                     GgufArray("b", 8, 2, GgufText("one") + GgufText("two")),
                     GgufArray("c", 5, 2, LittleEndian(7, 8))},
            .infos = {GgufInfo("w", {2, 2}, 0, 0), GgufInfo("q", {32}, 8, 16)},
            .data = std::string(16 + 48, 'x'),
            .alignment = 16}),
      Gguf({.keys = {GgufKey("split.count", 2, 1, 2)},
            .infos = {GgufInfo("e", {0, 3}, 30, 0), GgufInfo("s", {}, 28, 32),
                      GgufInfo("b", {3, 1, 2}, 24, 0)},
            .data = std::string(64, 'y'),
            .version = 2}),
  };
}

// Pieces that are worth putting where they do not belong.
constexpr std::string_view kPieces[] = {"-",
                                        "-0",
                                        "1e2",
                                        "1.0",
                                        "18446744073709551616",
                                        "18446744073709551615",
                                        "4294967296",
                                        "0",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        "\"",
                                        "'",
                                        ",",
                                        ":",
                                        "(",
                                        ")",
                                        "\\",
                                        "\\u0000",
                                        "\\ud800",
                                        "\xff",
                                        "\x1b",
                                        "\n",
                                        "null",
                                        "true",
                                        "True",
                                        "L",
                                        "\"dtype\"",
                                        "\"shape\"",
                                        "F4",
                                        "F6_E2M3",
                                        "INT4",
                                        "U8",
                                        "<V1",
                                        "|O",
                                        "<U4",
                                        "../",
                                        "__metadata__",
                                        "tensorcast.types",
                                        "\x80",
                                        "\x08",
                                        "\x2A",
                                        "\x32",
                                        "\x4A",
                                        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"};

std::string Damaged(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t times = 1 + below(3); times-- > 0 && !bytes.empty();) {
    const std::size_t at = below(bytes.size());
    switch (below(7)) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.erase(at, 1 + below(8)); break;
      case 4: bytes.insert(at, kPieces[below(std::size(kPieces))]); break;
      case 5: {
        const std::string_view piece = kPieces[below(std::size(kPieces))];
        bytes.replace(at, std::min(piece.size(), bytes.size() - at), piece);
        break;
      }
      case 6: bytes.insert(at, bytes.substr(below(bytes.size()), below(60))); break;
    }
  }
  // Half of the archives get an end record that fits again.
  if (bytes.starts_with("PK")) {
    const std::size_t begin = bytes.find("PK\x01\x02");
    const std::size_t end = bytes.rfind("PK\x05\x06");
    if (below(2) == 0 && begin < end && end + 20 <= bytes.size()) {
      bytes.replace(end + 12, 8, LittleEndian(end - begin, 4) + LittleEndian(begin, 4));
    }
    return bytes;
  }
  if (bytes.starts_with("GG")) return bytes;
  // Half of the safetensors files get a length that fits again, so that damage reaches the JSON.
  if (bytes.size() > 8 && bytes[0] != '\x93' && below(2) == 0) {
    const std::size_t end = bytes.rfind('}');
    if (end != std::string::npos && end >= 8) bytes.replace(0, 8, LittleEndian(end + 1 - 8, 8));
  }
  return bytes;
}

// What was accepted must hold together, and all of it must be readable.
void CheckConsistent(const formats::TensorReader& reader) {
  for (std::size_t i = 0; i < reader.contents().tensors.size(); ++i) {
    const formats::TensorInfo& info = reader.contents().tensors[i];
    std::uint64_t elements = 1;
    for (const std::uint64_t n : info.shape) elements *= n;
    EXPECT_EQ(info.elements, elements);
    if (info.type == DataType::kString) {
      EXPECT_EQ(reader.ReadStrings(i, 0, info.elements).view().size(), info.elements);
      continue;
    }
    if (info.type != DataType::kUndefined) {
      EXPECT_EQ(info.bytes, StorageBytes(info.type, info.elements));
    }
    // A view may repeat what the file has once.
    if (info.bytes < 100'000) {
      ReadTensor(reader, i);
    } else {
      std::string some(8, '\0');
      reader.Read(i, info.bytes / 16 * 8, std::as_writable_bytes(std::span(some)));
    }
  }
}

// Damages files of a name's ending; at least one in `least_refused` must be refused.
void Mutation::Run(const std::vector<std::string>& files, const std::string& ending,
                   std::uint64_t least_refused) {
  const std::uint64_t mutations = Setting("TENSORCAST_MUTATIONS", 100'000);
  const std::uint64_t seed = Setting("TENSORCAST_SEED", 1);
  // In memory where there is such a file system: the loop is about parsing, not the disk.
  const std::string path = (std::filesystem::is_directory("/dev/shm")
                                ? "/dev/shm/tensorcast-mutation-" + std::to_string(getpid())
                                : Path("x")) +
                           ending;
  std::uint64_t refused = 0, read = 0;
  for (std::uint64_t i = 0; i < mutations; ++i) {
    std::mt19937_64 random(seed + i);
    const std::string bytes = Damaged(files[i % files.size()], random);
    WriteBytes(path, bytes);
    formats::OpenOptions options;
    if (ending.empty() && i % files.size() == 3) options.assume_type = DataType::kFloat6E2M3;
    try {
      const std::shared_ptr<const formats::TensorReader> reader =
          checkpoint::OpenTensorFile(path, options).reader;
      CheckConsistent(*reader);
      ++read;
    } catch (const files::Error& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(path + ": ")) << text;
      EXPECT_EQ(words::Escape(text), text);  // fit for a terminal, whatever the file holds
      EXPECT_LT(text.size(), 2000u);
      ++refused;
    }
    if (HasFailure()) {
      std::filesystem::copy_file(path, "mutation-failed",
                                 std::filesystem::copy_options::overwrite_existing);
      FAIL() << "seed " << seed + i << ", kept as mutation-failed";
    }
  }
  std::filesystem::remove(path);
  std::printf("%llu refused, %llu read\n", static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(read));
  EXPECT_GT(refused, mutations / least_refused);  // else the damage is none
  EXPECT_GT(read, mutations / 100);               // else nothing gets past the first check
}

TEST_F(Mutation, IsRefusedOrRead) { Run(ValidFiles(), "", 2); }

// Much of a small TensorProto is values, of which every one is right.
TEST_F(Mutation, OfTensorProtosIsRefusedOrRead) { Run(ValidTensorProtos(), ".pb", 4); }

// Most of a small archive is headers, of which nearly every byte counts.
TEST_F(Mutation, OfArchivesIsRefusedOrRead) { Run(ValidArchives(), ".npz", 2); }

// A file that begins as one of these may end as npz's.
TEST_F(Mutation, OfTorchFilesIsRefusedOrRead) { Run(ValidTorchFiles(), ".pt", 2); }

TEST_F(Mutation, OfGgufsIsRefusedOrRead) { Run(ValidGgufs(), ".gguf", 4); }

}  // namespace
}  // namespace tensorcast::io

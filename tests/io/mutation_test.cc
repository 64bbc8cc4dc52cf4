// Valid files with seeded random damage: each is either refused in one line or read consistently.
// TENSORCAST_MUTATIONS sets how many, TENSORCAST_SEED where they begin.
//
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <random>

#include "test_files.h"

namespace tensorcast::io {
namespace {

using Mutation = FileTest;

std::uint64_t Setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
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
                                        "tensorcast.types"};

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
  // Half of the safetensors files get a length that fits again, so that damage reaches the JSON.
  if (bytes.size() > 8 && bytes[0] != '\x93' && below(2) == 0) {
    const std::size_t end = bytes.rfind('}');
    if (end != std::string::npos && end >= 8) bytes.replace(0, 8, LittleEndian(end + 1 - 8, 8));
  }
  return bytes;
}

// What was accepted must hold together, and all of it must be readable.
void CheckConsistent(const TensorReader& reader) {
  for (std::size_t i = 0; i < reader.contents().tensors.size(); ++i) {
    const TensorInfo& info = reader.contents().tensors[i];
    std::uint64_t elements = 1;
    for (const std::uint64_t n : info.shape) elements *= n;
    EXPECT_EQ(info.elements, elements);
    if (info.type != DataType::kUndefined) {
      EXPECT_EQ(info.bytes, StorageBytes(info.type, info.elements));
    }
    ASSERT_LT(info.bytes, 1000u);
    ReadTensor(reader, i);
  }
}

TEST_F(Mutation, IsRefusedOrRead) {
  const std::uint64_t mutations = Setting("TENSORCAST_MUTATIONS", 100'000);
  const std::uint64_t seed = Setting("TENSORCAST_SEED", 1);
  const std::vector<std::string> files = ValidFiles();
  // In memory where there is such a file system: the loop is about parsing, not the disk.
  const std::string path = std::filesystem::is_directory("/dev/shm")
                               ? "/dev/shm/tensorcast-mutation-" + std::to_string(getpid())
                               : Path("x");
  std::uint64_t refused = 0, read = 0;
  for (std::uint64_t i = 0; i < mutations; ++i) {
    std::mt19937_64 random(seed + i);
    const std::string bytes = Damaged(files[i % files.size()], random);
    WriteBytes(path, bytes);
    OpenOptions options;
    if (i % files.size() == 3) options.assume_type = DataType::kFloat6E2M3;
    try {
      const std::unique_ptr<TensorReader> reader = OpenTensorFile(path, options);
      CheckConsistent(*reader);
      ++read;
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(path + ": ")) << text;
      EXPECT_EQ(Escape(text), text);  // fit for a terminal, whatever the file holds
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
  EXPECT_GT(refused, mutations / 2);  // else the damage is none
  EXPECT_GT(read, mutations / 100);   // else nothing gets past the first check
}

}  // namespace
}  // namespace tensorcast::io

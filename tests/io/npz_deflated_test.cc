// Every way in which a deflated member may legally be made is read: all levels, strategies, window
// sizes and flushes of zlib's own writer, sizes around those of the buffers, arrays that compress a
// thousandfold.
//
// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <random>

#include "zip_bytes.h"

namespace tensorcast::io {
namespace {

using NpzDeflated = FileTest;
using Random = std::mt19937;

std::size_t Below(Random& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

// The whole of `bytes` in one raw deflate stream, whose writer pauses and changes as it may.
std::string Deflated(std::string_view bytes, Random& random) {
  const int level = static_cast<int>(Below(random, 11)) - 1;
  const int window = 9 + static_cast<int>(Below(random, 7));
  const int memory = 1 + static_cast<int>(Below(random, 9));
  const int strategies[] = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
  const int flushes[] = {Z_NO_FLUSH, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_BLOCK};
  z_stream state = {};
  EXPECT_EQ(deflateInit2(&state, level, Z_DEFLATED, -window, memory, strategies[Below(random, 5)]),
            Z_OK);
  std::string packed(deflateBound(&state, static_cast<uLong>(bytes.size())) + 4096, '\0');
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  std::size_t left = bytes.size();
  for (std::size_t pauses = Below(random, 4); pauses > 0; --pauses) {
    const std::size_t some = Below(random, left + 1);
    state.avail_in = static_cast<uInt>(some);
    // Z_BUF_ERROR: nothing to do, twice.
    EXPECT_NE(deflate(&state, flushes[Below(random, 5)]), Z_STREAM_ERROR);
    left -= some;
  }
  state.avail_in = static_cast<uInt>(left);
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

// From all zeros, over masks and rows that repeat, to noise that does not compress.
std::string Values(std::size_t size, Random& random) {
  std::string values(size, '\0');
  switch (Below(random, 6)) {
    case 0: break;
    case 1:  // a mask
      for (char& value : values) value = random() % 5000 == 0 ? '\1' : '\0';
      break;
    case 2: {
      const std::size_t period = 1 + Below(random, 400);
      for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<char>(i % period);
      break;
    }
    case 3:  // zeros with noise at the end, where the stream's last bits are
      for (std::size_t i = size - std::min<std::size_t>(size, Below(random, 40)); i < size; ++i) {
        values[i] = static_cast<char>(random());
      }
      break;
    case 4:
      for (char& value : values) value = static_cast<char>(random() % 3);
      break;
    default:
      for (char& value : values) value = static_cast<char>(random());
      break;
  }
  return values;
}

// Small ones, and sizes around the buffers of the archive's reader, of zlib's window and of a
// match.
std::size_t Size(Random& random) {
  constexpr std::size_t kEdges[] = {258, 32 << 10, 64 << 10, 128 << 10, 256 << 10};
  switch (Below(random, 4)) {
    case 0: return Below(random, 300);
    case 1: return Below(random, 40'000);
    case 2: return kEdges[Below(random, 5)] - 128 - std::min<std::size_t>(2, Below(random, 20));
    default: return kEdges[Below(random, 5)] + Below(random, 600) - 129;
  }
}

TEST_F(NpzDeflated, EveryLegalArchiveIsRead) {
  constexpr int kArchives = 400;
  constexpr int kMembers = 5;
  const std::string path = Path("x.npz");
  Random random(20260);
  for (int i = 0; i < kArchives; ++i) {
    std::vector<ZipEntry> entries;
    std::vector<std::string> expected;
    for (int m = 0; m < kMembers; ++m) {
      expected.push_back(Values(Size(random), random));
      const std::string& values = expected.back();
      const std::string file =
          Npy(NpyDict("|u1", '(' + std::to_string(values.size()) + ",)"), values);
      ZipEntry& entry = entries.emplace_back(std::to_string(m) + ".npy", file);
      entry.crc = static_cast<std::uint32_t>(
          crc32(0, reinterpret_cast<const Bytef*>(file.data()), static_cast<uInt>(file.size())));
      entry.Deflate(Deflated(file, random));
    }
    WriteBytes(path, Zip(entries));
    ASSERT_EQ(ErrorOf([&] {
                const std::shared_ptr<const formats::TensorReader> reader = Open(path);
                for (int m = 0; m < kMembers; ++m) {
                  ASSERT_EQ(ReadTensor(*reader, static_cast<std::size_t>(m)), expected[m])
                      << "archive " << i << ", member " << m;
                }
              }),
              "no error")
        << "archive " << i;
  }
}

}  // namespace
}  // namespace tensorcast::io

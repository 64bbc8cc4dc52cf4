// The names of data files, and the digest in them, against the values that xxHash publishes for its
// own test buffer and the Python package xxhash gives.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/store/data_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "files/digest.h"

namespace tensorcast::onnx {
namespace {

// xxHash's test buffer.
std::string TestBytes(std::size_t n) {
  std::string bytes;
  for (std::uint64_t state = 2654435761; bytes.size() < n; state *= 0x9E3779B185EBCA8D) {
    bytes += static_cast<char>(state >> 56);
  }
  return bytes;
}

std::string Digest(const std::string& bytes, std::size_t piece) {
  files::Xxh64 digest;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::size_t n = std::min(piece, bytes.size() - at);
    digest.Add(std::as_bytes(std::span(bytes)).subspan(at, n));
  }
  return digest.Hex();
}

TEST(Xxh64, GivesThePublishedDigests) {
  const struct {
    std::string bytes;
    const char* digest;
  } kDigests[] = {
      {"", "ef46db3751d8e999"},
      {"abc", "44bc2cf5ad770999"},
      {"Nobody inspects the spammish repetition", "fbcea83c8a378bf1"},
      {TestBytes(1), "e934a84adb052768"},
      {TestBytes(4), "9136a0dca57457ee"},
      {TestBytes(8), "cdbcf538e71d1348"},
      {TestBytes(14), "8282dcc4994e35c8"},
      {TestBytes(32), "18b216492bb44b70"},
      {TestBytes(64), "ef558f8acac2b5cd"},
      {TestBytes(222), "b641ae8cb691c174"},
      {TestBytes(2367), "a82418ddec0ea581"},
  };
  for (const auto& row : kDigests) {
    for (const std::size_t piece : {1, 3, 7, 31, 32, 33, 64, 100, 5000}) {
      EXPECT_EQ(Digest(row.bytes, piece), row.digest) << row.bytes.size() << " by " << piece;
    }
  }
}

TEST(DataNames, SayWhoseDataItIs) {
  EXPECT_EQ(DataName("m.onnx"), "m.onnx.data");
  EXPECT_EQ(DataName("m.onnx", "0123456789abcdef"), "m.0123456789abcdef.onnx.data");
  EXPECT_EQ(DataName("m.ONNX", "0123456789abcdef"), "m.0123456789abcdef.ONNX.data");
  EXPECT_EQ(DataName("model", "0123456789abcdef"), "model.0123456789abcdef.data");
  for (const char* const name : {"m.onnx.data", "m.0123456789abcdef.onnx.data"}) {
    EXPECT_TRUE(IsDataName(name, "m.onnx")) << name;
    EXPECT_FALSE(IsDataName(name, "n.onnx")) << name;
    EXPECT_FALSE(IsDataName(name, "mm.onnx")) << name;
  }
  for (const char* const name :
       {"m.data", "m.onnx", "m.0123456789abcde.onnx.data", "m.0123456789ABCDEF.onnx.data",
        "m.0123456789abcdef0.onnx.data", "sub/m.onnx.data", "./m.onnx.data", ""}) {
    EXPECT_FALSE(IsDataName(name, "m.onnx")) << name;
  }
}

}  // namespace
}  // namespace tensorcast::onnx

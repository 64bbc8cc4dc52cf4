// Runs a fuzzer over files, without libFuzzer: replay FUZZER FILE_OR_FOLDER... What the ordinary
// build tests, and what reproduces a finding under a debugger.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzzers.h"

int main(int argc, char** argv) {
  const auto fuzzer = Fuzzers().find(argc > 1 ? argv[1] : "");
  if (fuzzer == Fuzzers().end()) {
    std::fputs("usage: replay FUZZER FILE_OR_FOLDER...; the fuzzers are:", stderr);
    for (const auto& [name, fuzz] : Fuzzers()) std::fprintf(stderr, " %s", name.data());
    std::fputs("\n", stderr);
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (int i = 2; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    std::fputs("replay: no inputs; usage: replay FUZZER FILE_OR_FOLDER...\n", stderr);
    return 2;
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "replay: cannot read %s\n", path.c_str());
      return 2;
    }
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);  // so that the last line names the input that ends the process
    fuzzer->second(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return 0;
}

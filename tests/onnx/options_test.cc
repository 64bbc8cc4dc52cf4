// What each opset's Cast computes: every legal pair of numbers, run and compared with the oracle.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cast_models.h"
#include "oracle/cast.h"
#include "oracle/packing.h"
#include "oracle/types.h"

namespace {

using onnx_test::DataType;
using onnx_test::ModelBytes;
using onnx_test::Parsed;
using onnx_test::Tensor;
using tensorcast::onnx::Contradictions;

// The opset from which on Cast has a type, by ONNX's number.
int FirstOpset(int id) {
  if (id == 16) return 13;
  if (id >= 17 && id <= 20) return 19;
  if (id == 21 || id == 22) return 21;
  if (id == 23) return 23;
  if (id == 24) return 24;
  if (id == 25 || id == 26) return 25;
  if (id == 27 || id == 28) return 28;
  return 1;
}

// semantics.md, section 5: what differs from the defaults.
oracle::Options OptionsAt(int opset, int to, Contradictions contradictions) {
  oracle::Options options;
  options.fnuz_infinity_nan = contradictions == Contradictions::kText && opset >= 19 && opset <= 23;
  options.integer_saturate = opset >= 21 && opset <= 23 && (to == 21 || to == 22);
  options.finite_only_max = opset == 23;
  return options;
}

// All codes of narrow types; of the others those where options and roundings decide.
std::vector<std::uint64_t> Codes(const oracle::Row& row) {
  std::vector<std::uint64_t> codes;
  if (row.bits <= 8) {
    for (std::uint64_t code = 0; code <= row.mask(); ++code) codes.push_back(code);
    if (row.id == 9) codes = {0, 1, 2, 255};
    return codes;
  }
  for (std::uint64_t code = 0; code < 20; ++code) {
    codes.push_back(code);
    codes.push_back(row.mask() - code);
    codes.push_back((row.mask() >> 1) - code);
    codes.push_back((row.mask() >> 1) + 1 + code);
  }
  if (row.floating()) {
    for (const std::uint64_t code : {row.infinity, row.nan, row.largest, row.nan | 1}) {
      codes.push_back(code);
      codes.push_back(code | row.minus);
    }
    // A walk over all exponents, with fractions that are and are not ties.
    for (std::uint64_t i = 0; i < 512; ++i) {
      codes.push_back((i * (row.mask() / 512) + i * i) & row.mask());
      codes.push_back((i << (row.bits - 9)) & row.mask());
    }
  }
  return codes;
}

std::string PackedText(const std::vector<std::uint64_t>& codes, int bits) {
  const std::vector<std::byte> bytes = oracle::Pack(codes, bits);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ExpectPair(int opset, const oracle::Row& from, const oracle::Row& to, bool is_like,
                Contradictions contradictions, const std::string& attributes,
                const oracle::Options& options) {
  ModelBytes model =
      onnx_test::CastModel(opset, static_cast<DataType>(from.id), static_cast<DataType>(to.id),
                           (is_like     ? std::string()
                            : opset < 6 ? onnx_test::TextAttribute("to", to.name)
                                        : onnx_test::IntAttribute("to", to.id)) +
                               attributes);
  std::vector<Tensor> inputs(1);
  const std::vector<std::uint64_t> codes = Codes(from);
  inputs[0] = {static_cast<DataType>(from.id), {codes.size()}, PackedText(codes, from.bits)};
  if (is_like) {
    model.nodes[0].op = "CastLike";
    model.nodes[0].inputs = {"x", "t"};
    model.inputs.push_back({"t", static_cast<DataType>(to.id)});
    inputs.push_back({static_cast<DataType>(to.id), {0}, ""});
  }
  tensorcast::onnx::LoadOptions load;
  load.contradictions = contradictions;
  const Parsed parsed(model, load);
  const tensorcast::SessionResults outputs = onnx_test::MustRun(parsed, inputs);
  ASSERT_EQ(outputs.size(), 1u);
  std::vector<std::uint64_t> expected(codes.size());
  oracle::CastMany(from, to, options, codes, expected.data());
  ASSERT_EQ(onnx_test::Data(outputs[0]), PackedText(expected, to.bits))
      << opset << ": " << from.name << " -> " << to.name;
}

TEST(Options, EveryOpsetGivesTheOraclesBits) {
  for (int opset = 1; opset <= 29; ++opset) {
    for (const oracle::Row& from : oracle::kRows) {
      for (const oracle::Row& to : oracle::kRows) {
        if (FirstOpset(from.id) > opset || FirstOpset(to.id) > opset) continue;
        const auto options = OptionsAt(opset, to.id, Contradictions::kText);
        ASSERT_NO_FATAL_FAILURE(
            ExpectPair(opset, from, to, false, Contradictions::kText, "", options));
        if (opset < 15 || FirstOpset(from.id) == 28 || FirstOpset(to.id) == 28) continue;
        ASSERT_NO_FATAL_FAILURE(
            ExpectPair(opset, from, to, true, Contradictions::kText, "", options));
      }
    }
  }
}

TEST(Options, ContradictionsChangeInfinityToFnuzAlone) {
  for (int opset = 19; opset <= 24; ++opset) {
    for (const oracle::Row& from : oracle::kRows) {
      for (const oracle::Row& to : oracle::kRows) {
        if (FirstOpset(from.id) > opset || FirstOpset(to.id) > opset) continue;
        const auto options = OptionsAt(opset, to.id, Contradictions::kTests);
        ASSERT_NO_FATAL_FAILURE(
            ExpectPair(opset, from, to, false, Contradictions::kTests, "", options));
      }
    }
  }
}

TEST(Options, SaturateIsTrueWhereItIsNotZero) {
  for (int opset = 19; opset <= 28; ++opset) {
    for (const int to : {17, 18, 19, 20, 24, 10, 3, 23}) {
      if (FirstOpset(to) > opset) continue;
      for (const std::int64_t value : {0, 1, 7, -1}) {
        auto options = OptionsAt(opset, to, Contradictions::kText);
        options.saturate = value != 0;
        for (const bool is_like : {false, true}) {
          ASSERT_NO_FATAL_FAILURE(ExpectPair(opset, oracle::RowOf(1), oracle::RowOf(to), is_like,
                                             Contradictions::kText,
                                             onnx_test::IntAttribute("saturate", value), options));
        }
      }
    }
  }
}

TEST(Options, RoundModeIsHonouredInBothOperators) {
  const std::pair<const char*, oracle::RoundingMode> modes[] = {
      {"up", oracle::RoundingMode::kUp},
      {"down", oracle::RoundingMode::kDown},
      {"nearest", oracle::RoundingMode::kNearest}};
  for (int opset = 24; opset <= 28; ++opset) {
    for (const auto& [name, mode] : modes) {
      for (const int from : {1, 10, 11, 16, 13, 7}) {
        oracle::Options options;
        options.round_mode = mode;
        for (const bool is_like : {false, true}) {
          ASSERT_NO_FATAL_FAILURE(ExpectPair(
              opset, oracle::RowOf(from), oracle::RowOf(24), is_like, Contradictions::kText,
              onnx_test::TextAttribute("round_mode", name), options));
        }
      }
    }
  }
}

}  // namespace

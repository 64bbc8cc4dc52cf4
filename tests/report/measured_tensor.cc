// Casts with a meter, and beside it the oracle's.
//
// SPDX-License-Identifier: Apache-2.0
#include "report/measured_tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <random>
#include <utility>

#include "oracle/cast.h"

namespace tensorcast::testing {
namespace {

const oracle::Row& OracleRow(DataType type) { return oracle::RowOf(static_cast<int>(type)); }

}  // namespace

Codes CodesOf(DataType type, const std::vector<double>& values) {
  Codes doubles, codes(values.size());
  for (const double value : values) doubles.push_back(std::bit_cast<std::uint64_t>(value));
  oracle::CastMany(oracle::RowOf(11), OracleRow(type), {}, doubles, codes.data());
  return codes;
}

std::vector<double> Normal(std::size_t n, double deviation, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<double> values(n);
  for (double& value : values) value = normal(random);
  return values;
}

LossReport Measured(DataType from, const Codes& codes, DataType to) {
  std::vector<std::byte> source(*StorageBytes(from, codes.size()));
  for (std::size_t i = 0; i < codes.size(); ++i) StoreCode(from, source.data(), i, codes[i]);
  std::vector<std::byte> result(*StorageBytes(to, codes.size()));
  LossMeter meter(from, to);
  RunOptions run;
  run.loss = &meter;
  EXPECT_TRUE(Cast(from, source, to, result, codes.size(), {}, run).ok());
  return meter.Report();
}

oracle::LossFigures Expected(DataType from, const Codes& codes, DataType to) {
  Codes results(codes.size());
  oracle::CastMany(OracleRow(from), OracleRow(to), {}, codes, results.data());
  oracle::LossOracle loss(OracleRow(from), OracleRow(to), {});
  for (std::size_t i = 0; i < codes.size(); ++i) loss.Add(codes[i], results[i]);
  return loss.Figures();
}

formats::TensorInfo InfoOf(std::string name, DataType type, std::uint64_t elements) {
  formats::TensorInfo info;
  info.name = std::move(name);
  info.dtype = TypeName(type);
  info.type = type;
  info.shape = {elements};
  info.elements = elements;
  info.bytes = *StorageBytes(type, elements);
  return info;
}

}  // namespace tensorcast::testing

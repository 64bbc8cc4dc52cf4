// Graphs that are built, run and run backward: every pair of types against the oracle, gradients
// against rational numbers.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/session.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "oracle/cast.h"
#include "oracle/packing.h"
#include "oracle/scaled.h"
#include "oracle/types.h"
#include "tensorcast/graph.hpp"

namespace tensorcast {
namespace {

using oracle::Row;

GraphOptions NewestOpset() {
  GraphOptions options;
  options.opset = 28;
  return options;
}

DataType TypeOf(const Row& row) { return static_cast<DataType>(row.id); }

// Values of a type that are worth a look, and random ones.
std::vector<std::uint64_t> CodesOf(const Row& row, std::size_t n, std::mt19937_64& random) {
  std::vector<std::uint64_t> codes = {0, 1, row.mask(), row.mask() >> 1, (row.mask() >> 1) + 1};
  if (row.floating()) {
    for (const std::uint64_t code : {row.largest, row.infinity, row.nan}) {
      codes.push_back(code);
      codes.push_back(code | row.minus);
    }
  }
  while (codes.size() < n) codes.push_back(random() & row.mask());
  if (row.kind == oracle::Kind::kBoolean) {
    for (std::uint64_t& code : codes) code &= 1;
  }
  return codes;
}

struct Packed {
  const Row& row;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> bytes;
  Packed(const Row& type, const std::vector<std::uint64_t>& codes)
      : row(type), shape{codes.size()}, bytes(oracle::Pack(codes, type.bits)) {}
  TensorView view() const { return {TypeOf(row), shape, bytes, {}}; }
};

std::vector<std::uint64_t> CodesOf(const TensorView& view, int bits, std::size_t n) {
  std::vector<std::uint64_t> codes;
  for (std::size_t i = 0; i < n; ++i) codes.push_back(oracle::GetCode(view.data, bits, i));
  return codes;
}

// x of one type, cast to another, as outputs y; made with no error.
struct OneCast {
  Graph graph;
  GraphValue x, y;
  OneCast(DataType from, const CastNode& node) {
    std::string error;
    EXPECT_TRUE(Graph::Create(NewestOpset(), &graph, &error).ok()) << error;
    EXPECT_TRUE(graph.AddInput("x", from, &x, &error).ok()) << error;
    EXPECT_TRUE(graph.AddCast(x, node, &y, &error).ok()) << error;
    EXPECT_TRUE(graph.MarkOutput(y, "y", &error).ok()) << error;
  }
};

TEST(Session, RunsEveryPairOfTypesIntoTheCallersMemory) {
  std::mt19937_64 random(1);
  for (const Row& from : oracle::kRows) {
    const std::vector<std::uint64_t> codes = CodesOf(from, 67, random);
    const Packed input(from, codes);
    for (const Row& to : oracle::kRows) {
      OneCast made(TypeOf(from), {.to = TypeOf(to)});
      Session session;
      std::string error;
      ASSERT_TRUE(Session::Create(made.graph, {}, &session, &error).ok()) << error;
      ASSERT_TRUE(session.BindInput("x", input.view(), &error).ok()) << error;
      TensorSize size;
      ASSERT_TRUE(session.OutputSize(0, &size, &error).ok()) << error;
      ASSERT_EQ(size.elements, codes.size());
      ASSERT_EQ(size.bytes, (codes.size() * static_cast<unsigned>(to.bits) + 7) / 8);
      std::vector<std::byte> memory(size.bytes, std::byte{0xEE});
      ASSERT_TRUE(session.BindOutput("y", memory, &error).ok()) << error;
      ASSERT_TRUE(session.Run({}, &error).ok()) << error;
      std::vector<std::uint64_t> expected;
      for (const std::uint64_t code : codes) expected.push_back(oracle::Cast(from, to, {}, code));
      EXPECT_EQ(memory, oracle::Pack(expected, to.bits)) << from.name << " to " << to.name;
      TensorView view;
      ASSERT_TRUE(session.Output(0, &view, &error).ok()) << error;
      EXPECT_EQ(view.data.data(), memory.data());
      EXPECT_EQ(view.shape[0], codes.size());
    }
  }
}

TEST(Session, BuffersOneByteTooSmallAndOverlapsAreRefused) {
  OneCast made(DataType::kFloat32, {.to = DataType::kFloat16});
  Session session;
  std::string error;
  ASSERT_TRUE(Session::Create(made.graph, {}, &session, &error).ok()) << error;
  std::vector<float> values = {1, 2, 3};
  const std::vector<std::uint64_t> shape = {3};
  EXPECT_EQ(session.Run({}, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "input \"x\" is not bound; bind it before");
  const TensorView view{DataType::kFloat32, shape, std::as_bytes(std::span(values)), {}};
  ASSERT_TRUE(session.BindInput(0, view, &error).ok()) << error;
  std::vector<std::byte> memory(5);
  ASSERT_TRUE(session.BindOutput(0, memory, &error).ok());
  EXPECT_EQ(session.Run({}, &error).code(), StatusCode::kBufferTooSmall);
  EXPECT_EQ(error, "output \"y\" takes 6 bytes; 5 are bound");
  TensorView out;
  EXPECT_EQ(session.Output(0, &out, &error).code(), StatusCode::kBadInput);
  const auto own = std::as_writable_bytes(std::span(values));
  ASSERT_TRUE(session.BindOutput(0, own.subspan(5), &error).ok());
  EXPECT_EQ(session.Run({}, &error).code(), StatusCode::kOverlap);
  EXPECT_EQ(error, "the memory of output \"y\" overlaps that of input \"x\"");
  ASSERT_TRUE(session.BindOutput(0, {}, &error).ok());
  ASSERT_TRUE(session.Run({}, &error).ok()) << error;
  std::vector<std::byte> copy(6);
  EXPECT_EQ(session.CopyOutput("y", std::span(copy).first(5), {}, &error).code(),
            StatusCode::kBufferTooSmall);
  ASSERT_TRUE(session.CopyOutput("y", copy, {}, &error).ok()) << error;
  EXPECT_EQ(copy, oracle::Pack(std::vector<std::uint64_t>{0x3C00, 0x4000, 0x4200}, 16));
}

TEST(Session, NamesAndIndicesThatAreNotThere) {
  OneCast made(DataType::kFloat32, {.to = DataType::kFloat16});
  Session session;
  std::string error;
  EXPECT_EQ(session.Run({}, &error).code(), StatusCode::kBadInput);
  ASSERT_TRUE(Session::Create(made.graph, {}, &session, &error).ok()) << error;
  EXPECT_EQ(session.BindInput("z", {}, &error).code(), StatusCode::kNoSuchName);
  EXPECT_EQ(error, "input \"z\" is not in the graph");
  EXPECT_EQ(session.BindOutput(1, {}, &error).code(), StatusCode::kNoSuchIndex);
  EXPECT_EQ(error, "output 1 is not in the graph, which has 1 output");
}

// Texts go through a session too; their sizes are known after the run.
// An index of any integer type; a negative one is told as it is.
TEST(Session, IndicesOfEveryIntegerType) {
  OneCast made(DataType::kFloat32, {.to = DataType::kFloat16});
  Session session;
  std::string error;
  ASSERT_TRUE(Session::Create(made.graph, {}, &session, &error).ok()) << error;
  std::size_t index = 7;
  for (const Port& port : {Port(0), Port(0U), Port(0L), Port(0UL), Port(std::uint8_t{0})}) {
    EXPECT_TRUE(session.FindOutput(port, &index, &error).ok()) << error;
    EXPECT_EQ(index, 0u);
  }
  EXPECT_EQ(session.FindOutput(-1, &index, &error).code(), StatusCode::kNoSuchIndex);
  EXPECT_EQ(error, "output -1 is not in the graph, which has 1 output");
  EXPECT_EQ(session.FindInput(UINT64_MAX, &index, &error).code(), StatusCode::kNoSuchIndex);
}

// What a caller passes as a shape may go at once; a declared rank is held.
TEST(Session, ShapesAreCopiedAndRanksHeld) {
  Graph graph;
  GraphValue x, y;
  std::string error;
  ASSERT_TRUE(graph.AddInput("x", DataType::kFloat32, {{}, {.size = 3}}, &x, &error).ok()) << error;
  ASSERT_TRUE(graph.AddCast(x, {.to = DataType::kFloat16}, &y).ok());
  ASSERT_TRUE(graph.MarkOutput(y, "y").ok());
  Session session;
  ASSERT_TRUE(Session::Create(graph, {}, &session, &error).ok()) << error;
  const std::vector<float> values(6, 1.0F);
  std::vector<std::uint64_t> shape = {2, 3};
  TensorView view{DataType::kFloat32, shape, std::as_bytes(std::span(values)), {}};
  ASSERT_TRUE(session.BindInput(0, view, &error).ok()) << error;
  shape = {9, 9};
  ASSERT_TRUE(session.Run({}, &error).ok()) << error;
  TensorView out;
  ASSERT_TRUE(session.Output(0, &out).ok());
  EXPECT_EQ(std::vector<std::uint64_t>(out.shape.begin(), out.shape.end()),
            (std::vector<std::uint64_t>{2, 3}));
  shape = {6};
  view.shape = shape;
  EXPECT_EQ(session.BindInput(0, view, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "input \"x\" has 1 dimension; the graph declares 2");
  ASSERT_TRUE(session.Run({}, &error).ok()) << error;  // what was bound before stays
  ASSERT_TRUE(session.Output(0, &out).ok());
  EXPECT_EQ(out.shape.size(), 2u);
}

TEST(Session, Strings) {
  OneCast made(DataType::kFloat32, {.to = DataType::kString});
  Session session;
  std::string error;
  ASSERT_TRUE(Session::Create(made.graph, {}, &session, &error).ok()) << error;
  const std::vector<float> values = {1.5F, -2, std::numeric_limits<float>::infinity()};
  const std::vector<std::uint64_t> shape = {3};
  ASSERT_TRUE(
      session
          .BindInput(0, {DataType::kFloat32, shape, std::as_bytes(std::span(values)), {}}, &error)
          .ok());
  TensorSize size;
  EXPECT_EQ(session.OutputSize(0, &size, &error).code(), StatusCode::kBadInput);
  ASSERT_TRUE(session.Run({}, &error).ok()) << error;
  ASSERT_TRUE(session.OutputSize(0, &size, &error).ok()) << error;
  std::vector<std::byte> bytes(size.bytes);
  std::vector<std::uint64_t> lengths(size.elements);
  EXPECT_EQ(session.CopyOutput(0, bytes, std::span(lengths).first(2), &error).code(),
            StatusCode::kBufferTooSmall);
  ASSERT_TRUE(session.CopyOutput(0, bytes, lengths, &error).ok()) << error;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "1.5-2.0inf");
  EXPECT_EQ(lengths, (std::vector<std::uint64_t>{3, 4, 3}));
}

// A chain with an Identity, outputs that are views of each other and of the input, other shapes,
// and outputs that nobody wants.
TEST(Session, SubsetsViewsAndOtherShapes) {
  Graph graph;
  GraphValue x, half, same, back, texts;
  ASSERT_TRUE(graph.AddInput("x", DataType::kFloat32, &x).ok());
  ASSERT_TRUE(graph.AddCast(x, {.to = DataType::kFloat16}, &half).ok());
  ASSERT_TRUE(graph.AddIdentity(half, "", "", &same).ok());
  ASSERT_TRUE(graph.AddCast(same, {.to = DataType::kFloat64}, &back).ok());
  ASSERT_TRUE(graph.AddCast(x, {.to = DataType::kString}, &texts).ok());
  ASSERT_TRUE(graph.MarkOutput(same, "same").ok());
  ASSERT_TRUE(graph.MarkOutput(back, "back").ok());
  ASSERT_TRUE(graph.MarkOutput(x, "the input").ok());
  ASSERT_TRUE(graph.MarkOutput(texts, "texts").ok());
  Session session;
  std::string error;
  ASSERT_TRUE(Session::Create(graph, {}, &session, &error).ok()) << error;
  std::vector<NodeProfile> profile;
  for (const std::size_t n : {5u, 3u, 700u, 0u, 3u}) {
    std::vector<float> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i % 512) + 0.25F);
    const std::vector<std::uint64_t> shape = {1, n};
    const TensorView view{DataType::kFloat32, shape, std::as_bytes(std::span(values)), {}};
    ASSERT_TRUE(session.BindInput("x", view, &error).ok()) << error;
    std::vector<double> doubles(n);
    ASSERT_TRUE(session.BindOutput("back", std::as_writable_bytes(std::span(doubles))).ok());
    ASSERT_TRUE(session.SelectOutputs({"back", "the input"}, &error).ok()) << error;
    profile.clear();
    GraphRun run;
    run.profile = &profile;
    ASSERT_TRUE(session.Run(run, &error).ok()) << error;
    EXPECT_EQ(profile.size(), 4u);  // the Cast to string is not run
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(doubles[i], static_cast<double>(values[i]));
    TensorView out;
    ASSERT_TRUE(session.Output("the input", &out, &error).ok()) << error;
    EXPECT_EQ(out.data.data(), view.data.data());
    EXPECT_EQ(session.Output("texts", &out, &error).code(), StatusCode::kBadInput);
    EXPECT_EQ(error, "output \"texts\" was not among those to run for");
    ASSERT_TRUE(session.SelectOutputs({}, &error).ok()) << error;  // all again
    ASSERT_TRUE(session.Run({}, &error).ok()) << error;
    EXPECT_TRUE(session.Output("texts", &out, &error).ok()) << error;
  }
  EXPECT_NE(graph.Summary(SummaryFormat::kCsv, profile).find("Cast_0,Cast,float32,float16"),
            std::string::npos);
}

TEST(Session, RunsOfOneShapeUseTheSameMemory) {
  Graph graph;
  GraphValue x, value;
  ASSERT_TRUE(graph.AddInput("x", DataType::kFloat32, &x).ok());
  value = x;
  for (const DataType type : {DataType::kFloat16, DataType::kFloat64, DataType::kInt8}) {
    ASSERT_TRUE(graph.AddCast(value, {.to = type}, &value).ok());
    ASSERT_TRUE(graph.AddIdentity(value, "", "", &value).ok());
  }
  ASSERT_TRUE(graph.MarkOutput(value, "").ok());
  Session session;
  ASSERT_TRUE(Session::Create(graph, {}, &session).ok());
  const std::vector<float> values(1000, 3);
  const std::vector<std::uint64_t> shape = {1000};
  const std::byte* first = nullptr;
  for (int i = 0; i < 5; ++i) {
    const TensorView view{DataType::kFloat32, shape, std::as_bytes(std::span(values)), {}};
    ASSERT_TRUE(session.BindInput(0, view).ok());
    ASSERT_TRUE(session.Run({}).ok());
    TensorView out;
    ASSERT_TRUE(session.Output(0, &out).ok());
    if (i == 0) first = out.data.data();
    EXPECT_EQ(out.data.data(), first);
  }
}

TEST(Session, ManySessionsOfOneGraphAtOnce) {
  OneCast made(DataType::kFloat32, {.to = DataType::kInt32});
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      Session session;
      wrong[t] += !Session::Create(made.graph, {}, &session).ok();
      for (std::size_t run = 0; run < 50; ++run) {
        const std::vector<float> values(run + 1, static_cast<float>(t));
        const std::vector<std::uint64_t> shape = {values.size()};
        std::vector<std::int32_t> out(values.size(), -1);
        wrong[t] +=
            !session.BindInput(0, {DataType::kFloat32, shape, std::as_bytes(std::span(values)), {}})
                 .ok();
        wrong[t] += !session.BindOutput(0, std::as_writable_bytes(std::span(out))).ok();
        wrong[t] += !session.Run({}).ok();
        for (const std::int32_t each : out) wrong[t] += each != static_cast<std::int32_t>(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

// ------------------------------------------------------------------------------- backward

SessionOptions Backward(Differentiable kinds = Differentiable::kUsual) {
  SessionOptions options;
  options.backward = true;
  options.differentiable = kinds;
  return options;
}

// One Cast: dX of a given dY, or nothing.
struct Derivative {
  bool has = false;
  std::vector<std::uint64_t> codes;
};
Derivative Derive(const Row& x, const Row& y, const CastNode& settings,
                  const std::vector<std::uint64_t>& dy, Differentiable kinds) {
  CastNode node = settings;
  node.to = TypeOf(y);
  OneCast made(TypeOf(x), node);
  Session session;
  std::string error;
  EXPECT_TRUE(Session::Create(made.graph, Backward(kinds), &session, &error).ok()) << error;
  const Packed input(x, std::vector<std::uint64_t>(dy.size(), 0));
  EXPECT_TRUE(session.BindInput(0, input.view(), &error).ok()) << error;
  EXPECT_TRUE(session.Run({}, &error).ok()) << error;
  const Packed gradient(y, dy);
  EXPECT_TRUE(session.BindGradient(0, gradient.view(), &error).ok()) << error;
  EXPECT_TRUE(session.Backward({}, &error).ok()) << error;
  Derivative derivative;
  TensorView view;
  EXPECT_TRUE(session.Gradient(0, &derivative.has, &view, &error).ok()) << error;
  if (derivative.has) derivative.codes = CodesOf(view, x.bits, dy.size());
  return derivative;
}

// A number rounded once to a floating type, as a Cast of a float64 has it.
std::uint64_t Rounded(const Row& to, const oracle::Number& number) {
  oracle::Value beyond{oracle::Value::Is::kFinite, number.negative, 1, 3000};
  if (number.is == oracle::Number::Is::kInfinite) beyond.is = oracle::Value::Is::kInfinite;
  if (number.is == oracle::Number::Is::kFinite) {
    const oracle::NearestCode nearest = oracle::Nearest(to, number.magnitude);
    const bool loses_sign = nearest.code == 0 && !to.minus_zero;
    if (!nearest.beyond) return nearest.code | (number.negative && !loses_sign ? to.minus : 0);
  }
  return oracle::Outside(oracle::RowOf(11), to, beyond, {});
}

bool IsUsual(const Row& row) { return row.payload(); }
// A gradient needs a zero and a sign, which float8e8m0 does not have.
bool IsWide(const Row& row) { return row.kind == oracle::Kind::kFloating; }

// With a factor of 1 the bits of a Cast of the gradient, for all types that have derivatives.
TEST(Backward, OfOneCastIsACast) {
  std::mt19937_64 random(2);
  int pairs = 0;
  for (const Row& x : oracle::kRows) {
    for (const Row& y : oracle::kRows) {
      for (const Differentiable kinds : {Differentiable::kUsual, Differentiable::kWide}) {
        const bool is_wide = kinds == Differentiable::kWide;
        const auto has = [&](const Row& row) { return is_wide ? IsWide(row) : IsUsual(row); };
        if (!has(y)) continue;
        const std::vector<std::uint64_t> dy = CodesOf(y, 70, random);
        const Derivative derivative = Derive(x, y, {}, dy, kinds);
        EXPECT_EQ(derivative.has, has(x));
        if (!derivative.has) continue;
        std::vector<std::uint64_t> expected;
        for (const std::uint64_t code : dy) expected.push_back(oracle::Cast(y, x, {}, code));
        EXPECT_EQ(derivative.codes, expected) << x.name << " to " << y.name;
        ++pairs;
      }
    }
  }
  EXPECT_EQ(pairs, 4 * 4 + 11 * 11);
}

// The exact product, rounded once.
TEST(Backward, AFactorIsMultipliedExactly) {
  std::mt19937_64 random(3);
  const std::vector<double> factors = {0.1, -3, 1e-300, 1e300, 0x1p-1074, 1.0 / 3, 0.5, -1};
  for (const Row& x : oracle::kRows) {
    for (const Row& y : oracle::kRows) {
      if (x.kind != oracle::Kind::kFloating || y.kind != oracle::Kind::kFloating) continue;
      const std::vector<std::uint64_t> dy = CodesOf(y, 60, random);
      for (const double factor : factors) {
        const Derivative derivative =
            Derive(x, y, {.lda_coeff = factor}, dy, Differentiable::kWide);
        ASSERT_TRUE(derivative.has);
        for (std::size_t i = 0; i < dy.size(); ++i) {
          const oracle::Number product =
              oracle::Times(oracle::NumberOf(y, dy[i]), oracle::NumberOf(factor));
          // A NaN's bits are the engine's own, of which any will do here.
          if (product.is == oracle::Number::Is::kNan) {
            if (x.nan != 0) {
              EXPECT_EQ(oracle::NumberOf(x, derivative.codes[i]).is, oracle::Number::Is::kNan);
            }
            continue;
          }
          EXPECT_EQ(derivative.codes[i], Rounded(x, product))
              << x.name << " to " << y.name << ", " << factor << " of code " << dy[i];
        }
      }
    }
  }
}

TEST(Backward, FactorsOfZeroInfinityAndNan) {
  const Row& f32 = oracle::RowOf(1);
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<std::uint64_t> dy = {0x3F800000, 0xBF800000, 0x7F800000,
                                         0x7FC00000, 0,          1u << 31};
  const auto floats = [&](double factor) {
    std::vector<float> values;
    for (const std::uint64_t code :
         Derive(f32, f32, {.lda_coeff = factor}, dy, Differentiable::kUsual).codes) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
    }
    return values;
  };
  const std::vector<float> zero = floats(0);
  EXPECT_TRUE(zero[0] == 0 && !std::signbit(zero[0]));
  EXPECT_TRUE(zero[1] == 0 && std::signbit(zero[1]));
  EXPECT_TRUE(std::isnan(zero[2]) && std::isnan(zero[3]));
  const std::vector<float> infinite = floats(inf);
  EXPECT_TRUE(infinite[0] == inf && infinite[1] == -inf && infinite[2] == inf);
  EXPECT_TRUE(std::isnan(infinite[3]) && std::isnan(infinite[4]) && std::isnan(infinite[5]));
  for (const float value : floats(std::nan(""))) EXPECT_TRUE(std::isnan(value));
}

// A value that several nodes read gets the exact sum, rounded once; what does not train gives none.
TEST(Backward, SumsAreExact) {
  std::mt19937_64 random(4);
  const std::vector<int> types = {1, 10, 11, 16};
  for (int round = 0; round < 60; ++round) {
    const Row& x = oracle::RowOf(types[random() % 4]);
    Graph graph;
    GraphValue input;
    ASSERT_TRUE(graph.AddInput("x", TypeOf(x), &input).ok());
    const std::size_t n = random() % 4 + 1;
    std::vector<const Row*> rows;
    std::vector<double> factors;
    std::vector<bool> trains;
    for (std::size_t i = 0; i < n; ++i) {
      rows.push_back(&oracle::RowOf(types[random() % 4]));
      const std::vector<double> some = {1, 1, 1, 0.1, -7, 1e-200};
      factors.push_back(some[random() % some.size()]);
      trains.push_back(random() % 5 != 0);
      GraphValue output;
      ASSERT_TRUE(
          graph
              .AddCast(input,
                       {.to = TypeOf(*rows[i]), .training = trains[i], .lda_coeff = factors[i]},
                       &output)
              .ok());
      ASSERT_TRUE(graph.MarkOutput(output, "y" + std::to_string(i)).ok());
    }
    Session session;
    std::string error;
    ASSERT_TRUE(Session::Create(graph, Backward(), &session, &error).ok()) << error;
    constexpr std::size_t kElements = 200;
    const Packed values(x, std::vector<std::uint64_t>(kElements, 0));
    ASSERT_TRUE(session.BindInput(0, values.view(), &error).ok()) << error;
    ASSERT_TRUE(session.Run({}, &error).ok()) << error;
    std::vector<std::vector<std::uint64_t>> dy;
    std::vector<Packed> given;  // which the session reads when it runs back
    bool has_any = false;
    for (std::size_t i = 0; i < n; ++i) {
      dy.push_back(CodesOf(*rows[i], kElements, random));
      given.emplace_back(*rows[i], dy[i]);
      has_any = has_any || trains[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(session.BindGradient(i, given[i].view(), &error).ok()) << error;
    }
    ASSERT_TRUE(session.Backward({}, &error).ok()) << error;
    bool has = false;
    TensorView view;
    ASSERT_TRUE(session.Gradient("x", &has, &view, &error).ok()) << error;
    ASSERT_EQ(has, has_any);
    if (!has) continue;
    for (std::size_t e = 0; e < kElements; ++e) {
      mpq_class sum = 0;
      bool is_finite = true, are_zeros_negative = true;
      for (std::size_t i = 0; i < n; ++i) {
        if (!trains[i]) continue;
        const oracle::Number part =
            oracle::Times(oracle::NumberOf(*rows[i], dy[i][e]), oracle::NumberOf(factors[i]));
        is_finite = is_finite && part.is == oracle::Number::Is::kFinite;
        are_zeros_negative = are_zeros_negative && part.zero() && part.negative;
        sum += part.negative ? mpq_class(-part.magnitude) : part.magnitude;
      }
      if (!is_finite) continue;
      oracle::Number exact;
      exact.magnitude = abs(sum);
      exact.negative = sum < 0 || are_zeros_negative;
      EXPECT_EQ(oracle::GetCode(view.data, x.bits, e), Rounded(x, exact));
    }
  }
}

class ShutPool final : public Executor {
 public:
  std::size_t Concurrency() const noexcept override { return 4; }
  void ParallelFor(std::size_t, void (*)(void*, std::size_t), void*) override { throw 1; }
};

// One Cast is a cast on the executor; two are a sum, whose tasks are the session's own.
TEST(Backward, AnExecutorThatThrows) {
  for (const std::size_t casts : {1, 2}) {
    Graph graph;
    GraphValue input;
    ASSERT_TRUE(graph.AddInput("x", DataType::kFloat32, &input).ok());
    for (std::size_t i = 0; i < casts; ++i) {
      GraphValue output;
      ASSERT_TRUE(graph.AddCast(input, {.to = DataType::kFloat16}, &output).ok());
      ASSERT_TRUE(graph.MarkOutput(output, "y" + std::to_string(i)).ok());
    }
    Session session;
    std::string error;
    ASSERT_TRUE(Session::Create(graph, Backward(), &session, &error).ok()) << error;
    const std::vector<std::uint64_t> zeros(std::size_t{1} << 20, 0);
    const Packed values(oracle::RowOf(1), zeros), gradient(oracle::RowOf(10), zeros);
    ASSERT_TRUE(session.BindInput(0, values.view(), &error).ok()) << error;
    ASSERT_TRUE(session.Run({}, &error).ok()) << error;
    for (std::size_t i = 0; i < casts; ++i) {
      ASSERT_TRUE(session.BindGradient(i, gradient.view(), &error).ok()) << error;
    }
    ShutPool pool;
    GraphRun run;
    run.executor = &pool;
    EXPECT_EQ(session.Backward(run, &error).code(), StatusCode::kExecutorFailed);
    EXPECT_EQ(error, "the executor failed, or did not run every task once");
    EXPECT_EQ(session.Run(run, &error).code(), StatusCode::kExecutorFailed);
  }
}

// float64 -> float32 -> float16: the gradient is rounded at every node, not once at the end.
TEST(Backward, ChainsAreNotFusedAndIdentitiesPass) {
  Graph graph;
  GraphValue x, middle, same, y, integer;
  ASSERT_TRUE(graph.AddInput("x", DataType::kFloat16, &x).ok());
  ASSERT_TRUE(graph.AddCast(x, {.to = DataType::kFloat32}, &middle).ok());
  ASSERT_TRUE(graph.AddIdentity(middle, "", "", &same).ok());
  ASSERT_TRUE(graph.AddCast(same, {.to = DataType::kFloat64}, &y).ok());
  ASSERT_TRUE(graph.AddCast(x, {.to = DataType::kInt32}, &integer).ok());
  ASSERT_TRUE(graph.AddCast(integer, {.to = DataType::kFloat64}, &integer).ok());
  ASSERT_TRUE(graph.MarkOutput(y, "y").ok());
  ASSERT_TRUE(graph.MarkOutput(integer, "through an integer").ok());
  for (const bool zeros : {false, true}) {
    SessionOptions options = Backward();
    options.gives_zeros = zeros;
    Session session;
    std::string error;
    ASSERT_TRUE(Session::Create(graph, options, &session, &error).ok()) << error;
    const std::vector<std::uint64_t> shape = {};
    const std::uint16_t value = 0x3C00;
    const TensorView view{DataType::kFloat16, shape, std::as_bytes(std::span(&value, 1)), {}};
    ASSERT_TRUE(session.BindInput(0, view, &error).ok()) << error;
    EXPECT_EQ(session.Backward({}, &error).code(), StatusCode::kBadInput);
    ASSERT_TRUE(session.Run({}, &error).ok()) << error;
    // Just above the middle of two float16; its float32 is the middle, a tie that goes down.
    const double dy = 1 + 0x1p-11 + 0x1p-40;
    const TensorView given{DataType::kFloat64, shape, std::as_bytes(std::span(&dy, 1)), {}};
    bool has = false;
    TensorView dx;
    ASSERT_TRUE(session.BindGradient("through an integer", given, &error).ok()) << error;
    ASSERT_TRUE(session.Backward({}, &error).ok()) << error;
    ASSERT_TRUE(session.Gradient(0, &has, &dx, &error).ok()) << error;
    EXPECT_EQ(has, zeros);
    if (has) {
      EXPECT_EQ(oracle::GetCode(dx.data, 16, 0), 0u);
    }
    ASSERT_TRUE(session.BindGradient("y", given, &error).ok()) << error;
    ASSERT_TRUE(session.Backward({}, &error).ok()) << error;
    ASSERT_TRUE(session.Gradient(0, &has, &dx, &error).ok()) << error;
    ASSERT_TRUE(has);
    EXPECT_EQ(oracle::GetCode(dx.data, 16, 0), 0x3C00u);
    const std::vector<std::uint64_t> other = {1};
    const TensorView wrong{DataType::kFloat64, other, std::as_bytes(std::span(&dy, 1)), {}};
    ASSERT_TRUE(session.BindGradient("y", wrong, &error).ok()) << error;
    EXPECT_EQ(session.Backward({}, &error).code(), StatusCode::kBadInput);
    EXPECT_EQ(error, "the gradient of output \"y\" has the shape [1]; the output has []");
  }
}

// A port and a key own their name, so that they may outlive the text that they were made of.
TEST(Session, PortsAndKeysKeepTheirNames) {
  OneCast one(DataType::kFloat32, {.to = DataType::kFloat16, .name = "a node with a longer name"});
  std::string error;
  Session session;
  ASSERT_TRUE(Session::Create(one.graph, {}, &session, &error).ok()) << error;
  auto name = std::make_unique<std::string>("a name of more letters than a string has room for");
  ASSERT_TRUE(one.graph.RenameValue(one.y, *name, &error).ok()) << error;
  ASSERT_TRUE(Session::Create(one.graph, {}, &session, &error).ok()) << error;
  const Port of_string = *name;
  const Port of_view = std::string_view(*name);
  const Port of_pointer = name->c_str();
  name->assign(name->size(), '#');
  auto node = std::make_unique<std::string>("a node with a longer name");
  const NodeKey key = NodeKey::Name(*node);
  node->assign(node->size(), '#');
  name.reset();
  node.reset();
  for (const Port& port : {of_string, of_view, of_pointer}) {
    std::size_t index = 9;
    EXPECT_TRUE(session.FindOutput(port, &index, &error).ok()) << error;
    EXPECT_EQ(index, 0U);
  }
  GraphNode found;
  EXPECT_TRUE(one.graph.Node(key, &found, &error).ok()) << error;
}

}  // namespace
}  // namespace tensorcast

// torch's files, byte by byte: what torch.save writes, and what is read of it.
//
// SPDX-License-Identifier: Apache-2.0
#include "torch_bytes.h"

namespace tensorcast::io {
namespace {

using Torch = FileTest;
using Strings = std::vector<std::string>;

const std::string kSix("\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xA0\x40\0\0\xC0\x40",
                       24);

// data.pkl of OrderedDict{'w': float32[2, 3]} as torch 2.15 wrote it.
const std::string kWritten(
    "\x80\x02"
    "ccollections\nOrderedDict\nq\0)Rq\x01X\x01\0\0\0wq\x02"
    "ctorch._utils\n_rebuild_tensor_v2\nq\x03((X\x07\0\0\0storageq\x04"
    "ctorch\nFloatStorage\nq\x05X\x01\0\0\0"
    "0q\x06X\x03\0\0\0cpuq\x07K\x06tq\x08QK\0K\x02K\x03\x86q\x09K\x03K\x01\x86q\x0A\x89h\0)Rq\x0B"
    "tq\x0CRq\x0Ds.",
    169);

class TorchFiles : public Torch {
 protected:
  std::shared_ptr<const formats::TensorReader> Read(const std::string& bytes,
                                                    const std::string& root = {}) {
    WriteBytes(Path("x.pt"), bytes);
    formats::OpenOptions options;
    options.root = root;
    return checkpoint::OpenTensorFile(Path("x.pt"), options).reader;
  }
  // A zip of a dict of one tensor "w" over the storage "0" of bytes.
  std::string One(const std::string& type, const std::string& bytes, std::int32_t elements,
                  std::int32_t offset, const std::vector<std::int32_t>& sizes,
                  const std::vector<std::int32_t>& strides) {
    return TorchZip(pickle::Whole(pickle::Dict(
                        {pickle::Text("w"), pickle::Rebuild(pickle::Storage(type, "0", elements),
                                                            offset, sizes, strides)})),
                    {{"0", bytes}});
  }
  Strings Notes(const formats::TensorReader& reader) {
    Strings notes;
    for (const std::string& note : reader.notes()) {
      EXPECT_TRUE(note.starts_with(Path("x.pt") + ": ")) << note;
      notes.push_back(note.substr(Path("x.pt").size() + 2));
    }
    return notes;
  }
};

TEST_F(TorchFiles, AsTorchWritesThem) {
  ASSERT_EQ(kWritten.size(), 169u);
  const auto reader = Read(TorchZip(kWritten, {{"0", kSix}}));
  const formats::TensorInfo& info = reader->contents().tensors.at(0);
  EXPECT_EQ(info.name, "w");
  EXPECT_EQ(info.dtype, "float32");
  EXPECT_EQ(info.type, DataType::kFloat32);
  EXPECT_EQ(info.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(info.bytes, 24u);
  EXPECT_EQ(ReadTensor(*reader, 0), kSix);
  EXPECT_TRUE(reader->notes().empty());
}

TEST_F(TorchFiles, LegacyOnes) {
  const std::string keys = pickle::Whole("](" + pickle::Text("0") + 'e');
  const auto reader = Read(LegacyTorch(kWritten, keys, LittleEndian(6, 8) + kSix));
  EXPECT_EQ(ReadTensor(*reader, "w"), kSix);
  // A part of a storage, as torch below 0.4 wrote views of one: the last four of six.
  const std::string part =
      pickle::Tuple({pickle::Text("storage"), pickle::Global("torch", "FloatStorage"),
                     pickle::Text("0"), pickle::Text("cpu"), pickle::Int(6),
                     pickle::Tuple({pickle::Text("1"), pickle::Int(2), pickle::Int(4)})}) +
      'Q';
  const auto view = Read(LegacyTorch(
      pickle::Whole(pickle::Dict({pickle::Text("v"), pickle::Rebuild(part, 1, {2}, {2})})), keys,
      LittleEndian(6, 8) + kSix));
  EXPECT_EQ(ReadTensor(*view, "v"), kSix.substr(12, 4) + kSix.substr(20, 4));
}

TEST_F(TorchFiles, BigEndianStorages) {
  const std::string bytes =
      TorchZip(pickle::Whole(pickle::Dict(
                   {pickle::Text("w"),
                    pickle::Rebuild(pickle::Storage("ShortStorage", "0", 4), 0, {2, 2}, {1, 2})})),
               {{"0", "aAbBcCdD"}}, "big");
  EXPECT_EQ(ReadTensor(*Read(bytes), "w"), "AaCcBbDd");
}

// Every range of views of many kinds, against the definition of a stride.
TEST_F(TorchFiles, ViewsInAnyPieces) {
  struct View {
    std::int32_t offset;
    std::vector<std::int32_t> sizes, strides;
  };
  const View views[] = {
      {0, {4, 5}, {5, 1}},
      {3, {5, 4}, {1, 5}},
      {0, {3, 2, 4}, {1, 30, 3}},
      {7, {6}, {9}},
      {2, {4, 6}, {0, 3}},
      {1, {3, 4}, {2, 0}},
      {0, {2, 3, 2}, {0, 0, 1}},
      {5, {1, 7, 1}, {99, 2, 50}},
      {0, {4, 3}, {2, 1}},
      {11, {2, 2, 2, 3}, {24, 12, 6, 2}},
      {9, {}, {}},
  };
  std::string data;
  for (int i = 0; i < 100; ++i) data += {static_cast<char>(i), static_cast<char>(i ^ 0x5A)};
  for (const View& view : views) {
    const auto reader = Read(One("HalfStorage", data, 100, view.offset, view.sizes, view.strides));
    std::string expected;
    std::size_t n = 1;
    for (const std::int32_t size : view.sizes) n *= static_cast<std::size_t>(size);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t rest = i;
      auto at = static_cast<std::size_t>(view.offset);
      for (std::size_t d = view.sizes.size(); d-- > 0;) {
        const auto size = static_cast<std::size_t>(view.sizes[d]);
        at += rest % size * static_cast<std::size_t>(view.strides[d]);
        rest /= size;
      }
      expected += data.substr(2 * at, 2);
    }
    EXPECT_EQ(ReadTensor(*reader, 0), expected);
    for (std::size_t begin = 0; begin < n; ++begin) {
      for (std::size_t end = begin; end <= n; ++end) {
        std::string some(2 * (end - begin), '\xEE');
        reader->Read(0, 2 * begin, std::as_writable_bytes(std::span(some)));
        ASSERT_EQ(some, expected.substr(2 * begin, some.size())) << begin << ' ' << end;
      }
    }
  }
}

class TurnedMatrix : public TorchFiles {
 protected:
  // A matrix of int16 that is stored by columns, and read in tiles, two of them.
  void Check(std::size_t rows, std::size_t columns) {
    constexpr std::size_t kTile = std::size_t{8} << 20;
    std::string data(2 * rows * columns, '\0'), expected = data;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        const std::size_t stored = column * rows + row, at = row * columns + column;
        const std::size_t value = stored * 40503 >> 3;
        data[2 * stored] = expected[2 * at] = static_cast<char>(value);
        data[2 * stored + 1] = expected[2 * at + 1] = static_cast<char>(value >> 8);
      }
    }
    const auto n = [](std::size_t size) { return static_cast<std::int32_t>(size); };
    const auto reader =
        Read(One("ShortStorage", data, n(rows * columns), 0, {n(rows), n(columns)}, {1, n(rows)}));
    EXPECT_TRUE(ReadTensor(*reader, 0) == expected);
    const std::size_t end = expected.size();
    for (const std::size_t begin :
         {end - 20'000, std::size_t{0}, kTile - 8, kTile, std::size_t{2}, end - 2}) {
      std::string some(std::min<std::size_t>(20'000, end - begin), '\xEE');
      reader->Read(0, begin, std::as_writable_bytes(std::span(some)));
      EXPECT_TRUE(some == expected.substr(begin, some.size())) << begin;
    }
  }
};

TEST_F(TurnedMatrix, OfColumnsFarApart) { Check(3000, 1500); }

// What lies between the elements of a row is read with them.
TEST_F(TurnedMatrix, OfShortColumns) { Check(40, 110'000); }

TEST_F(TorchFiles, TheRootIsFoundOrChosen) {
  const std::string storage = pickle::Storage("ByteStorage", "0", 4);
  const auto tensor = [&](std::int32_t offset) {
    return pickle::Rebuild(storage, offset, {2}, {1});
  };
  const std::string weights = pickle::Dict(
      {pickle::Text("a"), tensor(0), pickle::Text("b"), pickle::Dict({pickle::Int(7), tensor(2)})});
  const auto file = [&](const std::string& top) {
    return TorchZip(pickle::Whole(top), {{"0", "wxyz"}});
  };
  const auto names = [&](const std::string& top, const std::string& root = {}) {
    return TensorNames(*Read(file(top), root));
  };
  const Strings both = {"a", "b.7"};
  EXPECT_EQ(names(weights), both);
  EXPECT_EQ(names(pickle::Dict({pickle::Text("module"), weights, pickle::Text("step"), "K\x03"})),
            both);
  EXPECT_EQ(names(pickle::Dict({pickle::Text("x"), weights, pickle::Text("b.c"), weights}), "b.c"),
            both);
  EXPECT_EQ(
      names(pickle::Dict({pickle::Text("x"), pickle::Dict({pickle::Text("y"), weights})}), "x.y"),
      both);
  EXPECT_EQ(names(pickle::Dict({pickle::Text("x"), weights}), "."), (Strings{"x.a", "x.b.7"}));
  EXPECT_EQ(names("](" + tensor(0) + tensor(1) + 'e'), (Strings{"0", "1"}));
  EXPECT_EQ(names(tensor(1)), Strings{"x"});
  EXPECT_EQ(names("}"), Strings{});
  const std::string two =
      pickle::Dict({pickle::Text("ema"), weights, pickle::Text("model"), weights});
  EXPECT_EQ(ErrorOf([&] { names(two); }),
            "2 " + Path("x.pt") +
                ": has its tensors in \"ema\", \"model\", and nothing says which are the model's");
  EXPECT_EQ(names(two, "ema"), both);
  EXPECT_EQ(ErrorOf([&] { names(two, "emo"); }),
            "2 " + Path("x.pt") + ": has no root \"emo\"; the keys there are \"ema\", \"model\"");
  // Of other formats there is none to choose.
  WriteBytes(Path("x.npy"), Npy(NpyDict("|u1", "(1,)"), "1"));
  formats::OpenOptions options;
  options.root = "model";
  EXPECT_EQ(ErrorOf([&] { checkpoint::OpenTensorFile(Path("x.npy"), options); }),
            "2 " + Path("x.npy") + ": has no root to choose, as torch's files have one");
}

TEST_F(TorchFiles, SayWhatIsSharedAndWhatIsLeftOut) {
  const std::string storage = pickle::Storage("ByteStorage", "0", 4);
  const std::string tensor = pickle::Rebuild(storage, 0, {4}, {1});
  const std::string weights = pickle::Dict(
      {pickle::Text("w"), tensor, pickle::Text("tied"), tensor, pickle::Text("n"), "K\x03"});
  const std::string args = pickle::Global("argparse", "Namespace") + ")\x81}" + pickle::Text("lr") +
                           "G\x3F\xB9\x99\x99\x99\x99\x99\x9Asb";
  const auto reader = Read(TorchZip(
      pickle::Whole(pickle::Dict({pickle::Text("args"), args, pickle::Text("model"), weights})),
      {{"0", "wxyz"}}));
  EXPECT_EQ(Notes(*reader),
            (Strings{"the tensors are those of its \"model\"",
                     "1 value that is not a tensor is left out (n)",
                     "1 call beside the tensors (argparse.Namespace) was not made; nothing was "
                     "imported or run",
                     "2 tensors share storages (w and tied): each is read under its own name"}));
  EXPECT_EQ(ReadTensor(*reader, "tied"), "wxyz");
}

}  // namespace
}  // namespace tensorcast::io

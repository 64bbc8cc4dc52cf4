// torch's files that lie, and pickles that would run something: each refused in one line.
//
// SPDX-License-Identifier: Apache-2.0
#include "torch_bytes.h"

namespace tensorcast::io {
namespace {

using TorchBadInput = FileTest;
using pickle::Dict;
using pickle::Global;
using pickle::Int;
using pickle::Rebuild;
using pickle::Text;
using pickle::Tuple;
using pickle::Whole;

const std::string kData = "abcdefghijklmnop";  // 4 floats

std::string Pickled(const std::string& pickle) { return TorchZip(pickle, {{"0", kData}}); }
std::string Weight(const std::string& value) { return Pickled(Whole(Dict({Text("w"), value}))); }

std::string Floats(std::int32_t elements = 4) {
  return pickle::Storage("FloatStorage", "0", elements);
}

// A name for each thing that a pickle can call on its way to running something.
std::vector<BadFile> Malicious() {
  const std::string command = Tuple({Text("touch /tmp/ran")});
  const auto object = [](const std::string& name) {
    return "5 FILE: is an object of \"" + name +
           "\", which would have to be imported; nothing was: save the model's state_dict(), a "
           "dict "
           "of tensors";
  };
  const auto weight = [](const std::string& name) {
    return "5 FILE: \"w\" is an object of \"" + name +
           "\", which would have to be imported; nothing was: save the model's state_dict(), a "
           "dict "
           "of tensors";
  };
  std::string tuples = "K\x01q";
  tuples += '\0';
  for (int i = 0; i < 200; ++i) {
    tuples += "h";
    tuples += static_cast<char>(i);
    tuples += "h";
    tuples += static_cast<char>(i);
    tuples += "\x86q";
    tuples += static_cast<char>(i + 1);
  }
  std::string lists = "]q";
  lists += '\0';
  for (int i = 0; i < 30; ++i) {
    lists += "](";
    for (int k = 0; k < 10; ++k) lists += std::string("h") + static_cast<char>(i);
    lists += std::string("eq") + static_cast<char>(i + 1);
  }
  return {
      {"os.system", Pickled(Whole(pickle::Call(Global("os", "system"), {Text("touch /tmp/ran")}))),
       object("os.system")},
      {"posix.system beside a weight",
       Pickled(Whole(Dict({Text("x"), pickle::Call(Global("posix", "system"), {Text("id")}),
                           Text("w"), Rebuild(Floats(), 0, {4}, {1})}))),
       "5 FILE: \"x\" is an object of \"posix.system\", which would have to be imported; nothing "
       "was: save the model's state_dict(), a dict of tensors"},
      {"eval", Weight(pickle::Call(Global("builtins", "eval"), {Text("1")})),
       weight("builtins.eval")},
      {"exec of Python 2", Weight(pickle::Call(Global("__builtin__", "exec"), {Text("1")})),
       weight("__builtin__.exec")},
      {"NEWOBJ", Weight(Global("subprocess", "Popen") + command + "\x81"),
       weight("subprocess.Popen")},
      {"what a call gives is called",
       Weight(
           pickle::Call(pickle::Call(Global("builtins", "getattr"), {Text("os"), Text("system")}),
                        {Text("id")})),
       weight("builtins.getattr")},
      {"attributes of an object", Weight(pickle::Call(Global("os", "system"), {}) + "}b"),
       weight("os.system")},
      {"a rebuilding function of another",
       Weight(pickle::Call(Global("torch._tensor", "_rebuild_from_type_v2"),
                           {Global("os", "system"), Global("torch", "Tensor"), command, "N"})),
       weight("os.system")},
      {"a type of its own",
       Weight(pickle::Call(
           Global("torch._tensor", "_rebuild_from_type_v2"),
           {Global("torch._utils", "_rebuild_tensor_v2"), Global("evil", "Tensor"), command, "N"})),
       weight("evil.Tensor")},
      {"itself",
       Weight(pickle::Call(Global("torch._tensor", "_rebuild_from_type_v2"),
                           {Global("torch._tensor", "_rebuild_from_type_v2"),
                            Global("torch", "Tensor"), "()t", "N"})),
       ""},
      {"the class itself", Weight(Global("os", "system")), weight("os.system")},
      {"INST", Pickled("\x80\x02(X\x02\0\0\0idios\nsystem\n."), ""},
      {"INST, whole", Pickled(std::string("\x80\x02(X\x02\0\0\0id", 9) + "ios\nsystem\n."), ""},
      {"OBJ", Weight('(' + Global("os", "system") + Text("id") + 'o'), ""},
      {"STACK_GLOBAL", Weight(Text("os") + Text("system") + "\x93"), ""},
      {"EXT1", Weight("\x82\x01"), ""},
      {"tuples in tuples, each twice", Weight(tuples), ""},
      {"lists in lists, each ten times", Weight(lists), ""},
      {"a list in itself", Weight(std::string("]q\0h\0a", 6)), ""},
  };
}

std::vector<BadFile> Pickles() {
  return {
      {"nothing", Pickled(""), ""},
      {"no STOP", Pickled("\x80\x02}"), ""},
      {"STOP alone", Pickled("\x80\x02."), ""},
      {"two values", Pickled("\x80\x02NN."), ""},
      {"a mark left", Pickled("\x80\x02(N."), ""},
      {"bytes behind its end", Pickled(Whole("}") + "x"), ""},
      {"protocol 4", Pickled("\x80\x04}."), ""},
      {"no pickle", Pickled("hello"), ""},
      {"an unknown opcode", Pickled("\x80\x02\xFF."), ""},
      {"a value of the memo that is none", Pickled(Whole("h\x05")), ""},
      {"a number of the memo far away", Pickled(Whole(std::string("}r\xFF\xFF\xFF\xFF"))), ""},
      {"nothing to remember", Pickled(Whole(std::string("q\0", 2))), ""},
      {"a tuple of nothing", Pickled(Whole("\x86")), ""},
      {"below the mark", Pickled(Whole("N(\x85")), ""},
      {"TUPLE without a mark", Pickled(Whole("t")), ""},
      {"APPENDS to a dict", Pickled(Whole("}(Ne")), ""},
      {"SETITEMS of an odd number", Pickled(Whole("}(Nu")), ""},
      {"SETITEM of a list", Pickled(Whole("]NNs")), ""},
      {"a call without a tuple", Pickled(Whole(Global("a", "b") + "NR")), ""},
      {"a call of a number", Pickled(Whole("K\x01)R")), ""},
      {"BUILD of a number", Pickled(Whole("K\x01Nb")), ""},
      {"a text longer than the file", Pickled(Whole("X\xFF\xFF\xFF\xFF")), ""},
      {"a short text longer than the file", Pickled(Whole("U\x7F")), ""},
      {"a global without its end",
       Pickled("\x80\x02"
               "cos\nsys"),
       ""},
      {"a global of many bytes", Pickled(Whole(Global(std::string(600, 'a'), "b"))), ""},
      {"a number as the top", Pickled(Whole("K\x01")), ""},
  };
}

std::vector<BadFile> Tensors() {
  const auto id = [](const std::string& tuple) { return Weight(tuple + 'Q'); };
  const std::string name = Text("storage"), type = Global("torch", "FloatStorage");
  const auto v3 = [](const std::string& dtype) {
    const std::string untyped = Tuple({Text("storage"), Global("torch.storage", "UntypedStorage"),
                                       Text("0"), Text("cpu"), Int(16)}) +
                                'Q';
    return Global("torch._utils", "_rebuild_tensor_v3") + '(' + untyped + Int(0) +
           pickle::Ints({2}) + pickle::Ints({1}) + "\x89}" + Global("torch", dtype) + "tR";
  };
  return {
      {"an id that is no tuple", Weight("NQ"), ""},
      {"an id of a module", id(Tuple({Text("module"), type, Text("0"), Text("cpu"), Int(4)})), ""},
      {"an id cut short", id(Tuple({name, type, Text("0")})), ""},
      {"a key that is no text", id(Tuple({name, type, Int(0), Text("cpu"), Int(4)})), ""},
      {"no class", id(Tuple({name, "N", Text("0"), Text("cpu"), Int(4)})), ""},
      {"another class", id(Tuple({name, Global("os", "system"), Text("0"), Text("cpu"), Int(4)})),
       ""},
      {"negative elements", id(Tuple({name, type, Text("0"), Text("cpu"), Int(-4)})), ""},
      {"a part that leaves its storage",
       id(Tuple({name, type, Text("0"), Text("cpu"), Int(4), Tuple({Text("1"), Int(2), Int(3)})})),
       ""},
      {"a storage of two sizes",
       Pickled(Whole(Tuple({Rebuild(Floats(4), 0, {1}, {1}), Rebuild(Floats(3), 0, {1}, {1})}))),
       ""},
      {"a storage under the root", Weight(Floats()), ""},
      {"a storage that is not there",
       Weight(Rebuild(pickle::Storage("FloatStorage", "7", 4), 0, {4}, {1})), ""},
      {"a storage larger than its member", Weight(Rebuild(Floats(5), 0, {4}, {1})), ""},
      {"beyond its storage", Weight(Rebuild(Floats(), 1, {2, 2}, {2, 1})), ""},
      {"an offset beyond it", Weight(Rebuild(Floats(), 4, {}, {})), ""},
      {"strides that overflow",
       Weight(Rebuild(Floats(), 0, {0x7FFFFFFF, 0x7FFFFFFF, 3}, {0x7FFFFFFF, 0x7FFFFFFF, 1})), ""},
      {"a shape that overflows",
       Weight(Rebuild(Floats(), 0, {0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF}, {0, 0, 0})), ""},
      {"a negative size", Weight(Rebuild(Floats(), 0, {-1}, {1})), ""},
      {"a negative stride", Weight(Rebuild(Floats(), 3, {4}, {-1})), ""},
      {"sizes without strides", Weight(Rebuild(Floats(), 0, {4}, {})), ""},
      {"65 dimensions",
       Weight(Rebuild(Floats(), 0, std::vector<std::int32_t>(65, 1),
                      std::vector<std::int32_t>(65, 1))),
       ""},
      {"no storage", Weight(Rebuild("N", 0, {4}, {1})), ""},
      {"too few arguments", Weight(pickle::Call(Global("torch._utils", "_rebuild_tensor_v2"), {})),
       ""},
      {"complex", Weight(Rebuild(pickle::Storage("ComplexFloatStorage", "0", 2), 0, {2}, {1})), ""},
      {"quantised", Weight(Rebuild(pickle::Storage("QInt8Storage", "0", 2), 0, {2}, {1})), ""},
      {"4 bits", Weight(v3("uint4")), ""},
      {"an unknown dtype", Weight(v3("float7")), ""},
      {"the conjugate", Weight(Rebuild(Floats(), 0, {4}, {1}, Dict({Text("conj"), "\x88"}))), ""},
      {"the negative", Weight(Rebuild(Floats(), 0, {4}, {1}, Dict({Text("neg"), Int(1)}))), ""},
      {"one name twice",
       Pickled(Whole(Dict({Text("a.b"), Rebuild(Floats(), 0, {4}, {1}), Text("a"),
                           Dict({Text("b"), Rebuild(Floats(), 0, {4}, {1})})}))),
       ""},
      {"a key that is no name", Pickled(Whole(Dict({"N", Rebuild(Floats(), 0, {4}, {1})}))), ""},
  };
}

std::vector<BadFile> Files() {
  const std::string keys = Whole("](" + Text("0") + 'e');
  const std::string weight = Whole(Dict({Text("w"), Rebuild(Floats(), 0, {4}, {1})}));
  const std::string four = LittleEndian(4, 8) + kData;
  ZipEntry deflated("m/data.pkl", weight);
  deflated.Deflate(DeflateStored(weight));
  ZipEntry storage("m/data/0", kData);
  storage.Deflate(DeflateStored(kData));
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  return {
      {"TorchScript",
       Zip({ZipEntry("m/data.pkl", weight), ZipEntry("m/constants.pkl", "\x80\x02).")}), ""},
      {"a byte order that is none", TorchZip(weight, {{"0", kData}}, "middle"), ""},
      {"a deflated pickle", Zip({deflated}), ""},
      {"a deflated storage", Zip({ZipEntry("m/data.pkl", weight), storage}), ""},
      {"a tar archive", tar, ""},
      {"no file of torch's", "hello", ""},
      {"nothing", "", ""},
      {"another pickle", Whole("}"), ""},
      {"another protocol", LegacyTorch("", "", "").substr(0, 15) + Whole("K\x01"), ""},
      {"legacy: no storage", LegacyTorch(weight, Whole("]"), ""), ""},
      {"legacy: another storage", LegacyTorch(weight, Whole("](" + Text("9") + 'e'), four), ""},
      {"legacy: a storage twice",
       LegacyTorch(weight, Whole("](" + Text("0") + Text("0") + 'e'), four + four), ""},
      {"legacy: another size", LegacyTorch(weight, keys, LittleEndian(5, 8) + kData), ""},
      {"legacy: cut", LegacyTorch(weight, keys, four.substr(0, 20)), ""},
      {"legacy: bytes behind", LegacyTorch(weight, keys, four + "x"), ""},
      {"legacy: no list", LegacyTorch(weight, Whole("}"), four), ""},
  };
}

class TorchRefused : public TorchBadInput,
                     public ::testing::WithParamInterface<std::vector<BadFile> (*)()> {};

TEST_P(TorchRefused, InOneLine) {
  const std::string path = Path("x.pt");
  for (const BadFile& file : GetParam()()) {
    WriteBytes(path, file.bytes);
    EXPECT_EQ(ReplaceAll(ErrorOf([&] { Open(path); }), path, "FILE"), file.error) << file.what;
  }
}

INSTANTIATE_TEST_SUITE_P(, TorchRefused, ::testing::Values(Malicious, Pickles, Tensors, Files));

TEST_F(TorchBadInput, CutAtEveryByte) {
  const std::string weight = Whole(Dict({Text("w"), Rebuild(Floats(), 0, {4}, {1})}));
  const std::string keys = Whole("](" + Text("0") + 'e');
  const std::string path = Path("x.pt");
  const std::string legacy = LegacyTorch(weight, keys, LittleEndian(4, 8) + kData);
  for (std::size_t size = 0; size < legacy.size(); ++size) {
    WriteBytes(path, std::string_view(legacy).substr(0, size));
    EXPECT_EQ(ErrorOf([&] { Open(path); }).substr(0, path.size() + 2), "3 " + path) << size;
  }
  for (std::size_t size = 0; size < weight.size(); ++size) {
    WriteBytes(path, Pickled(weight.substr(0, size)));
    EXPECT_EQ(ErrorOf([&] { Open(path); }).substr(0, path.size() + 2), "3 " + path) << size;
  }
}

}  // namespace
}  // namespace tensorcast::io

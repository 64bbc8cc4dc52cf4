// torch's files that lie, and pickles that would run something: each refused in one line.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

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

// A tensor of one dimension; its numbers as they are pickled.
std::string LargeRebuild(const std::string& offset, const std::string& size,
                         const std::string& stride) {
  return pickle::Call(Global("torch._utils", "_rebuild_tensor_v2"),
                      {Floats(), offset, Tuple({size}), Tuple({stride}), "\x89", "}"});
}

// A tensor of two elements of torch's dtype, in an untyped storage.
std::string RebuildOf(const std::string& dtype, const std::string& key = "0") {
  const std::string untyped = Tuple({Text("storage"), Global("torch.storage", "UntypedStorage"),
                                     Text(key), Text("cpu"), Int(16)}) +
                              'Q';
  return Global("torch._utils", "_rebuild_tensor_v3") + '(' + untyped + Int(0) + pickle::Ints({2}) +
         pickle::Ints({1}) + "\x89}" + Global("torch", dtype) + "tR";
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
  // What one opcode remembers again and again is counted where it is gone through again and again.
  std::string metadata = "}(" + ReplaceAll(std::string(200'000, 'x'), "x", "NN") + "uq";
  metadata += '\0';
  std::string again;
  for (int i = 0; i < 30; ++i) {
    again += Rebuild(Floats(), 0, {4}, {1}, std::string("h\0", 2));
  }
  std::string pairs = "]q";
  pairs += '\0';
  for (int i = 0; i < 30; ++i)
    pairs += "(" + ReplaceAll(std::string(100'000, 'x'), "x", "NN\x86") + "e";
  return {
      {"one large dict as the metadata of many tensors", Pickled(Whole(Tuple({metadata, again}))),
       "5 FILE: m/data.pkl: has more than 8000000 values (pickle, offset 402667)"},
      {"an OrderedDict of very many pairs",
       Pickled(Whole(pickle::Call(Global("collections", "OrderedDict"), {pairs}))),
       "5 FILE: m/data.pkl: has more than 8000000 values (pickle, offset 8100077)"},
      {"many values on the stack", Pickled(Whole('(' + std::string(1'000'001, 'N') + 't')),
       "5 FILE: m/data.pkl: puts more than 1000000 values on its stack (pickle, offset 1000003)"},
      {"marks within marks", Pickled(Whole(std::string(1'000'001, '('))),
       "5 FILE: m/data.pkl: sets too many marks (pickle, offset 1000002)"},
      {"tuples within tuples", Weight('N' + std::string(100'000, '\x85')),
       "5 FILE: has dicts and lists within each other to more than 64 levels, or one within "
       "itself"},
      {"a dict in itself",
       Pickled(Whole(std::string("}q\0", 3) + Text("a") + std::string("h\0s", 3) + Text("w") +
                     Rebuild(Floats(), 0, {4}, {1}) + 's')),
       "5 FILE: has dicts and lists within each other to more than 64 levels, or one within "
       "itself"},
      {"pip.main by way of a dict's key",
       Pickled(
           Whole(Dict({pickle::Call(Global("pip", "main"), {}), Rebuild(Floats(), 0, {4}, {1})}))),
       "5 FILE: its root has tensors under a key, \"pip.main\", that is neither a text nor an "
       "integer"},
      {"a rebuilding function that is torch's and none of a tensor",
       Weight(pickle::Call(Global("torch", "load"), {Text("http://localhost/x")})),
       weight("torch.load")},
      {"a global with a path of attributes",
       Weight(pickle::Call(Global("torch._utils", "os.system"), {})),
       weight("torch._utils.os.system")},
      {"a global of control characters", Weight(Global("\x1b[31mos", "system\x07")),
       weight("\\x1B[31mos.system\\x07")},
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
       "3 FILE: m/data.pkl: calls torch._tensor._rebuild_from_type_v2 of itself (pickle, offset "
       "104)"},
      {"the class itself", Weight(Global("os", "system")), weight("os.system")},
      {"INST", Weight('(' + Text("id") + "ios\nsystem\n"),
       "5 FILE: m/data.pkl: has the opcode INST, which torch.save does not write (pickle, offset "
       "18)"},
      {"OBJ", Weight('(' + Global("os", "system") + Text("id") + 'o'),
       "5 FILE: m/data.pkl: has the opcode OBJ, which torch.save does not write (pickle, offset "
       "29)"},
      {"STACK_GLOBAL", Weight(Text("os") + Text("system") + "\x93"),
       "5 FILE: m/data.pkl: has the opcode STACK_GLOBAL, which torch.save does not write (pickle, "
       "offset 28)"},
      {"EXT1", Weight("\x82\x01"),
       "5 FILE: m/data.pkl: has the opcode EXT1, which torch.save does not write (pickle, offset "
       "10)"},
      {"tuples in tuples, each twice", Weight(tuples),
       "5 FILE: has more than 10000000 values in its dicts and lists, counted by every way to "
       "them"},
      {"lists in lists, each ten times", Weight(lists),
       "5 FILE: has more than 10000000 values in its dicts and lists, counted by every way to "
       "them"},
      {"a list in itself", Weight(std::string("]q\0h\0a", 6)),
       "5 FILE: has dicts and lists within each other to more than 64 levels, or one within "
       "itself"},
  };
}

std::vector<BadFile> Pickles() {
  return {
      {"nothing", Pickled(""),
       "3 FILE: m/data.pkl: is cut short: its pickle has no end (pickle, offset 0)"},
      {"no STOP", Pickled("\x80\x02}"),
       "3 FILE: m/data.pkl: is cut short: its pickle has no end (pickle, offset 3)"},
      {"STOP alone", Pickled("\x80\x02."),
       "3 FILE: m/data.pkl: takes a value from its stack where there is none (pickle, offset 2)"},
      {"two values", Pickled("\x80\x02NN."),
       "3 FILE: m/data.pkl: ends with more than one value on its stack (pickle, offset 4)"},
      {"a mark left", Pickled("\x80\x02(N."),
       "3 FILE: m/data.pkl: ends with more than one value on its stack (pickle, offset 4)"},
      {"protocol 4", Pickled("\x80\x04}."),
       "5 FILE: m/data.pkl: is a pickle of protocol 4; torch.save writes 2, and no other is read "
       "(pickle, offset 0)"},
      {"no pickle", Pickled("hello"),
       "3 FILE: m/data.pkl: asks for value 101 of the 0 that it remembers (pickle, offset 0)"},
      {"an unknown opcode", Pickled("\x80\x02\xFF."),
       "5 FILE: m/data.pkl: has the opcode 0xFF, which torch.save does not write (pickle, offset "
       "2)"},
      {"a value of the memo that is none", Pickled(Whole("h\x05")),
       "3 FILE: m/data.pkl: asks for value 5 of the 0 that it remembers (pickle, offset 2)"},
      {"a number of the memo far away", Pickled(Whole(std::string("}r\xFF\xFF\xFF\xFF"))),
       "3 FILE: m/data.pkl: remembers a value as number 4294967295, after 0 (pickle, offset 3)"},
      {"nothing to remember", Pickled(Whole(std::string("q\0", 2))),
       "3 FILE: m/data.pkl: takes a value from its stack where there is none (pickle, offset 2)"},
      {"a tuple of nothing", Pickled(Whole("\x86")),
       "3 FILE: m/data.pkl: takes a value from its stack where there is none (pickle, offset 2)"},
      {"below the mark", Pickled(Whole("N(\x85")),
       "3 FILE: m/data.pkl: takes a value from its stack where there is none (pickle, offset 4)"},
      {"TUPLE without a mark", Pickled(Whole("t")),
       "3 FILE: m/data.pkl: goes back to a mark that it has not set (pickle, offset 2)"},
      {"APPENDS to a dict", Pickled(Whole("}(Ne")),
       "3 FILE: m/data.pkl: appends to something that is not a list (pickle, offset 5)"},
      {"SETITEMS of an odd number", Pickled(Whole("}(Nu")),
       "3 FILE: m/data.pkl: sets a key without a value (pickle, offset 5)"},
      {"SETITEM of a list", Pickled(Whole("]NNs")),
       "3 FILE: m/data.pkl: sets an item of something that is not a dict (pickle, offset 5)"},
      {"a call without a tuple", Pickled(Whole(Global("a", "b") + "NR")),
       "3 FILE: m/data.pkl: calls a global with something that is not a tuple (pickle, offset 8)"},
      {"a call of a number", Pickled(Whole("K\x01)R")),
       "3 FILE: m/data.pkl: calls something that is not a global (pickle, offset 5)"},
      {"BUILD of a number", Pickled(Whole("K\x01Nb")),
       "3 FILE: m/data.pkl: gives attributes to something that has none (pickle, offset 5)"},
      {"a text longer than the file", Pickled(Whole("X\xFF\xFF\xFF\xFF")),
       "3 FILE: m/data.pkl: is cut short in a text (pickle, offset 2)"},
      {"a short text longer than the file", Pickled(Whole("U\x7F")),
       "3 FILE: m/data.pkl: is cut short: its pickle has no end (pickle, offset 2)"},
      {"a global without its end",
       Pickled("\x80\x02"
               "cos\nsys"),
       "3 FILE: m/data.pkl: is cut short: its pickle has no end (pickle, offset 2)"},
      {"a global of many bytes", Pickled(Whole(Global(std::string(600, 'a'), "b"))),
       "3 FILE: m/data.pkl: has a global with a name of more than 512 bytes (pickle, offset 2)"},
      {"a number as the top", Pickled(Whole("K\x01")), "5 FILE: is not a dict of tensors"},
  };
}

std::vector<BadFile> Tensors() {
  const auto id = [](const std::string& tuple) { return Weight(tuple + 'Q'); };
  const std::string name = Text("storage"), type = Global("torch", "FloatStorage");
  const std::string kLargest = "\x8A\x08" + LittleEndian(INT64_MAX, 8);
  return {
      {"an id that is no tuple", Weight("NQ"),
       "3 FILE: m/data.pkl: has a persistent id that is not ('storage', class, key, location, "
       "elements) (pickle, offset 11)"},
      {"an id of a module", id(Tuple({Text("module"), type, Text("0"), Text("cpu"), Int(4)})),
       "3 FILE: m/data.pkl: has a persistent id that is not ('storage', class, key, location, "
       "elements) (pickle, offset 62)"},
      {"an id cut short", id(Tuple({name, type, Text("0")})),
       "3 FILE: m/data.pkl: has a persistent id that is not ('storage', class, key, location, "
       "elements) (pickle, offset 50)"},
      {"a key that is no text", id(Tuple({name, type, Int(0), Text("cpu"), Int(4)})),
       "3 FILE: m/data.pkl: has a persistent id that is not ('storage', class, key, location, "
       "elements) (pickle, offset 62)"},
      {"no class", id(Tuple({name, "N", Text("0"), Text("cpu"), Int(4)})),
       "3 FILE: m/data.pkl: has a storage whose class is not a global (pickle, offset 44)"},
      {"another class", id(Tuple({name, Global("os", "system"), Text("0"), Text("cpu"), Int(4)})),
       "5 FILE: m/data.pkl: has a storage of \"os.system\", which is not a known class of storages "
       "(pickle, offset 54)"},
      {"negative elements", id(Tuple({name, type, Text("0"), Text("cpu"), Int(-4)})),
       "3 FILE: m/data.pkl: has a storage that is not a number of elements (pickle, offset 63)"},
      {"a part that leaves its storage",
       id(Tuple({name, type, Text("0"), Text("cpu"), Int(4), Tuple({Text("1"), Int(2), Int(3)})})),
       "3 FILE: m/data.pkl: has a part of storage \"0\" that leaves it (pickle, offset 81)"},
      {"a storage of two sizes",
       Pickled(Whole(Tuple({Rebuild(Floats(4), 0, {1}, {1}), Rebuild(Floats(3), 0, {1}, {1})}))),
       "3 FILE: m/data.pkl: names storage \"0\" twice, with different types or sizes (pickle, "
       "offset 228)"},
      {"a storage under the root", Weight(Floats()),
       "5 FILE: \"w\" is a storage, without the shape of a tensor"},
      {"a storage that is not there",
       Weight(Rebuild(pickle::Storage("FloatStorage", "7", 4), 0, {4}, {1})),
       "3 FILE: has no member for storage \"7\""},
      {"a storage larger than its member", Weight(Rebuild(Floats(5), 0, {4}, {1})),
       "3 FILE: member \"m/data/0\" has 16 bytes; its storage is of 5 elements of 4 bytes"},
      {"a storage of a long name",
       Weight(Rebuild(pickle::Storage("FloatStorage", std::string(600, '0'), 4), 0, {4}, {1})),
       "3 FILE: m/data.pkl: names a storage by more than 512 bytes (pickle, offset 696)"},
      {"an offset of 2^63 - 1", Weight(LargeRebuild(kLargest, Int(2), Int(1))),
       "3 FILE: tensor \"w\" of the shape [2] and the strides [1] from element 9223372036854775807 "
       "leaves its storage \"0\", of 4 elements"},
      {"a stride of 2^63 - 1", Weight(LargeRebuild(Int(0), Int(4), kLargest)),
       "3 FILE: tensor \"w\" of the shape [4] and the strides [9223372036854775807] from element 0 "
       "leaves its storage \"0\", of 4 elements"},
      {"a size of 2^63 - 1", Weight(LargeRebuild(Int(0), kLargest, Int(0))),
       "3 FILE: tensor \"w\" has the shape [9223372036854775807]: more elements than are read"},
      {"a size of 255 bytes",
       Weight(LargeRebuild(Int(0), "\x8A\xFF" + std::string(255, '\x7F'), Int(1))),
       "3 FILE: m/data.pkl: has a tensor's size that is not a number of elements (pickle, offset "
       "372)"},
      {"elements of 2^63 - 1", Weight(Tuple({name, type, Text("0"), Text("cpu"), kLargest}) + 'Q'),
       "5 FILE: \"w\" is a storage, without the shape of a tensor"},
      {"beyond its storage", Weight(Rebuild(Floats(), 1, {2, 2}, {2, 1})),
       "3 FILE: tensor \"w\" of the shape [2, 2] and the strides [2, 1] from element 1 leaves its "
       "storage \"0\", of 4 elements"},
      {"an offset beyond it", Weight(Rebuild(Floats(), 4, {}, {})),
       "3 FILE: tensor \"w\" of the shape [] and the strides [] from element 4 leaves its storage "
       "\"0\", of 4 elements"},
      {"strides that overflow",
       Weight(Rebuild(Floats(), 0, {0x7FFFFFFF, 0x7FFFFFFF, 3}, {0x7FFFFFFF, 0x7FFFFFFF, 1})),
       "3 FILE: tensor \"w\" has the shape [2147483647, 2147483647, 3]: more elements than are "
       "read"},
      {"a shape that overflows",
       Weight(Rebuild(Floats(), 0, {0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF}, {0, 0, 0})),
       "3 FILE: tensor \"w\" has the shape [2147483647, 2147483647, 2147483647]: more elements "
       "than are read"},
      {"a negative size", Weight(Rebuild(Floats(), 0, {-1}, {1})),
       "3 FILE: m/data.pkl: has a tensor's size that is not a number of elements (pickle, offset "
       "147)"},
      {"a negative stride", Weight(Rebuild(Floats(), 3, {4}, {-1})),
       "3 FILE: m/data.pkl: has a tensor's stride that is not a number of elements (pickle, offset "
       "147)"},
      {"sizes without strides", Weight(Rebuild(Floats(), 0, {4}, {})),
       "3 FILE: m/data.pkl: rebuilds a tensor of 1 size and 0 strides (pickle, offset 142)"},
      {"65 dimensions",
       Weight(Rebuild(Floats(), 0, std::vector<std::int32_t>(65, 1),
                      std::vector<std::int32_t>(65, 1))),
       "3 FILE: m/data.pkl: rebuilds a tensor of 65 dimensions; at most 64 are read (pickle, "
       "offset 787)"},
      {"no storage", Weight(Rebuild("N", 0, {4}, {1})),
       "3 FILE: m/data.pkl: rebuilds a tensor of something other than a storage, an offset, sizes "
       "and strides "
       "(pickle, offset 94)"},
      {"too few arguments", Weight(pickle::Call(Global("torch._utils", "_rebuild_tensor_v2"), {})),
       "3 FILE: m/data.pkl: rebuilds a tensor of something other than a storage, an offset, sizes "
       "and strides "
       "(pickle, offset 45)"},
      {"an unknown dtype", Weight(RebuildOf("float7")),
       "5 FILE: m/data.pkl: rebuilds a tensor of the dtype \"torch.float7\", which is not known "
       "(pickle, offset 144)"},
      {"one name twice",
       Pickled(Whole(Dict({Text("a.b"), Rebuild(Floats(), 0, {4}, {1}), Text("a"),
                           Dict({Text("b"), Rebuild(Floats(), 0, {4}, {1})})}))),
       "3 FILE: has two tensors of the name \"a.b\""},
      {"a key that is no name", Pickled(Whole(Dict({"N", Rebuild(Floats(), 0, {4}, {1})}))),
       "5 FILE: its root has tensors under a key that is neither a text nor an integer"},
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
  ZipEntry on_another("m/data/0", kData);
  on_another.offset = 0;
  on_another.local_name = "m/data.pkl";
  ZipEntry longer("m/data/0", kData);
  longer.size = longer.packed_size = 16'000;
  longer.local_size = longer.local_packed_size = 16'000;
  ZipEntry wide("m/data/0", kData);
  wide.size = wide.packed_size = UINT32_MAX;
  wide.central_extra = LittleEndian(1, 2) + LittleEndian(16, 2) + LittleEndian(INT64_MAX, 8) +
                       LittleEndian(INT64_MAX, 8);
  ZipEntry encrypted("m/data/0", kData);
  encrypted.flags = 1;
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  return {
      {"TorchScript",
       Zip({ZipEntry("m/data.pkl", weight), ZipEntry("m/constants.pkl", "\x80\x02).")}),
       "5 FILE: is a TorchScript program, whose tensors are attributes of its code; load it with "
       "torch.jit.load and save its state_dict()"},
      {"a byte order that is none", TorchZip(weight, {{"0", kData}}, "middle"),
       "3 FILE: member \"m/byteorder\" says \"middle\"; it has to be little or big"},
      {"a deflated pickle", Zip({deflated}),
       "5 FILE: member \"m/data.pkl\" is compressed, which torch.save does not do; unpack the "
       "archive and zip it with -0"},
      {"a deflated storage", Zip({ZipEntry("m/data.pkl", weight), storage}),
       "5 FILE: member \"m/data/0\" is compressed, which torch.save does not do; unpack the "
       "archive and zip it with -0"},
      {"a storage that lies on the pickle", Zip({ZipEntry("m/data.pkl", weight), on_another}),
       "3 FILE: member \"m/data/0\" has another name in its local header, at offset 0, than in the "
       "central directory"},
      {"a storage that goes beyond the archive", Zip({ZipEntry("m/data.pkl", weight), longer}),
       "3 FILE: member \"m/data/0\" lies at offset 190 with 16000 bytes of data, beyond the "
       "central directory's offset 244"},
      {"a storage of 2^63 - 1 bytes", Zip({ZipEntry("m/data.pkl", weight), wide}),
       "3 FILE: member \"m/data/0\" lies at offset 190 with 9223372036854775807 bytes of data, "
       "beyond the central directory's offset 244"},
      {"an encrypted storage", Zip({ZipEntry("m/data.pkl", weight), encrypted}),
       "5 FILE: member \"m/data/0\" is encrypted; decrypt it first"},
      {"two members of a name",
       Zip({ZipEntry("m/data.pkl", weight), ZipEntry("m/data.pkl", weight),
            ZipEntry("m/data/0", kData)}),
       "3 FILE: member \"m/data.pkl\" is in the central directory twice"},
      {"a member outside of its folder",
       Zip({ZipEntry("m/data.pkl", weight), ZipEntry("m/../../data/0", kData)}),
       "3 FILE: member \"m/../../data/0\" has a name that leads out of its directory"},
      {"two pickles in two folders, the first without its storage",
       Zip({ZipEntry("a/data.pkl", weight), ZipEntry("b/data.pkl", weight),
            ZipEntry("b/data/0", kData)}),
       "3 FILE: has no member for storage \"0\""},
      {"a tar archive", tar,
       "5 FILE: is a tar archive, as the first versions of torch wrote; load it with torch.load, "
       "and "
       "save it again"},
      {"no file of torch's", "hello",
       "3 FILE: is not a file of torch.save: it is neither a ZIP archive nor begins with the magic "
       "number of the older ones"},
      {"nothing", "",
       "3 FILE: is not a file of torch.save: it is neither a ZIP archive nor begins with the magic "
       "number of the older ones"},
      {"another pickle", Whole("}"),
       "5 FILE: is a pickle that torch.save did not write; .safetensors, .npy, .npz, .pb, .pt, "
       ".pth, .bin, .ckpt, .onnx and .gguf files are read"},
      {"another protocol", LegacyTorch("", "", "").substr(0, 15) + Whole("K\x01"),
       "5 FILE: has another protocol than 1001 (pickle, offset 19)"},
      {"legacy: no storage", LegacyTorch(weight, Whole("]"), ""),
       "3 FILE: does not hold storage \"0\""},
      {"legacy: another storage", LegacyTorch(weight, Whole("](" + Text("9") + 'e'), four),
       "3 FILE: holds storage \"9\", which its pickle does not name"},
      {"legacy: a storage twice",
       LegacyTorch(weight, Whole("](" + Text("0") + Text("0") + 'e'), four + four),
       "3 FILE: holds storage \"0\" twice"},
      {"legacy: another size", LegacyTorch(weight, keys, LittleEndian(5, 8) + kData),
       "3 FILE: holds 5 elements of storage \"0\", which is of 4"},
      {"legacy: cut", LegacyTorch(weight, keys, four.substr(0, 20)),
       "3 FILE: is cut short in storage \"0\""},
      {"legacy: bytes behind", LegacyTorch(weight, keys, four + "x"),
       "3 FILE: has 1 byte behind its last storage"},
      {"legacy: no list", LegacyTorch(weight, Whole("}"), four),
       "3 FILE: has no list of keys where it should be (pickle, offset 178)"},
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

// Such a tensor is listed with its shape, so that the others can be had without it; reading it says
// why.
TEST_F(TorchBadInput, ListsWhatItDoesNotRead) {
  const std::string whole = Rebuild(Floats(), 0, {4}, {1});
  const auto floats = [](const std::string& name) {
    return Rebuild(Floats(), 0, {4}, {1}, Dict({Text(name), "\x88"}));
  };
  const std::vector<BadFile> all = {
      {"complex", Rebuild(pickle::Storage("ComplexDoubleStorage", "1", 2), 0, {2}, {1}),
       "(complex128) is of a type that is not read"},
      {"quantised", Rebuild(pickle::Storage("QInt8Storage", "1", 2), 0, {2}, {1}),
       "(qint8) is of a type that is not read"},
      {"4 bits", RebuildOf("uint4"), "(uint4) is of a type that is not read"},
      {"the conjugate", floats("conj"),
       "(float32) is the conjugate of what is stored: save its .resolve_conj()"},
      {"the negative", floats("neg"),
       "(float32) is the negative of what is stored: save its .resolve_neg()"},
      {"sparse",
       pickle::Call(Global("torch._utils", "_rebuild_sparse_tensor"),
                    {Global("torch", "sparse_coo"), Tuple({whole, whole, Tuple({Int(9)})})}),
       "(float32) is sparse: save its .to_dense()"},
      {"quantised by torch",
       pickle::Call(Global("torch._utils", "_rebuild_qtensor"),
                    {pickle::Storage("QInt8Storage", "1", 2), Int(0), Tuple({Int(2)}),
                     Tuple({Int(1)}), "N", "\x89", "N"}),
       "(qint8) is quantised by torch: save its .dequantize()"},
  };
  const std::string path = Path("x.pt");
  for (const BadFile& one : all) {
    WriteBytes(path,
               TorchZip(Whole(Dict({Text("w"), one.bytes, Text("v"), RebuildOf("int64", "2")})),
                        {{"0", kData}, {"1", kData.substr(0, 2)}, {"2", kData}}));
    const auto reader = Open(path);
    const std::vector<formats::TensorInfo>& tensors = reader->contents().tensors;
    ASSERT_EQ(tensors.size(), 2u) << one.what;
    EXPECT_TRUE(one.error.ends_with(tensors[0].why_not)) << one.what;
    EXPECT_TRUE(tensors[1].why_not.empty()) << one.what;
    std::vector<std::byte> out(16);
    EXPECT_EQ(ErrorOf([&] { reader->Read(0, 0, out); }),
              "5 " + path + ": tensor \"w\" " + one.error)
        << one.what;
    reader->Read(1, 0, out);
    EXPECT_EQ(std::memcmp(out.data(), kData.data(), 16), 0) << one.what;
  }
}

TEST_F(TorchBadInput, CutAtEveryByte) {
  const std::string weight = Whole(Dict({Text("w"), Rebuild(Floats(), 0, {4}, {1})}));
  const std::string keys = Whole("](" + Text("0") + 'e');
  const std::string path = Path("x.pt");
  const std::string legacy = LegacyTorch(weight, keys, LittleEndian(4, 8) + kData);
  for (std::size_t size = 0; size < legacy.size(); ++size) {
    WriteBytes(path, std::string_view(legacy).substr(0, size));
    // Without its whole magic number it is a pickle like any other.
    const std::string kind = size < 2 || size >= 15 ? "3 " : "5 ";
    EXPECT_EQ(ErrorOf([&] { Open(path); }).substr(0, path.size() + 2), kind + path) << size;
  }
  for (std::size_t size = 0; size < weight.size(); ++size) {
    WriteBytes(path, Pickled(weight.substr(0, size)));
    EXPECT_EQ(ErrorOf([&] { Open(path); }).substr(0, path.size() + 2), "3 " + path) << size;
  }
}

}  // namespace
}  // namespace tensorcast::io

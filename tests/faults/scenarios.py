"""The small conversions that meet the faults: of every format, and what else the tool does.

SPDX-License-Identifier: Apache-2.0
"""
import collections.abc
import dataclasses
import json
import os
import zipfile

import tensor_files as files  # first: it says where the others are
import make_torch_file as torch
from make_gguf import file_of
from make_model import node, tensor, value_info
from make_weights import number, text

# More than 1,024 bytes also in float16: smaller tensors of a model are left alone.
_SIZES = {"w": 600, "v": 700}


def values(name, seed):
    """The values of a tensor: such as float16 holds."""
    return [((i * 7 + seed * 311 + len(name) * 13) % 1500 - 700) / 8
            for i in range(_SIZES[name])]


def _floats(seed, kind="f4"):
    return [(name, kind, (size,), files.data_of(kind, values(name, seed)))
            for name, size in _SIZES.items()]


def _all(seed):
    return [*_floats(seed), ("ids", "i8", (2, 3), files.data_of("i8", [seed, 1, 2, 3, 4, -5]))]


def _one(seed):
    return _floats(seed)[0]


def _external(seed, kind="f4"):
    """A model whose data is in two files: one that is cast, one that is copied."""
    initializers, data = [], b""
    for name, _, shape, content in _floats(seed, kind):
        initializers.append(
            files.external_tensor_proto(name, kind, shape, "in.data", len(data), len(content)))
        data += content
    ids = files.data_of("i8", [seed] * 400)
    initializers.append(files.external_tensor_proto("ids", "i8", (400,), "in.ids", 0, len(ids)))
    return {"in.onnx": files.model(initializers, "w"), "in.data": data, "in.ids": ids}


def _external_typed(seed):
    """The same of one tensor, beside one whose float16 codes are typed numbers."""
    codes = [(i * 5 + seed) % 31744 for i in range(_SIZES["v"])]
    name, kind, shape, content = _one(seed)
    return {"in.onnx": files.model([
        files.external_tensor_proto(name, kind, shape, "in.data", 0, len(content)),
        files.typed_tensor_proto("v", (len(codes),), codes)], name), "in.data": content}


def _inline(seed):
    return {"in.onnx": files.model([files.tensor_proto(*tensor) for tensor in _all(seed)], "w")}


def _casts(seed):
    """A model of casts and its input."""
    graph = b"".join(text(1, node(words.split())) for words in (
        "Cast x -> y to=10", "Cast x -> z to=11", "Identity x -> same"))
    graph += text(11, value_info(["x", "FLOAT"]))
    graph += b"".join(text(12, value_info(words)) for words in (
        ["y", "FLOAT16"], ["z", "DOUBLE"], ["same", "FLOAT"]))
    content = number(1, 10) + text(8, text(1, "") + number(2, 21)) + text(7, graph)
    return {"in.onnx": content, "x.npy": files.npy(*_one(seed)[1:])}


def _cast_weights(seed):
    """A model whose weights are cast before they are read, one behind a Cast that can go."""
    graph = b"".join(text(1, node(words.split())) for words in (
        "Cast w -> w16 to=10", "Cast v -> v16 to=10", "Cast w16 -> same to=10",
        "Opaque same v16 -> y"))
    graph += b"".join(text(5, files.tensor_proto(*tensor)) for tensor in _floats(seed))
    graph += text(12, value_info(["y", "FLOAT16"]))
    return {"in.onnx": number(1, 10) + text(8, text(1, "") + number(2, 21)) + text(7, graph)}


def _node_tests(seed):
    graph = text(1, node("Cast x -> y to=10".split()))
    graph += text(11, value_info(["x", "FLOAT", "2"])) + text(12, value_info(["y", "FLOAT16", "2"]))
    folder = "node/test_cast_one/"
    return {folder + "model.onnx": number(1, 8) + text(8, text(1, "") + number(2, 19)) +
                                   text(7, graph),
            folder + "test_data_set_0/input_0.pb": tensor(["FLOAT", "2", "0000803f", "00000040"]),
            folder + "test_data_set_0/output_0.pb": tensor(["FLOAT16", "2", "003c", "0040"])}


def _checkpoint(seed):
    """A directory of two shards with its index and other files."""
    first, second = _all(seed)[:1], _all(seed)[1:]
    return {**_in_two_shards(first, second, {"torch_dtype": "float32"}),
            "in/tokenizer.json": b'"%d"' % seed, "in/more/notes.txt": b"%d" % seed}


def _checkpoint_of_many(seed):
    """The same with so many small files that they are synced together."""
    return {**_checkpoint(seed),
            **{f"in/notes/{i:02}.txt": b"%d" % (seed * i) for i in range(80)}}


def _mdf(seed):
    """An MDF model of two casts."""
    nodes = {f"n{i}": {"input_ports": {"x": {"shape": [2], "type": "float32"}},
                       "functions": {"f": {"function": "onnx::Cast",
                                           "args": {"input": "x", "to": 10 + i % 2}}},
                       "output_ports": {"y": {"value": "f"}}}
             for i in range(1 + seed)}
    model = {"format": "ModECI MDF v0.4", "generating_application": "test",
             "graphs": {"g": {"nodes": nodes, "edges": {}}}}
    return {"in.json": json.dumps({"m": model}).encode()}


def _many_casts(seed):
    """A model with more outputs than are synced one by one."""
    nodes = [f"Cast x -> y{i} to=10" for i in range(80)]
    graph = b"".join(text(1, node(words.split())) for words in nodes)
    graph += text(11, value_info(["x", "FLOAT"]))
    graph += b"".join(text(12, value_info([f"y{i}", "FLOAT16"])) for i in range(80))
    content = number(1, 10) + text(8, text(1, "") + number(2, 21)) + text(7, graph)
    return {"in.onnx": content, "x.npy": files.npy(*_one(seed)[1:])}


def _in_two_shards(first, second, config):
    """A directory of two files and its index; tensors as `files` takes them."""
    shards = {"in/model-00001-of-00002.safetensors": first,
              "in/model-00002-of-00002.safetensors": second}
    weight_map = {tensor[0]: os.path.basename(name)
                  for name, tensors in shards.items() for tensor in tensors}
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    return {**{name: files.safetensors(tensors) for name, tensors in shards.items()},
            "in/model.safetensors.index.json": json.dumps(index).encode(),
            "in/config.json": json.dumps(config).encode()}


def _scaled(seed):
    """Rows of one int8 of -1, 0 or 1, whose scales, in the other file, are the values' magnitudes."""
    codes, scales = [], []
    for name, size in _SIZES.items():
        numbers = values(name, seed)
        codes.append((f"{name}.weight", "i1", (size, 1),
                      files.data_of("i1", [(x > 0) - (x < 0) for x in numbers])))
        scales.append((f"{name}.weight_scale", "f4", (size, 1),
                       files.data_of("f4", [abs(x) or 1 for x in numbers])))
    return _in_two_shards(codes, scales, {
        "torch_dtype": "float32", "quantization_config": {"quant_method": "compressed-tensors"}})


def _rows(name, seed):
    """Rows of 70 integers, the largest of each 127: int8 holds them with scales of 1."""
    return [127 if i % 70 == 0 else (i * 7 + seed * 31 + len(name)) % 255 - 127
            for i in range(16 * 70)]


_LINEAR = ("model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight")


def _rows_of_two(seed):
    shards = [[(name, "f4", (16, 70), files.data_of("f4", _rows(name, seed)))] for name in _LINEAR]
    return _in_two_shards(*shards, {"torch_dtype": "float32"})


def _codes_and_scales(seed):
    return [*(files.data_of("i1", _rows(name, seed)) for name in _LINEAR),
            files.data_of("f4", [1.0] * 16)]


def _rows_of_layer(seed):
    """The same in one file."""
    return {"in.safetensors": files.safetensors(
        [(name, "f4", (16, 70), files.data_of("f4", _rows(name, seed))) for name in _LINEAR])}


_EXPERTS = {"l.experts.gate_up_proj": (2, 64, 24), "l.experts.down_proj": (2, 96, 20)}


def _expert_code(name, seed, input_, output):
    """Of float4e2m1: each group of inputs has one of the largest, so that its scale is 1."""
    return 7 if input_ % 32 == 0 else (input_ * 5 + output * 3 + seed + len(name)) % 16


def _experts(seed):
    """Values of float4e2m1, [experts, inputs, outputs]."""
    values_of = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    values_of += [-x for x in values_of]
    tensors = [[(name, "f4", shape, files.data_of("f4", [
        values_of[_expert_code(name, seed, k, r)] for _ in range(shape[0])
        for k in range(shape[1]) for r in range(shape[2])]))] for name, shape in _EXPERTS.items()]
    return _in_two_shards(*tensors, {"torch_dtype": "float32"})


def _blocks_and_scales(seed):
    """[experts, outputs, inputs / 2], and scales of 1."""
    return [*(bytes(_expert_code(name, seed, k, r) | _expert_code(name, seed, k + 1, r) << 4
                    for _ in range(shape[0]) for r in range(shape[2]) for k in range(0, shape[1], 2))
              for name, shape in _EXPERTS.items()),
            b"\x7f" * (2 * 24 * 2), b"\x7f" * (2 * 20 * 3)]


def _gguf(seed, names=("w", "v"), keys=""):
    """A GGUF file of plain tensors and one of blocks."""
    shapes = {"w": "600", "v": "2x350"}
    lines = [f"tensor {name} F32 {shapes[name]} " + " ".join(map(str, values(name, seed)))
             for name in names]
    return file_of("\n".join([keys, *lines, f"tensor q.{names[0]} Q8_0 2x32 003c{seed:02x} 02*31"]))


def _gguf_parts(seed):
    return {f"in-0000{part}-of-00002.gguf": _gguf(seed, name, (
        f"key split.no u16 {part - 1}\nkey split.count u16 2\nkey split.tensors.count i32 4"))
            for part, name in ((1, "w"), (2, "v"))}


def _torch(seed, names=("w", "v"), legacy=False):
    """A training checkpoint, one of whose tensors is stored transposed."""
    held = {}
    for name in names:
        numbers, half = values(name, seed), _SIZES[name] // 2
        turned = [x for pair in zip(numbers[:half], numbers[half:]) for x in pair]
        held[name] = (torch.view(torch.tensor("float32", turned), (2, half), (1, 2)) if name == "v"
                      else torch.tensor("float32", numbers))
    value = {"state_dict": held, "args": torch.Call("argparse.Namespace"), "epoch": seed}
    return (torch.legacy_file(value) if legacy else
            torch.zip_file(value, zipfile.ZIP_STORED, False, False))


def _torch_in_shards(seed):
    index = {"weight_map": {"w": "pytorch_model-00001-of-00002.bin",
                            "v": "pytorch_model-00002-of-00002.bin"}}
    return {"in/pytorch_model-00001-of-00002.bin": _torch(seed, "w"),
            "in/pytorch_model-00002-of-00002.bin": _torch(seed, "v", True),
            "in/pytorch_model.bin.index.json": json.dumps(index).encode(),
            "in/config.json": b'{"torch_dtype": "float32"}'}


def _code(seed, row, column):
    return (row * 3 + column * 5 + seed) % 16


_ROWS, _COLUMNS = 32, 64  # of the weight in groups
_AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # of the nibbles of a word


def _grouped(seed, method):
    """One weight of 4-bit codes, of zero points 8 and scales 1, as GPTQ or AWQ has it."""
    if method == "gptq":
        words = [[sum(_code(seed, n, 8 * j + i) << (4 * i) for i in range(8)) for n in range(_ROWS)]
                 for j in range(_COLUMNS // 8)]
        zero, more = 0x77777777, {"desc_act": False, "sym": True}
    else:
        words = [[sum(_code(seed, 8 * j + _AWQ_ORDER[i], k) << (4 * i) for i in range(8))
                  for j in range(_ROWS // 8)] for k in range(_COLUMNS)]
        zero, more = 0x88888888, {"version": "gemm", "zero_point": True}
    signed = [word - (word >> 31 << 32) for row in words for word in row]
    zeros = [zero - (zero >> 31 << 32)] * (_ROWS // 8)
    tensors = [("l.qweight", "i4", (len(words), len(words[0])), files.data_of("i4", signed)),
               ("l.qzeros", "i4", (1, _ROWS // 8), files.data_of("i4", zeros)),
               ("l.scales", "f2", (1, _ROWS), files.data_of("f2", [1.0] * _ROWS))]
    config = {"quantization_config": {"quant_method": method, "bits": 4, "group_size": _COLUMNS, **more}}
    return {"in/model.safetensors": files.safetensors(tensors),
            "in/config.json": json.dumps(config).encode()}


def _awq_words(seed):
    """The same codes as AWQ has them, and its scales."""
    words = [sum(_code(seed, 8 * j + _AWQ_ORDER[i], k) << (4 * i) for i in range(8))
             for k in range(_COLUMNS) for j in range(_ROWS // 8)]
    return [files.data_of("i4", [word - (word >> 31 << 32) for word in words]),
            files.data_of("i4", [0x88888888 - (1 << 32)] * (_ROWS // 8)),
            files.data_of("f2", [1.0] * _ROWS)]


def _ungrouped(seed):
    return [files.data_of("f2", [_code(seed, n, k) - 8 for n in range(_ROWS)
                                 for k in range(_COLUMNS)])]


def _steps(name, seed):
    """Whole steps of [32, 64] from -8 to 7, both in each group of 32 columns: its scale is 1."""
    return [[(-8, 7)[k % 32] if k % 32 < 2 else (n * 3 + k * 5 + seed + len(name)) % 16 - 8
             for k in range(_COLUMNS)] for n in range(_ROWS)]


def _stepped(seed, values_of=_steps):
    return [(name, "f4", (_ROWS, _COLUMNS), files.data_of("f4", [x for row in values_of(name, seed) for x in row]))
            for name in _LINEAR]


def _stepped_in_two(seed):
    first, second = _stepped(seed)
    return _in_two_shards([first], [second], {"torch_dtype": "float32"})


def _words(codes):
    """Of 4 bits each, eight in a word from the lowest bits on."""
    return [sum(code << (4 * i) for i, code in enumerate(codes[j:j + 8])) for j in range(0, len(codes), 8)]


def _words_data(rows):
    return files.data_of("i4", [word - (word >> 31 << 32) for row in rows for word in row])


def _steps_packed(seed):
    """Along rows; zero points 8, which compressed-tensors packs down columns; scales 1."""
    return [*(_words_data([_words([x + 8 for x in row]) for row in _steps(name, seed)]) for name in _LINEAR),
            _words_data([[0x88888888] * (_COLUMNS // 32)] * (_ROWS // 8)),
            files.data_of("f4", [1.0] * (_ROWS * _COLUMNS // 32))]


def _halves(name, seed):
    """The same with -7.5 for the least and the largest in each group: 1 is their symmetric scale."""
    return [[-7.5 if x == -8 else 7.5 if x == 7 else x for x in row] for row in _steps(name, seed)]


def _halves_in_one(seed):
    return {"in.safetensors": files.safetensors(_stepped(seed, _halves))}


def _steps_down(seed):
    """The words go down columns, as GPTQ has them; zero points 8, scales 1, and each column's group."""
    rows = {name: [_words([x + 8 for x in row]) for row in _steps(name, seed)] for name in _LINEAR}
    return [*(_words_data([*zip(*rows[name])]) for name in _LINEAR),
            _words_data([[0x88888888] * (_ROWS // 8)] * (_COLUMNS // 32)),
            files.data_of("f2", [1.0] * (_ROWS * _COLUMNS // 32)),
            files.data_of("i4", [k // 32 for k in range(_COLUMNS)])]


def _texts(seed):
    content = b"".join(str(value).encode("utf-32-le").ljust(4 * 9, b"\0")
                       for value in values("w", seed))
    return {"in.npy": files.npy("U9", (_SIZES["w"],), content)}


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A command, its input files by their seed, and its outputs."""

    inputs: collections.abc.Callable
    command: str
    outputs: tuple = ()
    cast: tuple = ()  # names of `values` whose numbers each output holds
    kind: str = "f2"  # as these
    made: collections.abc.Callable | None = None  # or these bytes by the seed

    def data(self, seed):
        """Bytes that every output must hold, but for records."""
        if self.made is not None:
            return self.made(seed)
        return [files.data_of(self.kind, values(name, seed)) for name in self.cast]


def _convert(inputs, source, target, options="--to float16", cast=("w", "v"), kind="f2"):
    return Scenario(inputs, f"convert {source} -o {target} {options}", (target,), cast, kind)


SCENARIOS = {
    "safetensors": _convert(lambda seed: {"in.safetensors": files.safetensors(_all(seed))},
                            "in.safetensors", "out.safetensors"),
    "safetensors_threads": _convert(lambda seed: {"in.safetensors": files.safetensors(_all(seed))},
                                    "in.safetensors", "out.safetensors",
                                    "--to float16 --threads 2 --json"),
    "safetensors_to_npy": _convert(lambda seed: {"in.safetensors": files.safetensors(_all(seed))},
                                   "in.safetensors", "out.npy", "--to float16 --tensor w", ("w",)),
    "safetensors_to_npz": _convert(lambda seed: {"in.safetensors": files.safetensors(_all(seed))},
                                   "in.safetensors", "out.npz"),
    "npy": _convert(lambda seed: {"in.npy": files.npy(*_one(seed)[1:])}, "in.npy", "out.npy",
                    cast=("w",)),
    "npz_deflated": _convert(lambda seed: {"in.npz": files.npz(_all(seed), 6)}, "in.npz",
                             "out.safetensors"),
    "npz_threads": _convert(lambda seed: {"in.npz": files.npz(_all(seed), 6)}, "in.npz", "out.npz",
                            "--to float16 --threads 2"),
    "checkpoint": _convert(_checkpoint, "in", "out"),
    "checkpoint_of_many": _convert(_checkpoint_of_many, "in", "out"),
    "checkpoint_scales_applied": _convert(_scaled, "in", "out"),
    "checkpoint_scales_written": Scenario(_rows_of_two, "convert in -o out --to int8-row --threads 2",
                                          ("out",), made=_codes_and_scales),
    "comfyui_written": Scenario(_rows_of_layer, "convert in.safetensors -o out.safetensors --to int8-row "
                                "--layout comfyui --threads 2", ("out.safetensors",),
                                made=_codes_and_scales),
    "checkpoint_experts_written": Scenario(_experts, "convert in -o out --to mxfp4 --layout gpt-oss --threads 2",
                                           ("out",), made=_blocks_and_scales),
    "checkpoint_gptq": Scenario(lambda seed: _grouped(seed, "gptq"), "convert in -o out --to float16 --threads 2",
                                ("out",), made=_ungrouped),
    "checkpoint_repacked": Scenario(lambda seed: _grouped(seed, "gptq"),
                                    "convert in -o out --repack awq --threads 2", ("out",), made=_awq_words),
    "groups_written": Scenario(_stepped_in_two, "convert in -o out --to int4-group --group 32 --asymmetric "
                               "--threads 2", ("out",), made=_steps_packed),
    "groups_written_gptq": Scenario(_halves_in_one, "convert in.safetensors -o out.safetensors --to int4-group "
                                    "--layout gptq --group 32 --threads 2", ("out.safetensors",),
                                    made=_steps_down),
    # The record is written once the output stands.
    "recorded": Scenario(lambda seed: {"in.safetensors": files.safetensors(_all(seed))},
                         "convert in.safetensors -o out.safetensors --to float16 --record",
                         ("out.safetensors", "out.safetensors.tensorcast.json"), ("w", "v")),
    "recorded_checkpoint": Scenario(_checkpoint, "convert in -o out --to float16 --record",
                                    ("out", "out/tensorcast.json"), ("w", "v")),
    "checkpoint_torch": _convert(_torch_in_shards, "in", "out"),
    "torch": _convert(lambda seed: {"in.pt": _torch(seed)}, "in.pt", "out.safetensors"),
    "gguf_parts": _convert(_gguf_parts, "in-00002-of-00002.gguf", "out.safetensors",
                           "--to float16 --threads 2"),
    "gguf_written": _convert(_gguf_parts, "in-00001-of-00002.gguf", "out.gguf", "--rule *=float16 --threads 2"),
    "pb": _convert(lambda seed: {"in.pb": files.tensor_proto(*_one(seed))}, "in.pb", "out.pb",
                   cast=("w",)),
    "texts": _convert(_texts, "in.npy", "out.npy", "--to float32", ("w",), "f4"),
    "to_texts": _convert(lambda seed: {"in.npy": files.npy(*_one(seed)[1:])}, "in.npy", "out.npy",
                         "--to string --all-types", ()),
    # By a rule: of themselves small tensors of models stay as they are.
    "onnx_inline": _convert(_inline, "in.onnx", "out.onnx", "--rule *=float16"),
    "onnx_external": _convert(_external, "in.onnx", "out.onnx", "--rule *=float16"),
    "onnx_typed": _convert(_external_typed, "in.onnx", "out.onnx", "--rule *=float16",
                           cast=("w",)),
    "onnx_kept": _convert(_external, "in.onnx", "out.onnx", "--to float16 --exclude *", kind="f4"),
    "optimize": Scenario(_cast_weights, "optimize in.onnx -o out.onnx", ("out.onnx",), ("w", "v")),
    "optimize_mdf": Scenario(_mdf, "optimize in.json -o out.onnx", ("out.onnx",)),
    "run": Scenario(_casts, "run in.onnx --input x=x.npy --output-dir out",
                    ("out/y.npy", "out/z.npy", "out/same.npy")),
    "run_of_many": Scenario(_many_casts, "run in.onnx --input x=x.npy --output-dir out",
                            tuple(f"out/y{i}.npy" for i in range(80)), ("w",)),
    "onnx_test": Scenario(_node_tests, "onnx-test node"),
    "loss": Scenario(lambda seed: {"in.safetensors": files.safetensors(_all(seed))},
                     "loss in.safetensors --to float16 --to float8e4m3fn"),
    "loss_awq": Scenario(lambda seed: _grouped(seed, "awq"), "loss in --to float16 --to int4"),
    "diff": Scenario(lambda seed: {"in.gguf": _gguf(seed), "in.pt": _torch(seed)},
                     "diff in.gguf in.pt --exclude q.*"),
    "inspect": Scenario(lambda seed: {"in.npz": files.npz(_all(seed), 6)}, "inspect in.npz --json"),
    "explain": Scenario(lambda seed: {}, "explain 0.1 --json"),
}

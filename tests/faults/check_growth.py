#!/usr/bin/env python3
"""Runs the commands on inputs in which something repeats n, 2n and 4n times, and compares their processor time.

    check_growth.py --tool TOOL --library inject_faults.so [--only WORD | --exhaustive]

Four times as much may take ten times as long, above a floor that start-up and chance stay below: work that
grows with the square takes sixteen times as long. What is compared is time of the same command in one test, on
the same machine; where the first measurement is against it two more are taken.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import zipfile

import findings
from injection import NO_END, Run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli/bin"))
from make_weights import number, text  # pylint: disable=wrong-import-position

FLOOR = 0.12  # seconds of processor time
RATIO = 10
SECONDS_AT_MOST = 120
FLOAT, FLOAT16 = 1, 10


def write(path, content):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def safetensors(path, tensors, metadata=None):
    """`tensors`: names to (dtype, shape, bytes)."""
    header, data = {"__metadata__": metadata} if metadata else {}, bytearray()
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    head = json.dumps(header, separators=(",", ":")).encode()
    write(path, struct.pack("<Q", len(head)) + head + bytes(data))


def plain(n, ending=".weight"):
    return {f"model.layers.{i}{ending}": ("F32", [2], struct.pack("<2f", i, -i)) for i in range(n)}


def fp8_rows(n, rows=2):
    """Weights with one scale for a row."""
    made = {}
    for i in range(n):
        made[f"model.layers.{i}.mlp.up_proj.weight"] = ("F8_E4M3", [rows, 4], bytes([0x38]) * 4 * rows)
        made[f"model.layers.{i}.mlp.up_proj.weight_scale"] = ("F32", [rows, 1], struct.pack("<f", 2) * rows)
    return made


def directory(config, tensors, **others):
    safetensors("in/model.safetensors", tensors)
    write("in/config.json", config if isinstance(config, str) else json.dumps(config))
    for name, content in others.items():
        write(f"in/{name}.json", json.dumps(content))


def value_info(name, kind):
    return text(1, name) + text(2, text(1, number(1, kind)))


def model(nodes, inputs, outputs, more=b""):
    graph = b"".join(text(1, node) for node in nodes) + text(2, "g") + more
    graph += b"".join(text(11, one) for one in inputs) + b"".join(text(12, one) for one in outputs)
    return number(1, 10) + text(7, graph) + text(8, number(2, 21))


def cast(source, target, to, name=""):
    node = text(1, source) + text(2, target)
    return node + (text(3, name) if name else b"") + text(4, "Cast") + text(
        5, text(1, "to") + number(3, to) + number(20, 2))


def initializer(name):
    return text(5, number(1, 1) + number(2, FLOAT) + text(8, name) + text(9, struct.pack("<f", 1)))


def chain(n, name=""):
    """Casts one behind the other."""
    nodes = [cast("x" if i == 0 else f"v{i}", f"v{i + 1}", (FLOAT16, FLOAT)[i % 2], name and f"{name}{i}")
             for i in range(n)]
    write("chain.onnx", model(nodes, [value_info("x", FLOAT)], [value_info(f"v{n}", (FLOAT, FLOAT16)[n % 2])]))
    write("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 70) +
          b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }".ljust(69) + b"\n" + struct.pack("<f", 1))


def mdf_chain(n):
    nodes = {f"n{i}": {"input_ports": {"input": {"type": "float32"} if i == 0 else {}},
                       "functions": {"f": {"function": "onnx::Cast", "args": {"input": "input", "to": 10 - 9 * (i % 2)}}},
                       "output_ports": {"output": {"value": "f"}}} for i in range(n)}
    edges = {f"e{i}": {"sender": f"n{i}", "receiver": f"n{i + 1}", "sender_port": "output",
                       "receiver_port": "input"} for i in range(n - 1)}
    graph = {"nodes": nodes, "edges": edges}
    write("chain.json", json.dumps({"m": {"format": "ModECI MDF v0.4", "graphs": {"g": graph}}}))


# ---------------------------------------------------------------------------------------- what repeats

def keys_of_config(n):
    directory({f"key{i}": i for i in range(n)}, plain(1))
    return "convert in -o out --to bf16 --force"


def objects_of_config(n):
    directory({"list": [{"a": i} for i in range(n)], **{f"o{i}": {} for i in range(n)}}, plain(1))
    return "convert in -o out --to bf16 --force"


def quantisations_of_config(n):
    """Each is taken away, as the weight becomes plain."""
    inner = ",".join(f'"part{i}": {{"quantization_config": {{}}, "a": {i}}}' for i in range(n))
    directory(f'{{{inner}, "quantization_config": {{"quant_method": "fp8"}}}}', fp8_rows(1))
    return "convert in -o out --to bf16 --force"


def excluded_scaled_weights(n):
    directory({"quantization_config": {
        "quant_method": "compressed-tensors", "ignore": [f"model.visual.{i}" for i in range(n)],
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
            "num_bits": 8, "type": "float", "strategy": "channel"}}}}}, fp8_rows(n))
    return "convert in -o out --to bf16 --exclude *[02468].mlp.* --force --no-report"


def modelopt_layers(n):
    layers = {f"model.layers.{i}.mlp.up_proj": {"quant_algo": "FP8"} for i in range(n)}
    directory({"quantization_config": {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
                                       "quantized_layers": layers}}, fp8_rows(n),
              hf_quant_config={"producer": {"name": "modelopt"}, "quantization": {
                  "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}})
    return "convert in -o out --to bf16 --exclude *[02468].mlp.* --force --no-report"


def modules_not_converted(n):
    """Weights made beside some that stay, with a list of as many exceptions."""
    tensors = {}
    for i in range(n):
        name = f"model.layers.{i}.mlp.up_proj.weight"
        if i % 2:
            tensors[name] = ("F8_E4M3", [2, 4], bytes([0x38]) * 8)
            tensors[name + "_scale_inv"] = ("F32", [1, 1], struct.pack("<f", 2))
        else:
            tensors[name] = ("F32", [2, 4], struct.pack("<8f", *range(8)))
    directory({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128],
                                       "modules_to_not_convert": [f"visual.blocks.{i}" for i in range(n)]}}, tensors)
    return "convert in -o out --rule *.up_proj.weight=fp8-block --force --no-report"


def comfyui_layers(n):
    safetensors("in.safetensors", {f"l.{i}.weight": ("F32", [2, 2], bytes(16)) for i in range(n)})
    return "convert in.safetensors -o out.safetensors --rule *.weight=fp8-tensor --layout comfyui --force --no-report"


def tensors_of_index(n):
    for part in (1, 2):
        safetensors(f"in/model-0000{part}-of-00002.safetensors",
                    {f"l.{i}.w": ("F32", [1], bytes(4)) for i in range(n) if i % 2 == part - 1})
    write("in/model.safetensors.index.json", json.dumps(
        {"metadata": {}, "weight_map": {f"l.{i}.w": f"model-0000{i % 2 + 1}-of-00002.safetensors" for i in range(n)}}))
    return "convert in -o out --to bf16 --force --json"


def shards(n):
    for i in range(1, n + 1):
        safetensors(f"in/model-{i:05}-of-{n:05}.safetensors", {f"l.{i}.w": ("F32", [1], bytes(4))})
    return "inspect in"


def tensors(n):
    safetensors("in.safetensors", plain(n))
    return "convert in.safetensors -o out.safetensors --to bf16 --force"


def tensors_and_plan(n):
    safetensors("in.safetensors", plain(n))
    return "convert in.safetensors -o out.safetensors --to bf16 --force --json --write-plan plan.json"


def tensors_of_several_types(n):
    safetensors("in.safetensors", plain(n))
    return "loss in.safetensors --to e4m3 --to bf16 --to int8"


def metadata(n):
    safetensors("in.safetensors", plain(1), {f"key{i}": f"value{i}" for i in range(n)})
    return "inspect in.safetensors --json"


def members_of_npz(n):
    safetensors("in.safetensors", plain(n))
    return "convert in.safetensors -o out.npz --to f16 --force", "convert out.npz -o out.safetensors --to f32 --force"


def rules(n):
    safetensors("in.safetensors", plain(8))
    write("rules.toml", 'to = "bf16"\n' + "".join(
        f'[[rule]]\nmatch = "model.layers.{i % 8}.*"\nto = "f16"\n' for i in range(n)))
    return "convert in.safetensors -o out.safetensors --rules rules.toml --force -q"


def weights_of_model(n):
    more = b"".join(initializer(f"w{i}") for i in range(n))
    nodes = [text(1, f"w{i}") + text(2, f"y{i}") + text(4, "Neg") for i in range(n)]
    write("in.onnx", model(nodes, [], [value_info("y0", FLOAT)], more))
    return "convert in.onnx -o out.onnx --tensor * --to f16 --force"


def casts_run(n):
    chain(n)
    return "run chain.onnx --input x=x.npy --output-dir out --force"


def casts_optimised(n):
    chain(n, "n")
    return "optimize chain.onnx -o out.onnx --force"


def casts_to_mdf(n):
    """Nodes without a name, whose ids are made up."""
    chain(n)
    return "convert chain.onnx -o out.json --force", "convert out.json -o back.onnx --force"


def inputs_called_alike(n):
    """Ids of ports that a node must not take."""
    names = ["input" + "_" * i for i in range(int(n ** 0.5))]
    nodes = [cast(names[i] if i < len(names) else f"v{i - 1}", f"v{i}", FLOAT16 if i < len(names) else FLOAT)
             for i in range(n)]
    write("in.onnx", model(nodes, [value_info(name, FLOAT) for name in names],
                           [value_info(f"v{n - 1}", FLOAT)]))
    return "convert in.onnx -o out.json --force"


def nodes_of_mdf(n):
    mdf_chain(n)
    return ("convert chain.json -o out.onnx --force", "optimize chain.json -o out.json --force",
            "convert chain.json -o out.bson --force", "convert chain.json -o out.yaml --force", "inspect out.yaml")


def pickled_text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def torch_file(more):
    """A training checkpoint of one tensor, and a pickled list of other things beside it."""
    storage = b"(" + pickled_text("storage") + b"ctorch\nFloatStorage\n" + pickled_text("0") + pickled_text("cpu") + b"K\1tQ"
    weight = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\0K\1\x85K\1\x85\x89ccollections\nOrderedDict\n)RtR"
    content = (b"\x80\2}(" + pickled_text("state_dict") + b"}" + pickled_text("w") + weight + b"s" +
               pickled_text("others") + b"](" + more + b"eu.")
    with zipfile.ZipFile("in.pt", "w") as archive:
        archive.writestr("m/data.pkl", content)
        archive.writestr("m/data/0", struct.pack("<f", 1))


def calls_of_torch(n):
    """Of what is not known, all with the same arguments, of which there are as many."""
    torch_file(b"(" + b"N" * n + b"tq\0cevil\nfunction\nq\1" + b"h\1h\0R" * n)
    return "inspect in.pt"


def objects_of_torch(n):
    """Each of another class, up to as many as are read, with attributes."""
    torch_file(b"".join(b"cm%d\nc\n)\x81}" % (i % 9_000) + pickled_text("a") + b"K\1sb" for i in range(n)))
    return "inspect in.pt"


def tensors_of_gguf(n):
    """And keys."""
    def name(i):
        return struct.pack("<Q", 12) + b"blk.%08d" % i
    head = b"GGUF" + struct.pack("<IQQ", 3, n, n) + b"".join(name(i) + struct.pack("<iI", 4, i) for i in range(n))
    head += b"".join(name(i) + struct.pack("<IQiQ", 1, 2, 0, 32 * (n - i - 1)) for i in range(n))
    write("in.gguf", head + bytes(-len(head) % 32) + struct.pack("<2f24x", 1, 2) * n)
    return "inspect in.gguf", "convert in.gguf -o out.safetensors --to bf16 --force --no-report"


SHAPES = {  # and how many are n; processor time of the first is some hundredths of a second
    keys_of_config: 25_000, objects_of_config: 10_000, quantisations_of_config: 10_000,
    excluded_scaled_weights: 8_000, modelopt_layers: 4_000, modules_not_converted: 3_000, comfyui_layers: 8_000,
    tensors_of_index: 10_000, shards: 400, tensors: 10_000, tensors_and_plan: 5_000,
    tensors_of_several_types: 3_000, metadata: 8_000, members_of_npz: 3_000, rules: 2_000, weights_of_model: 3_000,
    casts_run: 10_000, casts_optimised: 10_000, casts_to_mdf: 5_000, inputs_called_alike: 5_000, nodes_of_mdf: 2_000,
    calls_of_torch: 20_000, objects_of_torch: 20_000, tensors_of_gguf: 10_000,
}

OFTEN = (keys_of_config, objects_of_config, excluded_scaled_weights, comfyui_layers, casts_to_mdf, rules,
         calls_of_torch)  # else --exhaustive


def seconds_of(tool, command):
    """A run, and the processor time that it took."""
    with open("stderr", "w+b") as said:
        with subprocess.Popen([tool, *command.split()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=said, preexec_fn=limit) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = code = os.waitstatus_to_exitcode(status)
        said.seek(0)
        end = said.read(2000).decode("utf-8", "replace")
    return Run(NO_END if code < 0 else code, None, end), usage.ru_utime + usage.ru_stime


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_AT_MOST, SECONDS_AT_MOST))


def check(tool, make, n, account, is_shown):
    """All commands of one shape, at n, 2n and 4n."""
    times = {}
    for size in (n, 2 * n, 4 * n):
        folder = f"{make.__name__}.{size}"
        os.mkdir(folder)
        os.chdir(folder)
        commands = make(size)
        for command in (commands,) if isinstance(commands, str) else commands:
            run, seconds = seconds_of(tool, command)
            first = times.get(command, [0])[0]
            for _ in range(2):  # a machine that has other work
                if run.code == 0 and first and seconds > RATIO * max(first, FLOOR):
                    seconds = min(seconds, seconds_of(tool, command)[1])
            times.setdefault(command, []).append(seconds)
            is_square = size == 4 * n and seconds > RATIO * max(times[command][0], FLOOR)
            problems = [] if run.code == 0 else [f"exit code {run.code}"]
            if is_square:
                problems.append("time grows with the square")
            shown = f"{make.__name__} {size}: {command}: {' '.join(f'{one:.2f}' for one in times[command])} s"
            if is_shown and size == 4 * n:
                print(shown, flush=True)
            account.add(problems, shown, run)
        os.chdir("..")
        shutil.rmtree(folder)


def main():
    parser = findings.parser(__doc__)
    parser.add_argument("--only", default="", help="shapes with this word in their name")
    arguments = parser.parse_args()
    account = findings.Account("growth")
    tool = os.path.abspath(arguments.tool)
    with findings.scratch_folder() as folder:
        os.chdir(folder)
        for make, n in SHAPES.items():
            is_wanted = arguments.only in make.__name__ if arguments.only else make in OFTEN
            if is_wanted or arguments.exhaustive:
                check(tool, make, n, account, arguments.exhaustive)
        os.chdir("/")
    return account.end()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Times packed checkpoints made plain bfloat16 beside the program that reads each layout.

    packed_peers.py --tool build/release/programs/tensorcast [--gigabytes G] [--rounds N]
                    [--csv ROWS] [KIND...]

A checkpoint of random codes, of so many gigabytes of weights as bfloat16, is made for each kind that
is named (all otherwise) and whose program is installed, and converted to a safetensors file of bfloat16
in turns: by the tool (without a report), and by a script that does with the program what people's
scripts do: open, decode tensor by tensor, save. Each is a process of its own; its time and its peak
memory are the kernel's. The files lie in the page cache. Medians of the rounds.

Kinds: compressed-tensors, gptq, awq, gguf-q8_0, gguf-q4_k, bitsandbytes, mlx; and plain bfloat16 in
safetensors, pt and gguf, whose job is a cast to float16, for the containers alone.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import json
import multiprocessing
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROWS, COLUMNS, GROUP = 8192, 4096, 128


# ---------------------------------------------------------------------------------- checkpoints
# Each maker writes a checkpoint of `count` weights into a folder, and returns the input's path.


def save_weights(folder, count, tensors_of, config):
    import torch
    from safetensors.torch import save_file
    torch.manual_seed(1)
    tensors = {}
    for i in range(count):
        tensors.update({f"model.layers.{i}.mlp.up_proj.{key}": value.contiguous()
                        for key, value in tensors_of(torch).items()})
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(
        {"model_type": "llama", "dtype": "bfloat16", **config}))
    return folder


def random_words(torch, *shape):
    return torch.randint(-2**31, 2**31, shape, dtype=torch.int64).to(torch.int32)


def scales_of(torch, *shape, dtype):
    return (torch.rand(shape) * 1e-2 + 1e-3).to(dtype)


def make_compressed_tensors(folder, count):
    weights = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": GROUP,
               "symmetric": True}
    return save_weights(folder, count, lambda torch: {
        "weight_packed": random_words(torch, ROWS, COLUMNS // 8),
        "weight_scale": scales_of(torch, ROWS, COLUMNS // GROUP, dtype=torch.bfloat16),
        "weight_shape": torch.tensor([ROWS, COLUMNS])},
        {"quantization_config": {
            "quant_method": "compressed-tensors", "format": "pack-quantized",
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}})


def make_gptq(folder, count):
    return save_weights(folder, count, lambda torch: {
        "qweight": random_words(torch, COLUMNS // 8, ROWS),
        "qzeros": torch.full((COLUMNS // GROUP, ROWS // 8), 0x77777777, dtype=torch.int32),
        "scales": scales_of(torch, COLUMNS // GROUP, ROWS, dtype=torch.float16)},
        {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": GROUP,
                                 "sym": True}})


def make_awq(folder, count):
    return save_weights(folder, count, lambda torch: {
        "qweight": random_words(torch, COLUMNS, ROWS // 8),
        "qzeros": random_words(torch, COLUMNS // GROUP, ROWS // 8),
        "scales": scales_of(torch, COLUMNS // GROUP, ROWS, dtype=torch.float16)},
        {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": GROUP,
                                 "version": "gemm"}})


def make_gguf(folder, count, kind):
    import gguf
    import numpy as np
    path = folder / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    random = np.random.default_rng(1)
    if kind is None:
        data = random.standard_normal((ROWS, COLUMNS), np.float32).view(np.uint16)[:, 1::2]
        data, quant = np.ascontiguousarray(data).view(np.uint8), gguf.GGMLQuantizationType.BF16
    else:
        quant = gguf.GGMLQuantizationType[kind]
        values, size = gguf.GGML_QUANT_SIZES[quant]
        blocks = random.integers(0, 256, (ROWS, COLUMNS // values, size), dtype=np.uint8)
        scale = np.frombuffer(np.float16(0.01).tobytes(), np.uint8)
        blocks[..., 0:2] = scale
        if kind == "Q4_K":
            blocks[..., 2:4] = scale
        data = blocks.reshape(ROWS, -1)
    for i in range(count):
        writer.add_tensor(f"blk.{i}.ffn_up.weight", data, raw_dtype=quant)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def make_bitsandbytes(folder, count):
    import bitsandbytes.functional as functional
    import torch
    from safetensors.torch import save_file
    torch.manual_seed(1)
    packed, state = functional.quantize_4bit(torch.randn(ROWS, COLUMNS, dtype=torch.bfloat16),
                                             quant_type="nf4", compress_statistics=False)
    tensors = {}
    for i in range(count):
        name = f"model.layers.{i}.mlp.up_proj.weight"
        tensors[name] = packed.clone()
        for key, value in state.as_dict(packed=True).items():
            tensors[f"{name}.{key}"] = value.clone()
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({
        "model_type": "llama", "dtype": "bfloat16", "quantization_config": {
            "quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}}))
    return folder


def make_mlx(folder, count):
    return save_weights(folder, count, lambda torch: {
        "weight": random_words(torch, ROWS, COLUMNS // 8).view(torch.uint32),
        "scales": scales_of(torch, ROWS, COLUMNS // 64, dtype=torch.bfloat16),
        "biases": -8 * scales_of(torch, ROWS, COLUMNS // 64, dtype=torch.bfloat16)},
        {"quantization": {"group_size": 64, "bits": 4}})


def plain_tensors(count):
    import torch
    torch.manual_seed(1)
    return {f"model.layers.{i}.mlp.up_proj.weight": torch.randn(ROWS, COLUMNS, dtype=torch.bfloat16)
            for i in range(count)}


def make_safetensors(folder, count):
    from safetensors.torch import save_file
    save_file(plain_tensors(count), folder / "model.safetensors")
    return folder / "model.safetensors"


def make_pt(folder, count):
    import torch
    torch.save(plain_tensors(count), folder / "model.pt")
    return folder / "model.pt"


# ------------------------------------------------------------------------------ people's scripts
# Each opens SOURCE, decodes and saves to OUT; the first lines import what it needs.

COMPRESSED_TENSORS = """
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors.torch import load_file, save_file
scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(
    num_bits=4, type="int", strategy="group", group_size=128, symmetric=True))
scheme.format = "pack-quantized"
compressor = BaseCompressor.get_value_from_registry("pack-quantized")
tensors, out = load_file(SOURCE + "/model.safetensors"), {}
for name in {key.rsplit(".", 1)[0] for key in tensors}:
    state = {key: tensors[name + "." + key] for key in ("weight_packed", "weight_scale",
                                                        "weight_shape")}
    out[name + ".weight"] = compressor.decompress(state, scheme)["weight"].to(torch.bfloat16)
save_file(out, OUT)
"""

GPTQ = """
import torch
from safetensors.torch import load_file, save_file
# AutoGPTQ's way on a processor: shifts over a dimension of their own.
shifts = torch.arange(0, 32, 4, dtype=torch.int32).unsqueeze(0)
tensors, out = load_file(SOURCE + "/model.safetensors"), {}
for name in {key.rsplit(".", 1)[0] for key in tensors}:
    words, zeros, scales = (tensors[name + "." + key] for key in ("qweight", "qzeros", "scales"))
    zeros = torch.bitwise_right_shift(zeros.unsqueeze(2).expand(-1, -1, 8), shifts.unsqueeze(0))
    zeros = torch.bitwise_and(zeros.to(torch.int8) + 1, 15).reshape(scales.shape[0], 1, -1)
    codes = torch.bitwise_right_shift(words.unsqueeze(1).expand(-1, 8, -1), shifts.unsqueeze(-1))
    codes = torch.bitwise_and(codes.to(torch.int8), 15).reshape(scales.shape[0], 128, -1)
    weight = scales.unsqueeze(1) * (codes - zeros)
    out[name + ".weight"] = weight.reshape(-1, weight.shape[2]).T.contiguous().to(torch.bfloat16)
save_file(out, OUT)
"""

AWQ = """
import torch
from safetensors.torch import load_file, save_file
# AutoAWQ's dequantize_gemm.
shifts, order = torch.arange(0, 32, 4), [0, 4, 1, 5, 2, 6, 3, 7]
def unpack(words):
    codes = torch.bitwise_right_shift(words[:, :, None], shifts[None, None, :]).to(torch.int8)
    codes = codes.view(codes.shape[0], -1)
    places = torch.arange(codes.shape[-1]).view(-1, 8)[:, order].view(-1)
    return torch.bitwise_and(codes[:, places], 15)
tensors, out = load_file(SOURCE + "/model.safetensors"), {}
for name in {key.rsplit(".", 1)[0] for key in tensors}:
    codes, zeros = unpack(tensors[name + ".qweight"]), unpack(tensors[name + ".qzeros"])
    scales = tensors[name + ".scales"].repeat_interleave(128, dim=0)
    weight = (codes - zeros.repeat_interleave(128, dim=0)) * scales
    out[name + ".weight"] = weight.T.contiguous().to(torch.bfloat16)
save_file(out, OUT)
"""

GGUF = """
import gguf, torch
from safetensors.torch import save_file
out = {}
for tensor in gguf.GGUFReader(SOURCE).tensors:
    values = gguf.dequantize(tensor.data, tensor.tensor_type)
    out[tensor.name] = torch.from_numpy(values.copy()).to(torch.TO)
save_file(out, OUT)
"""

BITSANDBYTES = """
import bitsandbytes.functional as functional, torch
from safetensors.torch import load_file, save_file
tensors, out = load_file(SOURCE + "/model.safetensors"), {}
for name in [key for key in tensors if key.endswith(".weight")]:
    parts = {key[len(name) + 1:]: value for key, value in tensors.items()
             if key.startswith(name + ".")}
    state = functional.QuantState.from_dict(parts, device="cpu")
    out[name] = functional.dequantize_4bit(tensors[name], state).to(torch.bfloat16)
save_file(out, OUT)
"""

MLX = """
import mlx.core as mx
mx.set_default_device(mx.cpu)
tensors, out = mx.load(SOURCE + "/model.safetensors"), {}
for name in {key.rsplit(".", 1)[0] for key in tensors}:
    out[name + ".weight"] = mx.dequantize(
        tensors[name + ".weight"], tensors[name + ".scales"], tensors[name + ".biases"],
        group_size=64, bits=4)
mx.save_safetensors(OUT, out)
"""

SAFETENSORS = """
import torch
from safetensors.torch import load_file, save_file
save_file({name: value.to(torch.TO) for name, value in load_file(SOURCE).items()}, OUT)
"""

PT = """
import torch
from safetensors.torch import save_file
tensors = torch.load(SOURCE, map_location="cpu", mmap=True, weights_only=True)
save_file({name: value.to(torch.TO) for name, value in tensors.items()}, OUT)
"""

# The maker, the script, what it imports first, the type that is made.
KINDS = {
    "compressed-tensors": (make_compressed_tensors, COMPRESSED_TENSORS, "compressed_tensors", "bf16"),
    "gptq": (make_gptq, GPTQ, "torch", "bf16"),
    "awq": (make_awq, AWQ, "torch", "bf16"),
    "gguf-q8_0": (lambda *made: make_gguf(*made, "Q8_0"), GGUF, "gguf", "bf16"),
    "gguf-q4_k": (lambda *made: make_gguf(*made, "Q4_K"), GGUF, "gguf", "bf16"),
    "bitsandbytes": (make_bitsandbytes, BITSANDBYTES, "bitsandbytes", "bf16"),
    "mlx": (make_mlx, MLX, "mlx.core", "bf16"),
    "plain-safetensors": (make_safetensors, SAFETENSORS, "torch", "f16"),
    "plain-pt": (make_pt, PT, "torch", "f16"),
    "plain-gguf": (lambda *made: make_gguf(*made, None), GGUF, "gguf", "f16"),
}


def measured(command):
    """Seconds and peak bytes of a process."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]} failed")
    return time.perf_counter() - begin, used.ru_maxrss * 1024


def made_by(kind, folder, count):
    return KINDS[kind][0](folder, count)


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()


def compare(tool, kind, folder, count, rounds):
    _, script, _, to = KINDS[kind]
    # In a process of its own: what this one held would count as held by those that it starts.
    with multiprocessing.Pool(1) as pool:
        source = pool.apply(made_by, (kind, folder, count))
    # A directory's files lie in a directory.
    ours, theirs = folder / "ours", folder / "theirs.safetensors"
    if source.is_file():
        ours = folder / "ours.safetensors"
    else:
        inner = folder / "in"
        inner.mkdir()
        for path in [*folder.glob("*.safetensors"), folder / "config.json"]:
            path.rename(inner / path.name)
        source = inner
    word = {"bf16": "bfloat16", "f16": "float16"}[to]
    text = f"SOURCE, OUT = {str(source)!r}, {str(theirs)!r}\n" + script.replace("TO)", word + ")")
    rows = {"ours": [], "theirs": []}
    for _ in range(rounds):
        remove(ours)
        rows["ours"].append(measured([tool, "convert", source, "-o", ours, "--to", to, "--no-report",
                                      "-q"]))
        remove(theirs)
        rows["theirs"].append(measured([sys.executable, "-c", text]))
    median = {who: [statistics.median(column) for column in zip(*found)]
              for who, found in rows.items()}
    return median["ours"], median["theirs"]


def is_there(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True,
                          check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    arguments = parser.parse_args()
    tool = arguments.tool.resolve()
    count = max(1, round(arguments.gigabytes * 1e9 / (ROWS * COLUMNS * 2)))
    rows = []
    print(f"{'kind':20} {'GB made':>8} {'ours s':>7} {'theirs s':>8} {'ratio':>6} {'ours MB':>8} "
          f"{'theirs MB':>9} {'ratio':>6}")
    for kind in arguments.kinds or KINDS:
        if not is_there(KINDS[kind][2]):
            print(f"{kind:20} {KINDS[kind][2]} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = compare(tool, kind, pathlib.Path(folder), count, arguments.rounds)
        made = count * ROWS * COLUMNS * 2 / 1e9
        rows.append([kind, f"{made:.2f}", f"{ours[0]:.3f}", f"{theirs[0]:.3f}",
                     f"{theirs[0] / ours[0]:.2f}", f"{ours[1] / 1e6:.0f}", f"{theirs[1] / 1e6:.0f}",
                     f"{theirs[1] / ours[1]:.1f}"])
        print("{:20} {:>8} {:>7} {:>8} {:>6} {:>8} {:>9} {:>6}".format(*rows[-1]), flush=True)
    if arguments.csv:
        with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["kind", "gigabytes_made", "seconds", "seconds_theirs", "times_faster",
                             "megabytes", "megabytes_theirs", "times_less_memory"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()

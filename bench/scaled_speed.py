#!/usr/bin/env python3
"""A directory of blocks with scales (DeepSeek V3's layout, 1.9 GB in four shards) to bfloat16:
tensorcast beside compressed-tensors' own converter and the script that people use with torch, in
one run, each in a process of its own, in turn.

    scaled_speed.py --tool TENSORCAST [--rounds 3] [--csv FILE] [--folder FOLDER]

Run it by the Python of tests/clients (scripts/test --clients makes it). Prints the median of the
seconds and the peak memory of each, over ours. Every output is read back and a sample of it compared
with ours: a program that did something else is not timed.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LAYERS, SHARDS = 28, 4
SHAPES = {"mlp.up_proj": (8192, 2816), "mlp.down_proj": (2816, 8192), "self_attn.o_proj": (4096, 4096),
          "self_attn.q_proj": (4096, 1024)}

TORCH_SCRIPT = '''
import glob, json, os, shutil, sys, torch
from safetensors.torch import load_file, save_file
src, dst = sys.argv[1:]
os.mkdir(dst)
torch.set_num_threads(int(os.environ["THREADS"]))
index = json.load(open(src + "/model.safetensors.index.json"))["weight_map"]
loaded = {}
def tensor(name):
    file = index[name]
    if file not in loaded:
        loaded[file] = load_file(src + "/" + file)
    return loaded[file][name]
for path in sorted(glob.glob(src + "/*.safetensors")):
    file = os.path.basename(path)
    loaded.setdefault(file, load_file(path))
    out = {}
    for name, weight in loaded[file].items():
        if name.endswith("_scale_inv"):
            continue
        if weight.element_size() == 1:
            scale = tensor(name + "_scale_inv")
            rows, columns = weight.shape
            grid = scale.repeat_interleave(128, 0)[:rows].repeat_interleave(128, 1)[:, :columns]
            out[name] = (weight.float() * grid).to(torch.bfloat16)
        else:
            out[name] = weight
    save_file(out, dst + "/" + file, metadata={"format": "pt"})
    while len(loaded) > 2:
        del loaded[next(iter(loaded))]
'''

COMPRESSED_TENSORS = '''
import os, sys, torch
torch.set_num_threads(int(os.environ["THREADS"]))
from compressed_tensors.entrypoints.convert import FP8BlockDequantizer, convert_checkpoint
src, dst = sys.argv[1:]
convert_checkpoint(src, dst, FP8BlockDequantizer.from_pretrained(src), device="cpu")
'''


def make(folder):
    import torch
    from safetensors.torch import save_file
    folder.mkdir()
    torch.manual_seed(7)
    shards = [{} for _ in range(SHARDS)]
    for layer in range(LAYERS):
        for i, (name, shape) in enumerate(SHAPES.items()):
            key = f"model.layers.{layer}.{name}.weight"
            codes = torch.randint(0, 256, shape, dtype=torch.uint8)
            codes[(codes & 0x7F) == 0x7F] = 0  # no NaN
            grid = [-(-n // 128) for n in shape]
            shards[layer % SHARDS][key] = codes.view(torch.float8_e4m3fn)
            shards[(layer + i) % SHARDS][key + "_scale_inv"] = torch.rand(grid) * 1e-3 + 1e-5
    weight_map = {}
    for i, shard in enumerate(shards, 1):
        file = f"model-{i:05}-of-{SHARDS:05}.safetensors"
        save_file(shard, folder / file, metadata={"format": "pt"})
        weight_map.update(dict.fromkeys(shard, file))
    size = sum(tensor.nbytes for shard in shards for tensor in shard.values())
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": size}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["DeepseekV3ForCausalLM"], "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                                "weight_block_size": [128, 128]}}))
    return size


def run(command, threads):
    """Seconds and peak resident bytes of a process."""
    began = time.perf_counter()
    measured = ("import resource, subprocess, sys; "
                "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024); "
                "sys.exit(code)")
    done = subprocess.run([sys.executable, "-c", measured, *map(str, command)], text=True,
                          stdout=subprocess.PIPE, check=True,
                          env={"THREADS": str(threads), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent",
                               "HF_HUB_OFFLINE": "1"})
    return time.perf_counter() - began, int(done.stdout.split()[-1])


def sample(folder):
    from safetensors import safe_open
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in list(file.keys())[:2]:
                found[name] = file.get_slice(name)[:300, :300].float()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    import torch
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = pathlib.Path(name)
        size = make(folder / "in")
        (folder / "torch_script.py").write_text(TORCH_SCRIPT)
        (folder / "converter.py").write_text(COMPRESSED_TENSORS)
        programs = {
            "tensorcast": [arguments.tool.resolve(), "convert", folder / "in", "-o", folder / "out",
                           "--to", "bfloat16", "-q", "--threads", arguments.threads],
            "tensorcast, no report": [arguments.tool.resolve(), "convert", folder / "in", "-o",
                                      folder / "out", "--to", "bfloat16", "-q", "--no-report",
                                      "--threads", arguments.threads],
            "torch script": [sys.executable, folder / "torch_script.py", folder / "in",
                             folder / "out"],
            "compressed-tensors": [sys.executable, folder / "converter.py", folder / "in",
                                   folder / "out"],
        }
        figures = {program: [] for program in programs}
        ours = None
        for _ in range(arguments.rounds):
            for program, command in programs.items():
                figures[program].append(run(command, arguments.threads))
                made = sample(folder / "out")
                ours = ours or made
                for key, tensor in made.items():
                    if key in ours and not torch.allclose(tensor, ours[key], rtol=2 ** -7, atol=0):
                        sys.exit(f"{program}: {key} is another tensor")
                shutil.rmtree(folder / "out")
    rows = []
    base = None
    for program, runs in figures.items():
        seconds = statistics.median(run[0] for run in runs)
        memory = statistics.median(run[1] for run in runs)
        base = base or (seconds, memory)
        rows.append((program, f"{seconds:.2f}", f"{memory / 1e6:.1f}", f"{seconds / base[0]:.1f}",
                     f"{memory / base[1]:.1f}"))
    head = ("program", "seconds", "peak_MB", "seconds_over_ours", "memory_over_ours")
    print(f"{size / 1e9:.2f} GB, {arguments.threads} threads, medians of {arguments.rounds}")
    for row in (head, *rows):
        print("{:24}{:>10}{:>10}{:>20}{:>20}".format(*row))
    if arguments.csv:
        arguments.csv.write_text("\n".join(",".join(f'"{c}"' if "," in c else c for c in row)
                                           for row in (head, *rows)) + "\n")


if __name__ == "__main__":
    main()

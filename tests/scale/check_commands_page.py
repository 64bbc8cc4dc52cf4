#!/usr/bin/env python3
"""Every command of docs/which_command.md is run on a small checkpoint of the layout that it is about.

    check_commands_page.py ROOT --tool build/release/programs/tensorcast

Inputs are known by their names on the page; one without a maker, or a maker that no command names,
is a failure. What `convert` writes is held against exact rationals, rounded once, and has no
quantisation in its configuration. The times of the page are those of bench/results/dialect_rates.csv.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import json
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

import bitsandbytes_files
import comfy_files
import grouped_files
import layout_files as files
import mlx_files
from check_layouts import bits_of, same

PAGE = "docs/which_command.md"
HELPERS = pathlib.Path(__file__).parent.parent / "cli" / "bin"
TYPES = {"bf16": "bfloat16", "f16": "float16"}
WORDS = {"bfloat16": "BF16", "float16": "F16"}


class Maker(files.Maker):
    """Codes and scales as a quantiser writes them: finite products, none near an end of bfloat16."""

    def codes(self, count, values=256):
        return [self.random.randrange(96, 127) if values == 256 else self.random.randrange(values)
                for _ in range(count)]

    def floats(self, dtype, count, odd):
        data = b""
        for _ in range(count):
            value = self.random.uniform(1e-3, 1e-1)
            single = struct.pack("<f", value)
            data += {"F16": struct.pack("<e", value), "F32": single, "BF16": single[2:]}[dtype]
        return data, files.decode(dtype, data)


def fp8(make):
    return files.fp8_block(make, "", "F32", "w.weight_scale_inv", (140, 150), (128, 128), {
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})


def deepseek_v4(make):
    case = files.fp8_block(make, "", "F8_E8M0", "w.scale", (130, 140), (128, 128), {
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})
    expert = files.groups(make, "", "experts.0.w1", ".weight", ".scale", "F8_E8M0", 4, files.e2m1, 32,
                          (6, 96), None, "I8")
    case.tensors |= expert.tensors
    case.weights |= expert.weights
    return case


def fp8_rows(make):
    return files.fp8_small(make, "", "w.weight_scale", "BF16", (6, 1), files.compressed(
        {"num_bits": 8, "type": "float", "strategy": "channel"}, "float-quantized"))


def fbgemm(make):
    return files.fp8_small(make, "", "w.weight_scale", "F32", (6, 1),
                           {"quantization_config": {"quant_method": "fbgemm_fp8"}})


def modelopt(make):
    return files.groups(make, "", "w", ".weight", ".weight_scale", "F8_E4M3", 4, files.e2m1, 16, (7, 64),
                        {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}},
                        glob=(".weight_scale_2", 3.7e-4, ()))


def nvfp4(make):
    return files.groups(make, "", "w", ".weight_packed", ".weight_scale", "F8_E4M3", 4, files.e2m1, 16,
                        (7, 64), files.compressed({"num_bits": 4, "type": "float", "strategy": "tensor_group",
                                                   "group_size": 16}, "nvfp4-pack-quantized"),
                        glob=(".weight_global_scale", 2719.5, (1,)), divides=True)


def mxfp4(make):
    return files.groups(make, "", "w", ".weight_packed", ".weight_scale", "U8", 4, files.e2m1, 32, (5, 96),
                        files.compressed({"num_bits": 4, "type": "float", "strategy": "group",
                                          "group_size": 32}, "mxfp4-pack-quantized"))


def w8a8(make):
    return files.fp8_small(make, "", "w.weight_scale", "BF16", (6, 1), files.compressed(
        {"num_bits": 8, "type": "int", "strategy": "channel"}, "int-quantized"), codes_dtype="I8")


# The checkpoints of the page, by the names that its commands give them.
SCALED = {
    "DeepSeek-V3": fp8,
    "DeepSeek-V4": deepseek_v4,
    "Kimi-K2-Thinking": lambda make: grouped_files.pack_quantized(make, "", 4, (33, 96), 32),
    "GLM-4.6-FP8": fp8_rows,
    "Qwen3-235B-A22B-FP8": fp8,
    "Qwen2.5-72B-GPTQ-Int4": lambda make: grouped_files.gptq(make, "", 4, (40, 96), 32, order=True),
    "Qwen2.5-72B-AWQ": lambda make: grouped_files.awq(make, "", (64, 96), 32),
    "Qwen3-8B-AutoRound": lambda make: grouped_files.gptq(
        make, "", 4, (32, 64), 32, method="auto-round", symmetric=True, packing="auto_round:auto_gptq"),
    "gpt-oss-120b": lambda make: files.gpt_oss(make, "", (3, 40, 64)),
    "Llama-3.1-405B-FP8": fbgemm,
    "Llama-3.1-8B-W8A8": w8a8,
    "Llama-3.1-8B-NVFP4": nvfp4,
    "Llama-3.1-8B-MXFP4": mxfp4,
    "Llama-3.3-70B-FP4": modelopt,
    "Llama-3.1-8B-nf4": lambda make: bitsandbytes_files.four_bits(make, "", (64, 80), nested=256),
    "Llama-3.1-8B-int8": lambda make: bitsandbytes_files.eight_bits(make, "", (24, 96)),
    "Llama-3.1-8B-4bit": lambda make: mlx_files.affine(make, "", 4, (24, 192), 64),
    "flux1-dev-fp8.safetensors": lambda make: files.fp8_small(make, "", "w.scale_weight", "F32", (), None),
    "flux1-dev-nvfp4.safetensors": lambda make: comfy_files.blocks(make, "", "nvfp4", (16, 64)),
    "flux1-dev-int8.safetensors": lambda make: comfy_files.rows(make, "", (8, 512), rotation=256),
    "Mistral-Small-FP8": lambda make: files.fp8_small(make, "", "w.qscale_weight", "BF16", (), None),
}


# What lies beside the weights, and is copied.
OTHER_FILES = {"tokenizer.json": "{}", "generation_config.json": '{"temperature": 0.6}'}


def make_scaled(name, make, folder):
    case = make(Maker(name))
    tensors = {**case.tensors, "norm.weight": files.Tensor("F32", (2,), struct.pack("<2f", 1, -2.5))}
    case.weights["norm.weight"] = ((2,), [Fraction(1), Fraction(-5, 2)])
    if name.endswith(".safetensors"):
        files.write_safetensors(folder / name, tensors)
        return case.weights
    (folder / name).mkdir()
    files.write_safetensors(folder / name / "model.safetensors", tensors)
    config = {"model_type": "llama", "dtype": "float16", **(case.config or {})}
    (folder / name / "config.json").write_text(json.dumps(config))
    for other, text in OTHER_FILES.items():
        (folder / name / other).write_text(text)
    if "GPTQ" in name:
        (folder / name / "quantize_config.json").write_text(json.dumps(config["quantization_config"]))
    if make is modelopt:
        (folder / name / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "NVFP4"}}')
    if "Mistral" in name:
        (folder / name / "params.json").write_text('{"dim": 40, "quantization": {"qformat_weight": "fp8_e4m3"}}')
    return case.weights


def q4_k(make):
    """A row of 256 values: (d a) q - m b, as docs/scales.md has it; and its block."""
    small = [(make.random.randrange(64), make.random.randrange(64)) for _ in range(8)]
    codes = make.codes(256, 16)
    packed = bytearray(12)
    for j, (a, b) in enumerate(small):
        if j < 4:
            packed[j] |= a
            packed[j + 4] |= b
        else:
            packed[j + 4] = a & 15 | (b & 15) << 4
            packed[j - 4] |= a >> 4 << 6
            packed[j] |= b >> 4 << 6
    block = struct.pack("<2e", 0.015625, 0.125) + packed + bytes(
        codes[64 * i + k] | codes[64 * i + 32 + k] << 4 for i in range(4) for k in range(32))
    return block, [Fraction(small[i // 32][0] * code, 64) - Fraction(small[i // 32][1], 8)
                   for i, code in enumerate(codes)]


def write_gguf(path, described):
    subprocess.run([sys.executable, HELPERS / "make_gguf.py", path], input=described, text=True, check=True)


def make_gguf(name, folder):
    rows = [q4_k(Maker(f"{name}{i}")) for i in range(3)]
    write_gguf(folder / name, f"""key general.architecture string llama
        key llama.block_count u32 1
        tensor blk.0.attn_q.weight Q4_K 3x256 {b"".join(block for block, _ in rows).hex()}
        tensor output_norm.weight F32 2 1 -2.5""")
    return {"blk.0.attn_q.weight": ((3, 256), [value for _, row in rows for value in row]),
            "output_norm.weight": ((2,), [Fraction(1), Fraction(-5, 2)])}


def make_gguf_parts(name, folder):
    """Q8_0, a float16 and 32 codes: one tensor in the first part, one in the second."""
    make, weights = Maker(name), {}
    for part in range(2):
        codes = make.codes(64)
        blocks = b"".join(struct.pack("<e", 0.0123) + bytes(codes[i:i + 32]) for i in (0, 32))
        scale = Fraction(struct.unpack("<e", blocks[:2])[0])
        weights[f"blk.{part}.ffn_up.weight"] = ((2, 32), [code * scale for code in codes])
        write_gguf(folder / name.replace("-00001-of", f"-0000{part + 1}-of"), f"""key split.no u16 {part}
            key split.count u16 2
            key split.tensors.count i32 2
            tensor blk.{part}.ffn_up.weight Q8_0 2x32 {blocks.hex()}""")
    return weights


def make_torch(path, root=None):
    values = [1.0009765625, -3.14159, 1e-3, 7.25, 100.125, 0.1]
    state = f'{{"w.weight": tensor("float32", {values}, (2, 3))}}'
    if root is not None:
        state = f'{{"state_dict": {{"w.weight": tensor("float32", [9], (1,))}}, "{root}": {state}, "epoch": 3}}'
    subprocess.run([sys.executable, HELPERS / "make_torch_file.py", path], input=state, text=True, check=True)
    data = struct.pack("<6f", *values)
    return {"w.weight": ((2, 3), files.decode("F32", data))}


def make_bin(name, folder):
    (folder / name).mkdir()
    (folder / name / "config.json").write_text('{"model_type": "llama", "torch_dtype": "float32"}')
    for other, text in OTHER_FILES.items():
        (folder / name / other).write_text(text)
    (folder / name / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": {
        "w.weight": "pytorch_model-00001-of-00001.bin"}}))
    return make_torch(folder / name / "pytorch_model-00001-of-00001.bin")


# The components of a pipeline of diffusers, the file of each, and what its configuration says.
PIPELINE = {"transformer": ("diffusion_pytorch_model.safetensors", {"_class_name": "FluxTransformer2DModel"}),
            "text_encoder_2": ("model.safetensors", {"model_type": "t5", "torch_dtype": "bfloat16"}),
            "vae": ("diffusion_pytorch_model.safetensors", {"_class_name": "AutoencoderKL"})}


def make_pipeline(name, folder):
    index = {"_class_name": "FluxPipeline", "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"]}
    weights = {}
    for component, (file, config) in PIPELINE.items():
        index[component] = ["diffusers" if "_class_name" in config else "transformers",
                            config.get("_class_name", "T5EncoderModel")]
        (folder / name / component).mkdir(parents=True)
        (folder / name / component / "config.json").write_text(json.dumps(config))
        data, values = Maker(component).floats("BF16", 32 * 32, False)
        files.write_safetensors(folder / name / component / file, {"w.weight": files.Tensor("BF16", (32, 32), data)})
        weights[f"{component}/w.weight"] = ((32, 32), values)
    (folder / name / "scheduler").mkdir()
    (folder / name / "scheduler" / "scheduler_config.json").write_text("{}")
    (folder / name / "model_index.json").write_text(json.dumps(index))
    return weights


OTHERS = {
    "FLUX.1-dev": make_pipeline,
    "Llama-3.1-8B-Q4_K_M.gguf": make_gguf,
    "Qwen3-32B-Q8_0-00001-of-00002.gguf": make_gguf_parts,
    "Llama-2-7b-bin": make_bin,
    "consolidated.00.pth": lambda name, folder: make_torch(folder / name),
    "sd-v1-5.ckpt": lambda name, folder: make_torch(folder / name, "ema"),
}


def make_inputs(folder):
    """What the inputs' weights are: input -> name -> (shape, values)."""
    made = {name: make_scaled(name, make, folder) for name, make in SCALED.items()}
    return made | {name: make(name, folder) for name, make in OTHERS.items()}


def commands_of(page):
    """The words of each command, in their order: a line of a block, or between backquotes."""
    return [shlex.split(line) for line in re.findall(r"(?:^|`)(tensorcast [^`\n]+)", page, re.M)]


def check_pipeline(out, target, weights):
    """Holds each component, and what lies beside them."""
    if (out / "scheduler" / "scheduler_config.json").read_text() != "{}":
        return "lacks its scheduler"
    for component, (_, config) in PIPELINE.items():
        problem = check_values(out / component, target, {"w.weight": weights[f"{component}/w.weight"]})
        wanted = {key: target if key == "torch_dtype" else value for key, value in config.items()}
        if problem or json.loads((out / component / "config.json").read_text()) != wanted:
            return f"{component}: {problem or 'its config.json is another'}"
    return None


def check_values(out, target, weights):
    is_folder = out.is_dir()
    made, _ = files.read_safetensors(next(out.glob("*.safetensors")) if is_folder else out)
    if set(made) != set(weights):
        return f"has {sorted(made)}, not {sorted(weights)}"
    for name, (shape, values) in weights.items():
        tensor = made[name]
        if (tensor.dtype, tensor.shape) != (WORDS[target], tuple(shape)):
            return f"{name} is {tensor.dtype} {tensor.shape}"
        size = len(tensor.data) // len(values)
        for i, exact in enumerate(values):
            found, value = tensor.data[i * size:(i + 1) * size], files.round_to(exact, target)
            if not same(found, value, target):
                return f"{name}[{i}] is {found[::-1].hex()}, not {bits_of(value, target)[::-1].hex()} ({exact})"
    return None


def check_output(out, target, weights):
    """Holds what `convert` wrote against the exact values; gives what is wrong."""
    if (out / "model_index.json").exists():
        return check_pipeline(out, target, weights)
    if (problem := check_values(out, target, weights)) or not out.is_dir():
        return problem
    config = json.loads((out / "config.json").read_text())
    kept = [key for key in ("quantization_config", "quantization") if key in config]
    if kept or config.get("dtype", config.get("torch_dtype")) != target:
        return f"its config.json says {config}"
    if any((out / other).read_text() != text for other, text in OTHER_FILES.items()):
        return f"lacks one of {list(OTHER_FILES)}"
    if (out / "params.json").exists() and json.loads((out / "params.json").read_text()) != {"dim": 40}:
        return "its params.json names a quantisation"
    old = [path.name for path in out.iterdir() if path.suffix == ".bin" or "bin.index" in path.name or
           path.name in ("hf_quant_config.json", "quantize_config.json")]
    return f"has {old}" if old else None


def check_times(root, page):
    """Holds what is read and written, and the time, of the table's rows against the rates."""
    with open(root / "bench/results/dialect_rates.csv", newline="", encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        rates = {row["layout"]: row for row in rows}
    wrong = []
    for line in page.splitlines():
        match = re.search(r"\| ([\d,.]+) B \| ([\d,.]+) → ([\d,.]+) GB \| ([\d,.]+) (s|min|h) \| (\w+) \|$", line)
        if not match:
            if "`tensorcast convert" in line and line.startswith("| "):
                wrong.append(f"no row of the table: {line}")
            continue
        billions, read, written, time = (float(text.replace(",", "")) for text in match.groups()[:4])
        row = rates[match[6]]
        ratio = float(row["MB_read"]) / float(row["MB_written"])
        seconds = billions * (2 + 2 * ratio) / float(row["GB_per_second"])
        unit = {"s": 1, "min": 60, "h": 3600}[match[5]]
        for said, computed in ((written, 2 * billions), (read, 2 * billions * ratio), (time * unit, seconds)):
            if not 0.94 < said / computed < 1.06:  # two digits
                wrong.append(f"{said} is not {computed:.4g}: {line}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--tool", required=True)
    arguments = parser.parse_args()
    page = (arguments.root / PAGE).read_text(encoding="utf-8")
    problems, used, count = check_times(arguments.root, page), set(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        weights = make_inputs(folder)
        for words in commands_of(page):
            count += 1
            out = folder / words[words.index("-o") + 1] if "-o" in words else None
            done = subprocess.run([arguments.tool, *words[1:]], capture_output=True, text=True, cwd=folder, check=False)
            used.update(weights.keys() & set(words))
            problem = None
            if done.returncode != 0:
                problem = f"exit {done.returncode}: {done.stderr or done.stdout}"
            elif out is not None and "--dry-run" not in words:
                to = words[words.index("--to") + 1] if "--to" in words else None
                target = TYPES.get(to)  # none: a scaled format, or the same values in another layout
                problem = check_output(out, target, weights[words[2]]) if target else None
            if problem:
                problems.append(f"{shlex.join(words)}: {problem}")
    problems += [f"{one} is in no command of the page" for one in weights.keys() - used]
    print(*problems, f"{count} commands, {len(problems)} problems", sep="\n")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

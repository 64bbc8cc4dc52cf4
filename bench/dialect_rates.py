#!/usr/bin/env python3
"""How fast packed checkpoints become bfloat16, for each layout: what docs/which_command.md computes with.

    dialect_rates.py --tool build/release/programs/tensorcast [--megabytes 512] [--rounds 3]
                     [--csv ROWS] [KIND...]

Each checkpoint holds random codes of so many megabytes of weights as bfloat16, in matrices of
4096 x 4096, and is converted with the report, on one thread. A rate is that of bytes read and
written together for a second of processor time (user and system), the median of the rounds, which
other work on the machine disturbs less than the time on the clock; files lie in the page cache.
Peak memory is the kernel's. Only the standard library is needed.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import json
import math
import multiprocessing
import os
import pathlib
import statistics
import struct
import sys
import tempfile

N = K = 4096
BLOCK = 128
NF4_MAP = struct.pack("<16f", *[-1 + i / 8 for i in range(16)])


def codes(size):
    return os.urandom(size)


def floats(letter, count):
    """Scales about 0.01, of float32, float16 or bfloat16."""
    single = struct.pack("<f", 0.01171875)
    return {"F32": single, "F16": struct.pack("<e", 0.01171875), "BF16": single[2:]}[letter] * count


def e8m0(count):
    return bytes([120]) * count


def compressed(fmt, **weights):
    return {"quant_method": "compressed-tensors", "format": fmt,
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}


# Each gives the tensors of one weight, name -> (dtype, shape, bytes), and the configuration.
def plain_f16():
    return {"weight": ("F16", (N, K), floats("F16", N * K))}, None


def fp8_block():
    grid = (N // BLOCK, K // BLOCK)
    return {"weight": ("F8_E4M3", (N, K), codes(N * K)),
            "weight_scale_inv": ("F32", grid, floats("F32", math.prod(grid)))}, {
        "quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]}


def v4_experts():
    return {"weight": ("I8", (N, K // 2), codes(N * K // 2)),
            "scale": ("F8_E8M0", (N, K // 32), e8m0(N * K // 32))}, {
        "quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]}


def fp8_row():
    return {"weight": ("F8_E4M3", (N, K), codes(N * K)),
            "weight_scale": ("BF16", (N, 1), floats("BF16", N))}, compressed(
        "float-quantized", num_bits=8, type="float", strategy="channel")


def fp8_comfyui():
    return {"weight": ("F8_E4M3", (N, K), codes(N * K)), "scale_weight": ("F32", (), floats("F32", 1))}, None


def pack_quantized():
    return {"weight_packed": ("I32", (N, K // 8), codes(N * K // 2)),
            "weight_scale": ("BF16", (N, K // 32), floats("BF16", N * K // 32)),
            "weight_shape": ("I64", (2,), struct.pack("<2q", N, K))}, compressed(
        "pack-quantized", num_bits=4, type="int", strategy="group", group_size=32, symmetric=True)


def gptq():
    return {"qweight": ("I32", (K // 8, N), codes(N * K // 2)),
            "qzeros": ("I32", (K // BLOCK, N // 8), b"\x77" * (K // BLOCK * N // 2)),
            "scales": ("F16", (K // BLOCK, N), floats("F16", K // BLOCK * N))}, {
        "quant_method": "gptq", "bits": 4, "group_size": BLOCK, "sym": True}


def awq():
    return {"qweight": ("I32", (K, N // 8), codes(N * K // 2)),
            "qzeros": ("I32", (K // BLOCK, N // 8), codes(K // BLOCK * N // 2)),
            "scales": ("F16", (K // BLOCK, N), floats("F16", K // BLOCK * N))}, {
        "quant_method": "awq", "bits": 4, "group_size": BLOCK, "zero_point": True, "version": "gemm"}


def nvfp4():
    return {"weight": ("U8", (N, K // 2), codes(N * K // 2)),
            "weight_scale": ("F8_E4M3", (N, K // 16), b"\x38" * (N * K // 16)),
            "weight_scale_2": ("F32", (), floats("F32", 1))}, {
        "quant_method": "modelopt", "quant_algo": "NVFP4"}


def gpt_oss():
    return {"experts.down_proj_blocks": ("U8", (1, N, K // 32, 16), codes(N * K // 2)),
            "experts.down_proj_scales": ("U8", (1, N, K // 32), e8m0(N * K // 32))}, {
        "quant_method": "mxfp4"}


def nf4():
    said = json.dumps({"quant_type": "nf4", "blocksize": 64, "shape": [N, K], "dtype": "bfloat16"})
    return {"weight": ("U8", (N * K // 2, 1), codes(N * K // 2)),
            "weight.absmax": ("F32", (N * K // 64,), floats("F32", N * K // 64)),
            "weight.quant_map": ("F32", (16,), NF4_MAP),
            "weight.quant_state.bitsandbytes__nf4": ("U8", (len(said),), said.encode())}, {
        "quant_method": "bitsandbytes", "load_in_4bit": True}


def llm_int8():
    return {"weight": ("I8", (N, K), codes(N * K)), "SCB": ("F32", (N,), floats("F32", N))}, {
        "quant_method": "bitsandbytes", "load_in_8bit": True}


def mlx():
    return {"weight": ("U32", (N, K // 8), codes(N * K // 2)),
            "scales": ("BF16", (N, K // 64), floats("BF16", N * K // 64)),
            "biases": ("BF16", (N, K // 64), floats("BF16", N * K // 64))}, {"group_size": 64, "bits": 4}


def described(tensors, **said):
    """With ComfyUI's description of the layer."""
    text = json.dumps(said).encode()
    return {**tensors, "comfy_quant": ("U8", (len(text),), text)}, None


def comfyui_nvfp4():
    return described(nvfp4()[0], format="nvfp4")


def comfyui_rotated():
    return described({"weight": ("I8", (N, K), codes(N * K)), "weight_scale": ("F32", (N, 1), floats("F32", N))},
                     format="int8_tensorwise", per_row=True, convrot=True, convrot_groupsize=256)


KINDS = {one.__name__: one for one in (
    plain_f16, fp8_block, v4_experts, fp8_row, fp8_comfyui, pack_quantized, gptq, awq, nvfp4, gpt_oss, nf4, llm_int8, mlx,
    comfyui_nvfp4, comfyui_rotated)}
# Of GGUF: the type's number, elements and bytes of a block, and where a block has float16s.
GGUF = {"gguf_q8_0": (8, 32, 34, (0,)), "gguf_q4_0": (2, 32, 18, (0,)), "gguf_q4_k": (12, 256, 144, (0, 2)),
        "gguf_q6_k": (14, 256, 210, (208,))}


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def write_gguf(path, kind, count):
    number, elements, size, floats_at = GGUF[kind]
    blocks = N * K // elements
    data = bytearray(codes(blocks * size))
    for place in floats_at:
        data[place::size] = bytes([0]) * blocks
        data[place + 1::size] = bytes([0x22]) * blocks  # some 0.01
    infos = b""
    for i in range(count):
        name = f"blk.{i}.ffn_up.weight".encode()
        infos += struct.pack("<Q", len(name)) + name + struct.pack("<I2QIQ", 2, K, N, number, i * len(data))
    head = b"GGUF" + struct.pack("<I2Q", 3, count, 0) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32))
        for _ in range(count):
            file.write(data)


def make(kind, folder, count):
    """Writes a checkpoint; gives the path that is converted."""
    if kind in GGUF:
        write_gguf(folder / "model.gguf", kind, count)
        return folder / "model.gguf"
    tensors, said = KINDS[kind]()
    write_safetensors(folder / "model.safetensors", {
        f"layers.{i}.{name}": tensor for i in range(count) for name, tensor in tensors.items()})
    key = "quantization" if kind == "mlx" else "quantization_config"
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"} | ({key: said} if said else {})))
    return folder


def convert(tool, source, out):
    """Processor seconds and peak megabytes of one conversion."""
    command = [tool, "convert", str(source), "-o", str(out), "--to", "bf16", "--threads", "1", "--force"]
    child = os.posix_spawn(tool, command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--csv", help="a file for the rows")
    parser.add_argument("kinds", nargs="*", default=[*KINDS, *GGUF])
    arguments = parser.parse_args()
    count = max(1, arguments.megabytes * 10**6 // (2 * N * K))
    rows = []
    for kind in arguments.kinds:
        with tempfile.TemporaryDirectory() as folder:
            # In a process of its own: what this one held would count as held by those that it starts.
            with multiprocessing.Pool(1) as pool:
                source = pool.apply(make, (kind, pathlib.Path(folder), count))
            out = pathlib.Path(folder) / "out.safetensors"
            taken = [convert(arguments.tool, source, out) for _ in range(arguments.rounds)]
            seconds, peak = statistics.median(one[0] for one in taken), max(one[1] for one in taken)
            weights = source / "model.safetensors" if source.is_dir() else source
            before, after = weights.stat().st_size, out.stat().st_size
        rows.append({"layout": kind, "MB_read": round(before / 1e6), "MB_written": round(after / 1e6),
                     "cpu_seconds": round(seconds, 2), "GB_per_second": round((before + after) / 1e9 / seconds, 2),
                     "peak_MB": round(peak, 1)})
        print(*(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if arguments.csv:
        with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Repacked weights, as the libraries that read their layouts give them back.

    check_repacked.py --tool TENSORCAST [NAME...]

The weights are those of tests/scale/repack_cases.py, the readers compressed-tensors, MLX, ModelOpt's
class of NVFP4, and gguf-py where it is installed. What a library gives has to be the exact value but
for its own rounding: to the type that it computes in. A code or a scale in another place is more.

Left out, as the library does not read them: stacked weights, an order of groups ("group has been
removed" in compressed-tensors 0.20), and zero points of as many rows as one word has (its unpacking
of one row of words fails). Values beyond float32, or near its end, are not compared.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scale"))
import check_repacked as scale_check  # noqa: E402
import repack_cases  # noqa: E402


def of_compressed_tensors(folder, name, config):
    import torch
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationScheme
    from safetensors.torch import load_file
    said = config["quantization_config"]
    group = said["config_groups"]["group_0"]
    scheme = QuantizationScheme.model_validate({**group, "targets": ["Linear"]})
    stem = name.removesuffix("weight")
    tensors = {key.removeprefix(stem): tensor for key, tensor in load_file(folder).items()
               if key.startswith(stem)}
    compressor = BaseCompressor.get_value_from_registry(group["format"])
    return compressor.decompress(tensors, scheme)["weight"].to(torch.float64).numpy()


def of_mlx(path, name, config):
    import mlx.core as mx
    said = config["quantization_config"]
    stem = name.removesuffix("weight")
    tensors = mx.load(str(path))
    parts = [tensors[stem + part] for part in ("weight", "scales", "biases") if stem + part in tensors]
    made = mx.dequantize(*parts, group_size=said["group_size"], bits=said["bits"],
                         mode=said.get("mode", "affine"))
    return np.array(made.astype(mx.float32)).astype(np.float64)


def of_modelopt(path, name, _config):
    import torch
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    from safetensors.torch import load_file
    tensors = load_file(path)
    codes = tensors[name]
    if name + "_scale_2" not in tensors:
        return None
    weight = NVFP4QTensor(torch.Size((*codes.shape[:-1], codes.shape[-1] * 2)), torch.float32, codes)
    return weight.dequantize(torch.float32, scale=tensors[name + "_scale"],
                             double_scale=tensors[name + "_scale_2"],
                             block_sizes={-1: 16}).to(torch.float64).numpy()


def of_gguf(path, name, _config):
    try:
        import gguf
    except ImportError:
        return None
    reader = gguf.GGUFReader(path)
    (tensor,) = [one for one in reader.tensors if one.name == name]
    made = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)
    scales = [one for one in reader.tensors if one.name == name.removesuffix(".weight") + ".scale"]
    return made * np.float64(scales[0].data[0]) if scales else made


READERS = {"compressed-tensors": of_compressed_tensors, "mlx": of_mlx, "modelopt": of_modelopt,
           "gguf": of_gguf}
# The rounding of what each computes in, bfloat16 or float32, some steps of it.
ROUNDING = {"compressed-tensors": Fraction(1, 2**7), "mlx": Fraction(1, 2**7),
            "modelopt": Fraction(3, 2**24), "gguf": Fraction(3, 2**24)}


def is_left_out(case, target):
    if target == "mlx":  # a sum of 8-bit products in bfloat16 loses what cancels
        return case.name.endswith("int8_row_BF16")
    if target != "compressed-tensors":
        return False
    stacked = any(len(shape) > 2 for shape, _ in case.weights.values())
    one_word = case.name.startswith(("to_mlx", "to_zeros")) and any(
        shape[0] == 8 for shape, _ in case.weights.values())
    return stacked or one_word or "order" in case.name


def differences(found, values, change, rounding):
    """How many are others; +0 for -0 is not one, nor is what float32 does not hold."""
    wrong = 0
    for is_now, was in zip(found.reshape(-1).tolist(), values, strict=True):
        if isinstance(was, float) and math.isnan(was):
            continue  # a scale byte of 255, which some take for 2^128
        elif isinstance(was, float):
            wrong += is_now != was
        elif 0 < abs(was) < Fraction(1, 2**120) or abs(was) >= 2**120:
            continue
        elif not math.isfinite(is_now):
            wrong += 1
        else:
            # A product with a global scale is rounded to float32 by the libraries, as is a reciprocal.
            wrong += abs(Fraction(is_now) - was) > (Fraction(change) + rounding) * abs(was)
    return wrong


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tool", required=True, type=pathlib.Path)
    arguments.add_argument("names", nargs="*")
    chosen = arguments.parse_args()
    tool = chosen.tool.resolve()
    counts, failed = {}, []
    with tempfile.TemporaryDirectory() as temporary:
        for i, (case, target, expected) in enumerate(repack_cases.pairs()):
            if expected is not True or target not in READERS or is_left_out(case, target) or (
                    chosen.names and not any(name in case.name for name in chosen.names)):
                continue
            source = scale_check.write(case, pathlib.Path(temporary) / str(i))
            output = source.with_name("out.gguf" if target == "gguf" else "out.safetensors")
            done = subprocess.run([tool, "convert", source, "-o", output, "--repack", target, "--json",
                                   "-q"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                failed.append(f"{case.name} to {target}: {done.stderr}")
                continue
            report = json.loads(done.stdout)
            for entry in report["repacked"]:
                weights = scale_check.as_in(target, case)
                name = entry["name"]
                if entry["to"] not in ("int4-group", "int8-group", "int2-group", "int3-group", "q4_0",
                                       "q4_1", "q8_0", "nvfp4", "mxfp4"):
                    continue
                try:
                    found = READERS[target](output, name, report)
                except Exception as error:  # noqa: BLE001: whatever a library raises
                    failed.append(f"{case.name} to {target}: {type(error).__name__}: {error}"[:300])
                    continue
                if found is None:
                    continue
                key = (target, entry["to"])
                counts[key] = counts.get(key, 0) + 1
                if wrong := differences(found, weights[name][1], entry["change"], ROUNDING[target]):
                    failed.append(f"{case.name} to {target}: {wrong} of {found.size} values are others")
    for (target, form), count in sorted(counts.items()):
        print(f"{target:20} {form:12} {count} weights as its library reads them")
    print("\n".join(failed[:40]))
    return 1 if failed or not counts else 0


if __name__ == "__main__":
    sys.exit(main())

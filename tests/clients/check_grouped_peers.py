#!/usr/bin/env python3
"""GPTQ and AWQ weights packed by AutoGPTQ's, AutoAWQ's and auto-round's own modules, read by tensorcast,
and held against what these modules make of them.

    check_grouped_peers.py --tool build/release/programs/tensorcast

They come from PyPI and are unpacked, not installed: of each single modules are loaded, as their
kernels ask for a GPU. Their arithmetic is in float16: the library's weights are the exact ones
rounded to it, once.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import contextlib
import importlib
import importlib.util
import io
import json
import logging
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import warnings

import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from exact_weights import run  # noqa: E402

ROWS, COLUMNS, GROUP = 96, 256, 64


def fetch(folder):
    """Unpacks the packages into a folder and makes them importable."""
    wheel = ["--only-binary=:all:", "--python-version=3.11", "--platform=manylinux2014_x86_64"]
    for package, how in (("auto-gptq==0.7.1", wheel), ("autoawq==0.2.9", ["--no-binary=:all:"]),
                         ("auto-round==0.16.1", ["--only-binary=:all:"])):
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                               "--dest", folder, *how, package], check=False)
        if done.returncode != 0:
            sys.exit(f"{package} cannot be had from PyPI")
    for archive in [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]:
        shutil.unpack_archive(archive, folder, "zip" if archive.suffix == ".whl" else None)
    sys.path += [str(folder), str(folder / "autoawq-0.2.9")]


def without_init(*packages):
    """Packages whose modules can be imported without what the packages themselves import."""
    for name in packages:
        module = types.ModuleType(name)
        parent, _, leaf = name.rpartition(".")
        if parent:
            module.__path__ = [str(pathlib.Path(sys.modules[parent].__path__[0]) / leaf)]
        else:
            module.__path__ = list(importlib.util.find_spec(name).submodule_search_locations)
        sys.modules[name] = module


def linear_of(bits, symmetric):
    """A linear layer whose weights are codes times scales, its scales and zero points [rows, groups]."""
    groups = COLUMNS // GROUP
    codes = torch.randint(0, 1 << bits, (ROWS, COLUMNS))
    zeros = torch.full((ROWS, groups), 1 << (bits - 1)) if symmetric else \
        torch.randint(1, 1 << bits, (ROWS, groups))
    scales = (torch.rand(ROWS, groups) + 0.5).half().float() / 64
    scales = scales.half().float()
    spread = lambda cells: cells.repeat_interleave(GROUP, 1)  # noqa: E731
    layer = torch.nn.Linear(COLUMNS, ROWS, bias=False, dtype=torch.float32)
    exact = (codes - spread(zeros)).double() * spread(scales).double()
    layer.weight.data = exact.float()
    return layer, scales, zeros, exact


def convert(tool, folder, tensors, config):
    """The weight in float16 and in float64."""
    folder.mkdir()
    save_file({"up." + key: value.contiguous() for key, value in tensors.items()},
              folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"quantization_config": config}))
    found = []
    for to in ("float16", "float64"):
        out = folder.with_name(f"{folder.name}-{to}")
        run(tool, "convert", folder, "-o", out, "--to", to, "--no-report", "-q")
        found.append(load_file(out / "model.safetensors")["up.weight"])
    return found


def check_gptq(tool, folder, bits, symmetric):
    module = importlib.import_module("auto_gptq.nn_modules.qlinear.qlinear_cuda_old")
    layer, scales, zeros, exact = linear_of(bits, symmetric)
    packed = module.QuantLinear(bits, GROUP, COLUMNS, ROWS, False)
    packed.pack(layer, scales, zeros.float(), None)
    packed.scales = packed.scales.half()
    half, double = convert(
        tool, folder, {"qweight": packed.qweight, "qzeros": packed.qzeros, "scales": packed.scales},
        {"quant_method": "gptq", "bits": bits, "group_size": GROUP, "sym": symmetric})
    # The rows of the identity pick its weights out: in float16, as it multiplies.
    library = packed(torch.eye(COLUMNS, dtype=torch.float16)).T
    return compare(exact, double, half, library)


def check_auto_round(tool, folder, bits, packing):
    """Of the packings one alone stores zero points less 1, and one alone writes the groups' order."""
    ending = "_zp" if packing == "auto_round:auto_gptq" else ""
    module = importlib.import_module(f"auto_round_extension.torch.qlinear_torch{ending}")
    layer, scales, zeros, exact = linear_of(bits, False)
    packed = module.QuantLinear(bits, GROUP, COLUMNS, ROWS, False, g_idx=packing.endswith("model"))
    packed.device = torch.device("cpu")  # which its exporter sets
    packed.pack(layer, scales, zeros.float(), None, packed.device)
    half, double = convert(
        tool, folder, {key: value for key, value in packed.state_dict().items() if key != "bias"},
        {"quant_method": "auto-round", "bits": bits, "group_size": GROUP, "sym": False,
         "data_type": "int", "packing_format": packing})
    library = packed(torch.eye(COLUMNS, dtype=torch.float16)).T
    return compare(exact, double, half, library)


def check_awq(tool, folder, version):
    layer, scales, zeros, exact = linear_of(4, False)
    if version == "gemm":
        module = importlib.import_module("awq.modules.linear.gemm").WQLinear_GEMM
        packed = module.from_linear(layer, 4, GROUP, scales=scales.T, zeros=zeros.T)
    else:
        module = importlib.import_module("awq.modules.linear.gemv").WQLinear_GEMV
        packed = module.from_linear(layer, 4, GROUP, scales=scales, zeros=zeros)
    half, double = convert(
        tool, folder, {"qweight": packed.qweight, "qzeros": packed.qzeros, "scales": packed.scales},
        {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True,
         "version": version})
    library = None
    if version == "gemm":
        unpack = importlib.import_module("awq.utils.packing_utils").dequantize_gemm
        library = unpack(packed.qweight, packed.qzeros, packed.scales, 4, GROUP).T
    return compare(exact, double, half, library)


def compare(exact, double, half, library):
    """Values that are not those the layer had, and those in which the library differs."""
    wrong = int((double != exact).sum()) + int((half != exact.half()).sum())
    return wrong, -1 if library is None else int((half != library).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    torch.manual_seed(25)
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore", module="auto_round_extension")
    failed = False
    print(f"{'written by':24} {'weights':>8} {'wrong':>6} {'the library differs':>20}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "packages").mkdir()
        fetch(folder / "packages")
        without_init("auto_gptq", "auto_gptq.nn_modules", "auto_gptq.nn_modules.qlinear",
                     "awq", "awq.modules", "awq.modules.linear", "awq.utils", "auto_round",
                     "auto_round.utils", "auto_round_extension", "auto_round_extension.torch")
        sys.modules["auto_round.utils"].get_packing_device = lambda device: torch.device("cpu")
        checks = [(f"AutoGPTQ {bits} bits{' sym' if symmetric else ''}", check_gptq,
                   (bits, symmetric)) for bits in (2, 3, 4, 8) for symmetric in (False, True)]
        checks += [(f"AutoAWQ {version}", check_awq, (version,)) for version in ("gemm", "gemv")]
        checks += [(f"{packing} {bits}", check_auto_round, (bits, packing)) for bits in range(2, 9)
                   for packing in ("auto_round", "auto_round:gptqmodel", "auto_round:auto_gptq")]
        for label, check, arguments in checks:
            with contextlib.redirect_stdout(io.StringIO()):
                wrong, differ = check(tool, folder / label.replace(" ", "_").replace(":", "_"), *arguments)
            failed = failed or wrong > 0 or differ > 0
            print(f"{label:24} {ROWS * COLUMNS:8} {wrong:6} {'-' if differ < 0 else differ:>20}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Files that torch.save writes, read by tensorcast: every tensor bit by bit, under its name.

    check_torch.py --tool TENSORCAST

Zip and legacy files, one by one and as sharded directories: every type, views, transposed and
expanded tensors, ties, parameters, nested training checkpoints; then what is refused, what is listed
and has to be excluded, and that no pickle runs anything.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
from safetensors.torch import load_file

KEEP = ["--exclude", "*", "--quiet", "--no-report", "--to", "float16"]
PLAIN = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32,
         torch.int16, torch.int8, torch.uint8, torch.bool]
UNTYPED = [torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e4m3fnuz,
           torch.float8_e5m2, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]


def call(tool, *arguments):
    """Exit code, stdout, stderr."""
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def hold(what, wanted, found):
    """Both are dicts of tensors."""
    if list(sorted(wanted)) != list(sorted(found)):
        sys.exit(f"{what}: the names are {sorted(found)}, not {sorted(wanted)}")
    for name, tensor in wanted.items():
        same = found[name]
        if (same.dtype, same.shape) != (tensor.dtype, tensor.shape) or bits(same) != bits(tensor):
            sys.exit(f"{what}: {name} is another tensor")


def convert(tool, source, out, *more):
    code, _, errors = call(tool, "convert", source, "-o", out, *KEEP, *more)
    if code != 0:
        sys.exit(f"{source}: {code} {errors}")
    return load_file(out)


def random_bits(dtype, *shape):
    size = torch.empty(shape, dtype=dtype).nbytes
    data = torch.randint(0, 256, (size,), dtype=torch.uint8)
    if dtype == torch.bool:
        data &= 1
    return data.view(dtype).reshape(shape)


def state(types):
    """A state dict of many kinds of tensors."""
    made = collections.OrderedDict()
    for dtype in types:
        name = str(dtype).removeprefix("torch.")
        made[name] = random_bits(dtype, 37, 5)
        made[f"{name}.scalar"] = random_bits(dtype, 1)[0]
        made[f"{name}.empty"] = torch.empty((0, 4), dtype=dtype)
        whole = random_bits(dtype, 64, 48)
        made[f"{name}.rows"] = whole[3:17]
        made[f"{name}.columns"] = whole[:, 5:9]
        made[f"{name}.every_third"] = whole[1::3, ::2]
        made[f"{name}.transposed"] = whole.t()
        made[f"{name}.expanded"] = whole[2:3, :6].expand(9, 6)
        made[f"{name}.permuted"] = random_bits(dtype, 4, 6, 5, 3).permute(2, 0, 3, 1)
        made[f"{name}.windows"] = random_bits(dtype, 70).as_strided((20, 7), (2, 3), 1)
    made["parameter"] = torch.nn.Parameter(torch.randn(3, 3))
    made["tied"] = made["parameter"]
    made["large.transposed"] = torch.randn(2100, 2000).t()
    made["large.blocks"] = torch.randn(40, 512, 33).permute(1, 2, 0)[:, 3:29]
    return made


def check_files(tool, folder):
    for legacy in (False, True):
        # torch 2.15 writes legacy files of the others, and does not load them.
        wanted = state(PLAIN + UNTYPED)
        path = folder / ("legacy.pt" if legacy else "zip.pt")
        torch.save(wanted, path, _use_new_zipfile_serialization=not legacy)
        hold(path.name, wanted, convert(tool, path, folder / "out.safetensors", "--force"))
        hold(path.name + ", one thread", wanted,
             convert(tool, path, folder / "out.safetensors", "--force", "--threads", "1"))
        print(f"{path.name:12} {len(wanted)} tensors equal")
    model = torch.nn.TransformerEncoderLayer(64, 4, 96)
    torch.save(model.state_dict(), folder / "model.bin")
    hold("model.bin", model.state_dict(), convert(tool, folder / "model.bin", folder / "m.safetensors"))
    # A module keeps its version in attributes of the dict; parameters with attributes have a state.
    wanted = {"w": torch.nn.Parameter(torch.randn(4, 4))}
    wanted["w"].attribute = "kept"
    torch.save(wanted, folder / "attribute.pth")
    hold("attribute.pth", wanted, convert(tool, folder / "attribute.pth", folder / "a.safetensors"))
    one = torch.randn(5, 3)
    torch.save(one, folder / "one.pt")
    hold("one.pt", {"one": one}, convert(tool, folder / "one.pt", folder / "one.safetensors"))


def check_roots(tool, folder):
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    training = {"state_dict": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3,
                "args": argparse.Namespace(lr=0.1, folder=pathlib.PurePosixPath("/tmp")),
                "best": float("inf"), "seen": 10 ** 30, "kinds": collections.defaultdict(list)}
    for legacy in (False, True):
        path = folder / "training.ckpt"
        torch.save(training, path, _use_new_zipfile_serialization=not legacy)
        hold("training.ckpt", model.state_dict(),
             convert(tool, path, folder / "t.safetensors", "--force"))
        code, text, _ = call(tool, "inspect", path, "--json")
        notes = " ".join(json.loads(text)["notes"])
        if code != 0 or "argparse.Namespace" not in notes or "state_dict" not in notes:
            sys.exit(f"training.ckpt: inspect says {notes!r}")
    torch.save({"model": model.state_dict(), "ema": model.state_dict()}, folder / "two.pt")
    code, _, errors = call(tool, "inspect", folder / "two.pt")
    if code != 2 or "--root" not in errors or errors.count("\n") != 1:
        sys.exit(f"two.pt: {code} {errors}")
    hold("two.pt", model.state_dict(),
         convert(tool, folder / "two.pt", folder / "ema.safetensors", "--root", "ema"))
    torch.save({"w": torch.ones(2), "config": argparse.Namespace()}, folder / "under.pt")
    code, _, errors = call(tool, "inspect", folder / "under.pt")
    if code != 5 or "argparse.Namespace" not in errors:
        sys.exit(f"under.pt: {code} {errors}")
    print("roots        as they should be")


def check_directories(tool, folder):
    wanted = {f"layers.{i}.weight": torch.randn(16, 16).to(torch.bfloat16) for i in range(4)}
    for name, shards in (("single", 1), ("sharded", 3)):
        source = folder / name
        source.mkdir()
        (source / "config.json").write_text('{"model_type": "llama", "torch_dtype": "bfloat16"}')
        names = sorted(wanted)
        files = {}
        for i in range(shards):
            file = "pytorch_model.bin" if shards == 1 else \
                f"pytorch_model-{i + 1:05}-of-{shards:05}.bin"
            part = {key: wanted[key] for key in names[i::shards]}
            torch.save(part, source / file)
            files.update(dict.fromkeys(part, file))
        if shards > 1:
            (source / "pytorch_model.bin.index.json").write_text(
                json.dumps({"metadata": {}, "weight_map": files}))
        out = folder / f"{name}-out"
        code, _, errors = call(tool, "convert", source, "-o", out, *KEEP)
        if code != 0:
            sys.exit(f"{name}: {code} {errors}")
        found = {}
        for path in out.glob("*.safetensors"):
            found.update(load_file(path))
        hold(name, wanted, found)
        listed = sorted(path.name for path in out.iterdir())
        if any(file.endswith(".bin") or "pytorch" in file for file in listed):
            sys.exit(f"{name}: writes {listed}")
        print(f"{name:12} {', '.join(listed)}")


def check_refused(tool, folder):
    class Run:
        def __reduce__(self):
            return os.system, (f"touch {folder / 'ran'}",)

    module = torch.nn.Linear(2, 2)
    refused = {
        "run.pt": {"w": Run()},
        "run_alone.pt": Run(),
        "module.pt": module,
    }
    for name, content in refused.items():
        for legacy in (False, True):
            torch.save(content, folder / name, _use_new_zipfile_serialization=not legacy)
            code, _, errors = call(tool, "inspect", folder / name)
            if code not in (3, 5) or errors.count("\n") != 1:
                sys.exit(f"{name}: {code} {errors}")
            print(f"{name:16} {code}  {errors.strip()[len('tensorcast: ') + len(str(folder)) + 1:]}")
    torch.jit.script(module).save(folder / "script.pt")
    code, _, errors = call(tool, "inspect", folder / "script.pt")
    if code != 5 or "TorchScript" not in errors:
        sys.exit(f"script.pt: {code} {errors}")
    if (folder / "ran").exists():
        sys.exit("a pickle was run")


def check_unread(tool, folder):
    """Tensors that are not read are listed with the others, and refused unless they are excluded."""
    def pairs(dtype=torch.complex64):
        return torch.randn(2, 3, dtype=dtype)

    read = {"w": torch.randn(3, 2), "turned": pairs().T}  # complex64 is passed through
    unread = {
        "conjugate": pairs().conj(), "negative": pairs().conj().imag, "double": pairs(torch.complex128),
        "sparse": torch.eye(3).to_sparse(), "rows": torch.eye(3).to_sparse_csr(),
        "columns": torch.eye(3).to_sparse_csc(),
        "quantised": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
        "channels": torch.quantize_per_channel(torch.ones(2, 3), torch.ones(2), torch.zeros(2), 0,
                                               torch.qint8),
    }
    for legacy in (False, True):
        source, out = folder / f"{legacy}.pt", folder / f"{legacy}.safetensors"
        torch.save({**unread, **read}, source, _use_new_zipfile_serialization=not legacy)
        code, listed, errors = call(tool, "inspect", source, "--json")
        shapes = {one["name"]: one["shape"] for one in json.loads(listed)["tensors"]}
        if code or shapes != {key: list(one.shape) for key, one in {**unread, **read}.items()}:
            sys.exit(f"{source.name}: {code} {errors} {shapes}")
        for name in unread:
            others = [word for other in unread if other != name for word in ("--exclude", other)]
            code, _, errors = call(tool, "convert", source, "-o", out, "--to", "float16", *others)
            if code != 5 or f": {name} (" not in errors or errors.count("\n") != 1 or out.exists():
                sys.exit(f"{source.name}: {name}: {code} {errors}")
            print(f"{name:16} {code}  {errors.strip()[len('tensorcast: ') + len(str(folder)) + 1:]}")
        code, _, errors = call(tool, "convert", source, "-o", out, *KEEP)  # which excludes all
        if code != 0:
            sys.exit(f"{source.name}: {code} {errors}")
        hold(source.name, read, load_file(out))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    torch.manual_seed(1)
    warnings.simplefilter("ignore")  # of what torch will drop one day
    with tempfile.TemporaryDirectory() as name:
        for check in (check_files, check_roots, check_directories, check_refused, check_unread):
            folder = pathlib.Path(name) / check.__name__
            folder.mkdir()
            check(tool, folder)


if __name__ == "__main__":
    main()

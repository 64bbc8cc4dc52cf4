#!/usr/bin/env python3
"""Files in Python's frameworks: `open`, `load_file` and `save_file` beside safetensors.torch, torch and JAX.

    check_load.py --tool TOOL [--speed]      (which says where the build is)

The package is that of tests/python's wheel, which ctest's python.wheel installs. With --speed it also
prints how long safetensors and a script of torch take beside it, of a checkpoint of half a gigabyte.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import pathlib
import statistics
import tempfile
import time

import numpy as np

import installed_wheel


def block_codes(torch, rows, columns, seed):
    """An fp8-block weight, as DeepSeek stores it."""
    generator = torch.Generator().manual_seed(seed)
    codes = torch.randn(rows, columns, generator=generator).to(torch.float8_e4m3fn)
    return codes, torch.rand(-(-rows // 128), -(-columns // 128), generator=generator) * 1e-2


def dequantised(torch, codes, scales, dtype):
    """torch's script."""
    whole = scales.repeat_interleave(128, 0)[:codes.shape[0]].repeat_interleave(128, 1)[:, :codes.shape[1]]
    return (codes.to(dtype) * whole.to(dtype))


def same(torch, got, want):
    return got.dtype == want.dtype and got.shape == want.shape and torch.equal(
        got.contiguous().reshape(-1).view(torch.uint8), want.contiguous().reshape(-1).view(torch.uint8))


def plain(tc, torch, folder):
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    generator = torch.Generator().manual_seed(1)
    kinds = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
    tensors = {str(kind)[6:]: torch.randn(130, 70, generator=generator).to(kind) for kind in kinds}
    tensors |= {str(kind)[6:]: torch.randint(0, 2, (5, 3), generator=generator).to(kind) for kind in (
        torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool)}
    tensors |= {"scalar": torch.tensor(2.5), "none": torch.zeros(0, 3)}
    path = folder / "plain.safetensors"
    save_file(tensors, path)
    got = tc.load_file(path, framework="pt")
    assert got.keys() == tensors.keys() and all(same(torch, got[name], load_file(path)[name]) for name in tensors)
    got = tc.load_file(path, torch.float16, framework="pt")
    for name, tensor in tensors.items():
        if tensor.is_floating_point():  # exact, but for what float64 and float32 round once
            assert same(torch, got[name], tensor.to(torch.float16)) or name == "float64", name
        else:
            assert same(torch, got[name], tensor), name
    with tc.open(path, framework="pt") as f, safe_open(path, "pt") as theirs:
        assert set(f.keys()) == set(theirs.keys())
        for name in f:
            assert same(torch, f.get_tensor(name), theirs.get_tensor(name)), name
        for name in ("float32", "float8_e4m3fn", "bfloat16", "int64"):
            ours, part = f.get_slice(name), theirs.get_slice(name)
            assert ours.get_shape() == part.get_shape() and ours.get_dtype() == part.get_dtype()
            for index in ((slice(1, 3),), (slice(None), slice(1, 3)), (..., slice(0, 2)), (2, slice(0, 1)), (1,)):
                assert same(torch, ours[index], part[index]), (name, index)
        # Into a model's own parameters, cast to their type.
        linear = torch.nn.Linear(70, 130, dtype=torch.bfloat16)
        f.get_tensor("float32", out=linear.state_dict()["weight"])
        assert same(torch, linear.weight.detach(), tensors["float32"].to(torch.bfloat16))
        turned = torch.empty(70, 130).T
        assert f.get_tensor("float16", out=turned) is turned and torch.equal(turned, tensors["float16"].float())
        like = f.get("float32", like=torch.empty(0, dtype=torch.float16))
        assert same(torch, like, tensors["float32"].half())
        try:
            f.get_tensor("float32", out=linear.weight)
            raise SystemExit("out requires a gradient, and was written to")
        except tc.ArgumentError as error:
            assert "gradient" in str(error)
        loaded = f.get_tensor("float32")
        loaded.mul_(2)  # it is its own memory
        assert same(torch, f["float32"], tensors["float32"])
    # Two elements to a byte, as they stand in the file.
    four = torch.randint(0, 256, (8, 4), generator=generator, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    save_file({"w": four}, folder / "four.safetensors")
    for mmap in (True, False):
        with tc.open(folder / "four.safetensors", framework="pt", mmap=mmap) as f:
            assert same(torch, f["w"], four) and same(torch, f.get_slice("w")[2:4], four[2:4])
            assert torch.equal(f.get("w", to=torch.float32), tc.cast(four, torch.float32))
    for device, line in (("cuda:77", "device"), ("nonsense", "device 'nonsense'")):
        try:
            tc.load_file(path, framework="pt", device=device)
            raise SystemExit(f"device {device} was taken")
        except tc.ArgumentError as error:
            assert line in str(error) and "\n" not in str(error)
    if torch.cuda.is_available():
        got = tc.load_file(path, framework="pt", device="cuda", select="*float*")
        assert all(each.is_cuda and same(torch, each.cpu(), tensors[name]) for name, each in got.items())
    meta = tc.load_file(path, framework="pt", device="meta", select="float32")["float32"]
    assert meta.is_meta and meta.shape == (130, 70)


def saved(tc, torch, folder):
    from safetensors.torch import load_file

    path = folder / "saved.safetensors"
    linear = torch.nn.Linear(70, 130)
    for tensors in (linear.state_dict(), dict(linear.named_parameters())):
        tc.save_file(tensors, path, overwrite=True)
        read = load_file(path)
        assert all(same(torch, read[name], tensor.detach()) for name, tensor in tensors.items())
    tensors = {"turned": linear.weight.detach().T, "part": linear.weight.detach()[::3, 5:9], "same": linear.weight.detach()}
    tc.save_file(tensors, path, to=torch.bfloat16, overwrite=True)
    read = load_file(path)
    assert all(same(torch, read[name], tensor.to(torch.bfloat16)) for name, tensor in tensors.items())


def scales(tc, torch, folder):
    from safetensors.torch import save_file

    tensors, wanted = {}, {}
    for i, (rows, columns) in enumerate(((256, 384), (200, 160), (1, 7))):
        codes, scale = block_codes(torch, rows, columns, i)
        tensors |= {f"l.{i}.weight": codes, f"l.{i}.weight_scale_inv": scale}
        wanted[f"l.{i}.weight"] = dequantised(torch, codes, scale, torch.float64)  # which holds the products
    tensors["norm"] = wanted["norm"] = torch.ones(8)
    directory = folder / "scaled"
    directory.mkdir()
    save_file(tensors, directory / "model.safetensors")
    (directory / "config.json").write_text('{"torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8", '
                                           '"weight_block_size": [128, 128]}}')
    got = tc.load_file(directory, torch.float32, framework="pt")
    assert got.keys() == wanted.keys() and all(same(torch, got[name], each.float()) for name, each in wanted.items())
    with tc.open(directory, framework="pt") as f:
        assert f["l.0.weight"].dtype == torch.bfloat16 and f["norm"].dtype == torch.float32
        assert all(same(torch, f.raw[name], each) for name, each in tensors.items())
        assert same(torch, f.get_slice("l.0.weight", to=torch.float32)[:, 128:256], wanted["l.0.weight"].float()[:, 128:256])


def jax_arrays(tc, folder):
    import jax
    import numpy as np
    from safetensors.flax import load_file, save_file

    path = folder / "jax.safetensors"
    x = jax.numpy.linspace(-3, 3, 12, dtype="float32").reshape(3, 4)
    save_file({"w": x, "b": x.astype("bfloat16")}, path)
    got = tc.load_file(path, framework="jax")
    assert all(isinstance(each, jax.Array) and each.dtype == want.dtype and np.array_equal(each, want)
               for each, want in ((got[name], each) for name, each in load_file(path).items()))
    got = tc.load_file(path, "float16", framework="jax", device=jax.devices("cpu")[0], select="w")["w"]
    assert got.dtype == np.float16 and np.array_equal(got, x.astype("float16"))
    tc.save_file({"w": x.T, "b": got}, path, overwrite=True)
    assert np.array_equal(load_file(path)["w"], x.T) and load_file(path)["b"].dtype == np.float16
    tc.save_file({"i": np.arange(3)}, path, overwrite=True)
    try:
        tc.load_file(path, framework="jax")
        raise SystemExit("jax has no int64 here, and one came")
    except tc.ArgumentError as error:
        assert "jax_enable_x64" in str(error)


def touch(tensors):
    """Reads a byte of each page: what is mapped is not there before."""
    for tensor in tensors.values():
        numpys = tensor if isinstance(tensor, np.ndarray) else tensor.reshape(-1).view(torch_bits(tensor)).numpy()
        numpys.reshape(-1).view(np.uint8)[::4096].max(initial=0)


def torch_bits(tensor):
    import torch

    return {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]


def forget(path):
    """Takes a file out of the system's cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def speed(tc, torch, folder):
    from safetensors import safe_open
    from safetensors.torch import save_file

    plain_file, directory, many = folder / "large.safetensors", folder / "large", folder / "many.safetensors"
    generator = torch.Generator().manual_seed(2)
    save_file({f"l.{i}.w": torch.randn(2048, 2048, generator=generator).to(torch.bfloat16) for i in range(64)}, plain_file)
    save_file({f"l.{i}.w": torch.randn(16, generator=generator) for i in range(5000)}, many)
    directory.mkdir()
    tensors = {}
    for i in range(64):
        codes, scale = block_codes(torch, 2048, 2048, i)
        tensors |= {f"l.{i}.weight": codes, f"l.{i}.weight_scale_inv": scale}
    save_file(tensors, directory / "model.safetensors")
    (directory / "config.json").write_text('{"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}')

    def theirs(path=plain_file, to=None, framework="pt"):
        with safe_open(path, framework) as f:
            return {name: f.get_tensor(name) if to is None else f.get_tensor(name).to(to) for name in f.keys()}

    def ours(path=plain_file, to=None, framework="pt"):
        return tc.load_file(path, to, framework=framework)

    def columns(f):
        return {name: f.get_slice(name)[:, 512:1024] for name in f.keys()}

    def their_columns():
        with safe_open(plain_file, "pt") as f:
            return columns(f)

    def our_columns():
        with tc.open(plain_file, framework="pt") as f:
            return columns(f)

    def script():
        with safe_open(directory / "model.safetensors", "pt") as f:
            return {name: dequantised(torch, f.get_tensor(name), f.get_tensor(name + "_scale_inv"), torch.float32).to(torch.bfloat16)
                    for name in f.keys() if name.endswith("weight")}

    cases = [(f"bfloat16 to {str(to)[6:]}", lambda to=to: ours(to=to), lambda to=to: theirs(to=to))
             for to in (torch.float32, torch.float16, torch.float8_e4m3fn)]
    cases.append(("fp8-block to bfloat16", lambda: ours(directory, torch.bfloat16), script))
    cases += [("as it is, torch", ours, theirs),
              ("as it is, numpy", lambda: ours(framework="np"), lambda: theirs(framework="np")),
              ("5,000 small tensors, torch", lambda: ours(many), lambda: theirs(many)),
              ("5,000 small tensors, numpy", lambda: ours(many, framework="np"), lambda: theirs(many, framework="np")),
              ("a quarter of the columns, torch", our_columns, their_columns),
              # Last: what the system reads again stands in smaller pieces in its cache.
              ("as it is, torch, cold", ours, theirs),
              ("as it is, numpy, cold", lambda: ours(framework="np"), lambda: theirs(framework="np"))]
    for name, ours_of, others in cases:
        times, processor = ([], []), ([], [])
        for _ in range(7):
            for k, function in enumerate((ours_of, others)):
                if name.endswith("cold"):
                    forget(plain_file)
                began, cpu = time.perf_counter(), time.process_time()
                touch(function())
                times[k].append(time.perf_counter() - began)
                processor[k].append(time.process_time() - cpu)
        mine, other = (statistics.median(kept) for kept in times)
        my_cpu, other_cpu = (statistics.median(kept) for kept in processor)
        print(f"{name}: {mine:.3f} s, theirs {other:.3f} s: {other / mine:.2f} times; of a processor {my_cpu:.3f} and {other_cpu:.3f} s",
              flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    installed_wheel.add_to_path(arguments.tool)
    import tensorcast as tc
    import torch

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for check in (plain, saved, scales):
            check(tc, torch, folder)
        jax_arrays(tc, folder)
        if arguments.speed:
            speed(tc, torch, folder)
    print(f"files are what safetensors and torch {torch.__version__} read")


if __name__ == "__main__":
    main()

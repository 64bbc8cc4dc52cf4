#!/usr/bin/env python3
"""Where there is an NVIDIA GPU: what tensorcast writes is used by the GPU's own kernels, and what
torch casts on the GPU is held against tensorcast.

    check_gpu.py [--tool PATH]

Needs torch with CUDA and tensorcast, and for the models transformers and compressed-tensors. It
prints what it finds and ends with 1 where a file was used wrongly. Without a GPU nothing is checked.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import importlib
import pathlib
import sys
import tempfile

import numpy as np
import torch

import installed_wheel

TYPES = {name: getattr(torch, attribute) for name, attribute in {
    "float64": "float64", "float32": "float32", "float16": "float16", "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2", "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2fnuz": "float8_e5m2fnuz", "float8e8m0": "float8_e8m0fnu", "int8": "int8", "uint8": "uint8",
    "int16": "int16", "int32": "int32", "int64": "int64", "bool": "bool"}.items() if hasattr(torch, attribute)}
WRONG = []
tc = None  # the package, once it is found


def check(what, is_right, more=""):
    print(f"{'right' if is_right else 'WRONG'}  {what}{'  ' + more if more else ''}")
    if not is_right:
        WRONG.append(what)


def bits_of(x):
    return x.contiguous().view(torch.uint8).numpy()


def values_of(dtype):
    """Every code of up to 16 bits; of wider types random codes, and random values of several sizes."""
    rng = np.random.default_rng(7)
    size = torch.empty((), dtype=dtype).element_size()
    if dtype == torch.bool:
        return torch.tensor([False, True] * 64)
    if size == 1:
        return torch.arange(256, dtype=torch.uint8).view(dtype)
    if size == 2:
        return torch.arange(65536, dtype=torch.int32).to(torch.uint16).view(dtype)
    codes = torch.from_numpy(rng.integers(0, 256, (1 << 20) * size, dtype=np.uint8)).view(dtype)
    if not dtype.is_floating_point:
        return torch.cat([codes, codes >> (8 * size - 9), codes >> (8 * size - 18)])
    spread = rng.normal(size=1 << 20) * np.exp2(rng.integers(-30, 30, 1 << 20))
    return torch.cat([codes, torch.from_numpy(spread).to(dtype)])


def in_range(values, target):
    """Which values the target's range has, so that no overflow decides."""
    most = 1 if target == torch.bool else (torch.finfo if target.is_floating_point else torch.iinfo)(target).max
    least = 0 if target in (torch.uint8, torch.bool) else -float(most)
    exact = values.to(torch.float64)
    if target == getattr(torch, "float8_e8m0fnu", None):
        return ((exact >= 2.0**-127) & (exact <= 2.0**127)).numpy()
    return ((exact <= float(most)) & (exact >= least)).numpy()


def compare_casts():
    """How many of torch's casts differ from tensorcast's, on the GPU and on the CPU."""
    print("\ncasts of which torch makes other codes than tensorcast, NaN for NaN; of values in the target's range,")
    print("and, last, of all values, where the GPU's differ from the CPU's:")
    print(f"{'from':14} {'to':14} {'in range':>9} {'on the GPU':>12} {'on the CPU':>12} {'GPU and CPU':>12}")
    for name, source in TYPES.items():
        values = values_of(source)
        for other, target in TYPES.items():
            if other == name:
                continue
            try:
                on_gpu = values.cuda().to(target).cpu()
                on_cpu = values.to(target)
                ours = tc.cast(values, target, round_mode="nearest")  # as torch makes float8e8m0
            except (RuntimeError, NotImplementedError, tc.Error) as error:
                print(f"{name:14} {other:14} {str(error).splitlines()[0][:60]}")
                continue
            size = on_gpu.element_size()
            rows = [bits_of(x).reshape(-1, size) for x in (on_gpu, on_cpu, ours)]
            differ = [(a != b).any(axis=1) for a, b in ((rows[0], rows[2]), (rows[1], rows[2]), (rows[0], rows[1]))]
            if target.is_floating_point:  # any NaN is as good as another
                nans = [torch.isnan(x.float()).numpy() for x in (on_gpu, on_cpu, ours)]
                for row, (a, b) in zip(differ, ((0, 2), (1, 2), (0, 1)), strict=True):
                    row &= ~(nans[a] & nans[b])
            within = in_range(values, target)
            counts = [int((differ[0] & within).sum()), int((differ[1] & within).sum()), int(differ[2].sum())]
            if any(counts):
                print(f"{name:14} {other:14} {int(within.sum()):9,} {counts[0]:12,} {counts[1]:12,} {counts[2]:12,}")


def check_loading(folder):
    path = folder / "plain.safetensors"
    rng = np.random.default_rng(1)
    weights = {f"w{i}": torch.from_numpy(rng.normal(size=(300, 70 + i)).astype(np.float32)) for i in range(4)}
    tc.save_file({name: w.numpy() for name, w in weights.items()}, path)
    for to in (None, "bfloat16", "float8e4m3fn"):
        loaded = tc.load_file(path, to, framework="pt", device="cuda")
        on_cpu = tc.load_file(path, to, framework="pt")
        check(f"load_file(device='cuda'), to {to}",
              all(w.is_cuda and np.array_equal(bits_of(w.cpu()), bits_of(on_cpu[name])) for name, w in loaded.items()))
    with tc.open(path, framework="pt", device="cuda:0") as f:
        check("open(device='cuda:0')", all(torch.equal(f[name].cpu(), w) for name, w in weights.items()))
        check("get_slice", torch.equal(f.get_slice("w1")[3:7].cpu(), weights["w1"][3:7]))
    on_gpu = weights["w0"].cuda()
    for what, call in (("tc.cast", lambda: tc.cast(on_gpu, torch.bfloat16)),
                       ("tensorcast.torch.cast", lambda: __import__("tensorcast.torch").torch.cast(on_gpu, torch.bfloat16))):
        try:
            made = call()
            check(f"{what} of a tensor on the GPU", made.is_cuda, f"gives {made.dtype} on {made.device}")
        except Exception as error:  # pylint: disable=broad-exception-caught
            line = str(error).splitlines()[0]
            check(f"{what} of a tensor on the GPU is refused in a line", "CPU" in line or "cpu" in line, line)
    try:
        tc.load_file(path, framework="pt", device="cuda:99")
        check("a device that is not there", False)
    except tc.Error as error:
        check("a device that is not there is refused in a line", "cuda:99" in str(error), str(error))


def converted(folder, weights, to, **options):
    source, made = folder / f"{to}.in.safetensors", folder / f"{to}.safetensors"
    tc.save_file({name: w.numpy() for name, w in weights.items()}, source, overwrite=True)
    tc.convert(source, made, to=to, overwrite=True, **options)
    return made


def check_kernels(folder):
    """torch's matrix products of scaled codes, on codes and scales as they stand in the file."""
    torch.manual_seed(3)
    weight = torch.randn(512, 1024) * torch.logspace(-2, 1, 512)[:, None]
    x = torch.randn(64, 1024)
    name = "model.layers.0.mlp.up_proj.weight"

    made = tc.open(converted(folder, {name: weight}, "fp8-row"), framework="pt")
    codes, scale = made.raw[name].cuda(), made.raw[f"{name}_scale"].float().cuda()
    of_x = x.abs().amax(1, keepdim=True) / 448
    x_codes = tc.cast(x / of_x, torch.float8_e4m3fn).cuda()
    product = torch._scaled_mm(x_codes, codes.t(), scale_a=of_x.cuda(), scale_b=scale.reshape(1, -1),
                               out_dtype=torch.bfloat16)
    exact = (x_codes.cpu().double() * of_x.double()) @ made[name].double().t()
    error = ((product.cpu().double() - exact).norm() / exact.norm()).item()
    check("fp8-row in torch._scaled_mm", error < 4e-3, f"relative error {error:.1e}, of a product in bfloat16")

    made = tc.open(converted(folder, {name: weight}, "fp8-tensor"), framework="pt")
    codes, scale = made.raw[name].cuda(), made.raw[f"{name}_scale"].float().cuda()
    one = of_x.amax()
    x_codes = tc.cast(x / one, torch.float8_e4m3fn).cuda()
    product = torch._scaled_mm(x_codes, codes.t(), scale_a=one.cuda().reshape(()), scale_b=scale.reshape(()),
                               out_dtype=torch.bfloat16)
    exact = (x_codes.cpu().double() * one.double()) @ made[name].double().t()
    error = ((product.cpu().double() - exact).norm() / exact.norm()).item()
    check("fp8-tensor in torch._scaled_mm", error < 4e-3, f"relative error {error:.1e}")

    made = tc.open(converted(folder, {name: weight}, "int8-row"), framework="pt")
    codes, scale = made.raw[name].cuda(), made.raw[f"{name}_scale"].double()
    of_x = x.abs().amax(1, keepdim=True) / 127
    x_codes = tc.cast(x / of_x, torch.int8, integer_overflow="saturate")
    product = torch._int_mm(x_codes.cuda(), codes.t()).cpu().double() * of_x.double() * scale.reshape(1, -1)
    exact = (x_codes.double() * of_x.double()) @ made[name].double().t()
    error = ((product - exact).norm() / exact.norm()).item()
    check("int8-row in torch._int_mm", error < 1e-6, f"relative error {error:.1e}")


def check_models(folder):
    """A tiny Qwen3 in fp8-block, as transformers runs it with the GPU's kernels."""
    try:
        import transformers  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("transformers is not there")
        return
    config = transformers.Qwen3Config(vocab_size=1024, hidden_size=256, intermediate_size=512, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=2, head_dim=64,
                                      tie_word_embeddings=False)
    torch.manual_seed(5)
    model = transformers.Qwen3ForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder / "qwen")
    tokens = torch.randint(0, 1024, (1, 32))
    for to, layout in (("fp8-block", "deepseek"), ("fp8-row", "compressed-tensors"), ("int8-row", "compressed-tensors")):
        made, back = folder / f"qwen-{to}", folder / f"qwen-{to}-back"
        try:
            tc.convert(folder / "qwen", made, to=to, layout=layout, overwrite=True)
            tc.convert(made, back, to="bfloat16", overwrite=True)
            quantised = transformers.AutoModelForCausalLM.from_pretrained(made, device_map="cuda", dtype=torch.bfloat16)
            plain = transformers.AutoModelForCausalLM.from_pretrained(back, dtype=torch.bfloat16).cuda()
            with torch.no_grad():
                of_codes, of_values = (one(tokens.cuda()).logits.float().flatten() for one in (quantised, plain))
            kinds = {type(module).__name__ for module in quantised.modules()} & {"FP8Linear", "CompressedLinear", "Linear"}
            cosine = torch.nn.functional.cosine_similarity(of_codes, of_values, 0).item()
            # Activations are quantised too, and a random model amplifies that.
            check(f"{to} in transformers {transformers.__version__}", cosine > 0.98,
                  f"cosine {cosine:.5f} with the plain copy, layers {', '.join(sorted(kinds))}")
        except Exception as error:  # pylint: disable=broad-exception-caught
            print(f"not tried: {to}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", help="whose build has the package; else it is installed")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch sees no GPU: nothing is checked")
        return
    if arguments.tool:
        installed_wheel.add_to_path(arguments.tool)
    globals()["tc"] = importlib.import_module("tensorcast")
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, tensorcast {tc.__version__}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        check_loading(folder)
        check_kernels(folder)
        check_models(folder)
        compare_casts()
    sys.exit(1 if WRONG else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Scales written, beside the libraries that read them: a tiny Llama in every format and layout that
transformers loads.

    check_scales_written.py --tool TENSORCAST

Of each weight, all by float64 and fractions from the plain checkpoint:
  - the scales are those of docs/scales_writing.md, and the codes the exact quotients rounded once; the
    library's own compressor makes the same codes from these scales, but for those that its float32
    division rounds to a tie: each is shown to be one;
  - the library's decompression gives what `convert --to` gives, which is the exact product rounded
    once, but for its own rounding of NVFP4's scales: counted, at most two units.
Of each model, the logits of transformers:
  - with its weights dequantised at loading, bit for bit those of the plain model that `convert` makes
    (of NVFP4: of that model with the library's own weights);
  - as the configuration has it, activations quantised, those of the plain model whose activations are
    quantised here.
Loaded in bfloat16 without being asked to dequantise, transformers rounds float32 scales to bfloat16
too: the weights are then those of such scales, bit for bit; how many are others is counted.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import warnings

import torch
import transformers
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationConfig
from compressed_tensors.quantization.utils import generate_mx_scales
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import made_checkpoints as made  # noqa: E402
from exact_weights import E2M1, E2M3, exact_weights, rounded, run, values_of_codes  # noqa: E402

TOKENS = torch.arange(64)[None]
E4M3 = torch.arange(127, dtype=torch.uint8).view(torch.float8_e4m3fn).to(torch.float64)
INT8 = torch.arange(128, dtype=torch.float64)
# Format, layout: magnitudes of the codes, rows and columns of a scale's cell (0: all of them).
WRITTEN = {
    ("fp8-tensor", "compressed-tensors"): (E4M3, 0, 0),
    ("fp8-row", "compressed-tensors"): (E4M3, 1, 0),
    ("fp8-block", "compressed-tensors"): (E4M3, 128, 128),
    ("fp8-block", "deepseek"): (E4M3, 128, 128),
    ("int8-row", "compressed-tensors"): (INT8, 1, 0),
    ("mxfp8", "compressed-tensors"): (E4M3, 1, 32),
    ("mxfp6", "compressed-tensors"): (torch.tensor(E2M3, dtype=torch.float64), 1, 32),
    ("mxfp4", "compressed-tensors"): (torch.tensor(E2M1, dtype=torch.float64), 1, 32),
    ("nvfp4", "compressed-tensors"): (torch.tensor(E2M1, dtype=torch.float64), 1, 16),
}


def nearest(values, magnitudes):
    """The code whose value is nearest, ties to the even one, beyond the last the last; signed."""
    middles = (magnitudes[1:] + magnitudes[:-1]) / 2  # exact
    below = torch.searchsorted(middles, values.abs(), right=False)
    above = torch.searchsorted(middles, values.abs(), right=True)
    code = torch.where(below % 2 == 0, below, above)
    return torch.copysign(magnitudes[code], values)


def spread(scale, shape):
    """Each weight's scale."""
    rows, columns = shape
    scale = scale.reshape(-1, 1) if scale.ndim < 2 else scale
    return scale.repeat_interleave(rows // scale.shape[0], 0).repeat_interleave(
        columns // scale.shape[1], 1)


def expected(weight, magnitudes, cell, format_name, most):
    """The scales and codes of docs/scales_writing.md: float64 tensors, and the global scale or None; `most`
    is the largest value of all that are one matrix with the weight."""
    rows, columns = weight.shape
    down, across = cell[0] or rows, cell[1] or columns
    amax = weight.abs().reshape(rows // down, down, columns // across, across).amax((1, 3))
    limit = magnitudes[-1].item()
    if format_name == "nvfp4":
        # float32 of 448 · 6 / amax; the scale is the value of E4M3 nearest to amax · global / 6,
        # found without the division.
        whole = (448 * 6 / most).to(torch.float32).to(torch.float64)
        scale = nearest(amax * whole, limit * E4M3) / limit
        scale[(scale == 0) & (amax != 0)] = 2.0 ** -9
        # A bfloat16 weight times a float32: exact; the quotient of float64 is a tie only if the
        # exact one is, as both sides of it have at most 32 bits.
        return scale, nearest(weight * whole / spread(scale, weight.shape), magnitudes), whole
    if format_name.startswith("mx"):
        fraction, exponent = torch.frexp(amax)  # from 0.5 on
        bits = 3 if format_name == "mxfp6" else 1
        rounded_up = (fraction >= 1 - 2.0 ** (-bits - 2)).to(exponent.dtype)
        exponent = exponent + rounded_up - torch.frexp(magnitudes[-1]).exponent
        scale = torch.exp2(exponent.to(torch.float64))
        # The library's own rule.
        theirs = generate_mx_scales(amax.to(torch.float32), int(format_name[-1]))
        if not torch.equal(theirs.to(exponent.dtype), exponent + 127):
            sys.exit(f"{format_name}: compressed-tensors has other scales")
    else:
        scale = (amax / limit).to(torch.float32).to(torch.float64)
    return scale, nearest(weight / spread(scale, weight.shape), magnitudes), None


FUSED = [{"q_proj", "k_proj", "v_proj"}, {"gate_proj", "up_proj"}]


def largest_of_matrix(source, layer):
    """Of all that vLLM loads as one matrix with a layer; it keeps one global scale of them."""
    parent, module = layer.removesuffix(".").rsplit(".", 1)
    parts = next((parts for parts in FUSED if module in parts), {module})
    return max(source[f"{parent}.{part}.weight"].to(torch.float64).abs().max() for part in parts)


def written(tensors, layer):
    """The same as they stand in a checkpoint, as float64, and the name of the codes."""
    codes = layer + "weight_packed"
    scale = tensors.get(layer + "weight_scale", tensors.get(layer + "weight_scale_inv"))
    if codes in tensors:
        packed = tensors[codes]
        bits = 4 if packed.shape[1] * 2 // scale.shape[1] in (16, 32) else 6
        values = values_of_codes(packed, bits)
    else:
        codes = layer + "weight"
        values = tensors[codes].to(torch.float64)
    if scale.dtype == torch.uint8:
        scale = torch.exp2(scale.to(torch.float64) - 127)
    whole = tensors.get(layer + "weight_global_scale")
    return scale.to(torch.float64), values, whole


def same_bits(one, other):
    return one.dtype == other.dtype and torch.equal(one.view(torch.uint8), other.view(torch.uint8))


class Weights:
    """Counts over a checkpoint's weights."""

    def __init__(self):
        self.compared = self.wrong = self.ties = self.rounded_otherwise = 0
        self.decompressed = {}  # by the library

    def check(self, source, tensors, plain, case, scheme):
        """source: the plain checkpoint; tensors: what was written; plain: what `convert --to
        bfloat16` makes of that; scheme: compressed-tensors' own, of the configuration, or None."""
        magnitudes, *cell = WRITTEN[case]
        for name, weight in source.items():
            if not made.is_linear(name, weight):
                self.wrong += not same_bits(tensors[name], weight)
                continue
            layer = name.removesuffix("weight")
            exact = weight.to(torch.float64)
            scale, codes, whole = written(tensors, layer)
            scale_wanted, codes_wanted, whole_wanted = expected(exact, magnitudes, cell, case[0],
                                                                largest_of_matrix(source, layer))
            self.compared += weight.numel()
            self.wrong += int((scale.flatten() != scale_wanted.flatten()).sum())
            self.wrong += int((codes != codes_wanted).sum() +
                              (torch.signbit(codes) != torch.signbit(codes_wanted)).sum()) \
                if magnitudes is not INT8 else int((codes != codes_wanted).sum())
            self.wrong += whole is not None and whole.item() != whole_wanted.item()
            product, divisor = exact_weights(tensors, layer)
            self.wrong += int((plain[name] != rounded(product, divisor, torch.bfloat16)).sum())
            if scheme is None:
                continue
            compressor = BaseCompressor.get_value_from_registry(scheme.format)
            local = {key: tensors[layer + key] for key in
                     ("weight", "weight_packed", "weight_scale", "weight_global_scale")
                     if layer + key in tensors}
            self.decompress(name, local, plain[name], compressor, scheme)
            state = {"weight": weight.float(), "weight_scale": scale.float()}
            if whole is not None:
                state["weight_global_scale"] = whole
            theirs = compressor.compress(state, scheme)
            again = {layer + key: value for key, value in theirs.items()}
            scale_again, codes_again, _ = written(again, layer)
            self.wrong += int((scale_again != scale).sum())
            # Where the codes differ, the library's float32 quotient was rounded to the middle of two
            # codes, or beyond it, that the exact one is not on.
            divisors = spread(scale.float(), weight.shape)
            if whole is not None:
                divisors = divisors / whole
            quotient = (weight.float() / divisors).to(torch.float64)
            twice = nearest(quotient, magnitudes)
            differ = codes_again != codes
            self.ties += int(differ.sum())
            self.wrong += int((codes_again != twice)[differ].sum())

    def decompress(self, name, local, ours, compressor, scheme):
        library = compressor.decompress(local, scheme)["weight"].to(torch.bfloat16)
        self.decompressed[name] = library
        differ = library != ours
        self.rounded_otherwise += int(differ.sum())
        unit = torch.nextafter(ours, torch.full_like(ours, float("inf"))) - ours
        far = (library.double() - ours.double()).abs() > 2 * unit.double().abs()
        self.wrong += int((differ & far).sum())


def without_activations(folder, copy):
    shutil.copytree(folder, copy)
    config = json.loads((copy / "config.json").read_text())
    for group in config["quantization_config"].get("config_groups", {}).values():
        group["input_activations"] = None
    (copy / "config.json").write_text(json.dumps(config))
    return copy


def load(folder, **arguments):
    """A model all of whose tensors were found, and no others."""
    model, report = AutoModelForCausalLM.from_pretrained(
        folder, output_loading_info=True, **arguments)
    if any(report.values()):
        sys.exit(f"{folder.name}: transformers does not take all of it: {report}")
    return model


def quantise_activations(model, arguments):
    """Has every layer with a quantised weight see its input as `arguments`, a QuantizationArgs,
    asks: the scale of a token or a group of it is the largest magnitude by the half of the codes'
    range."""
    is_float = arguments.type == "float"
    half = 448.0 if is_float else 127.5

    def hook(_, inputs):
        value = inputs[0]
        groups = value.unflatten(-1, (-1, arguments.group_size or value.shape[-1]))
        scale = groups.abs().amax(-1, keepdim=True) / half
        codes = groups / scale
        if is_float:
            codes = codes.clamp(-448, 448).to(torch.float8_e4m3fn).to(value.dtype)
        else:
            codes = codes.round().clamp(-128, 127)
        return ((codes * scale).flatten(-2),)

    for name, module in model.named_modules():
        if name.endswith("_proj"):
            module.register_forward_pre_hook(hook)


def scales_in_bfloat16(folder, layer):
    tensors = made.tensors_of(folder)
    return {layer + "weight": tensors[layer + "weight"],
            layer + "weight_scale": tensors[layer + "weight_scale"].to(torch.bfloat16)}


def logits(model):
    with torch.no_grad():
        return model(TOKENS).logits.to(torch.float64)


def check_models(folder, tool, weights, scheme):
    """Returns whether the logits are equal with weights dequantised; how many weights are others by
    scales in bfloat16, the largest difference with activations quantised, and the largest that their
    quantisation makes, or None of both."""
    plain = folder / "plain"
    run(tool, "convert", folder / "out", "-o", plain, "--to", "bfloat16", "-q", "--no-report")
    reference = load(plain, dtype=torch.bfloat16)
    if weights.rounded_otherwise:
        with torch.no_grad():
            for name, value in weights.decompressed.items():
                reference.get_parameter(name).copy_(value)
    config = transformers.FineGrainedFP8Config if scheme is None else \
        transformers.CompressedTensorsConfig
    dequantised = load(folder / "out", dtype=torch.bfloat16,
                       quantization_config=config(dequantize=True))
    is_equal = torch.equal(logits(dequantised), logits(reference))
    if scheme is None or scheme.input_activations is None:
        # Nothing but weights is quantised: as the configuration has it, too.
        as_is = load(folder / "out")
        return is_equal and torch.equal(logits(as_is), logits(reference)), (0, None, None)
    single = folder / "single"
    run(tool, "convert", folder / "out", "-o", single, "--to", "float32", "-q", "--no-report")
    reference = load(single, dtype=torch.float32)
    exact = logits(reference)
    alone = load(without_activations(folder / "out", folder / "alone"), dtype=torch.float32)
    is_equal = is_equal and torch.equal(logits(alone), exact)
    rounded_scales = load(folder / "alone", dtype=torch.bfloat16)
    logits(rounded_scales)  # it decompresses when it is first used
    others = 0
    for name, value in made.tensors_of(plain).items():
        if made.is_linear(name, value):
            tensors = scales_in_bfloat16(folder / "out", name.removesuffix("weight"))
            weight = rounded_scales.get_parameter(name)
            is_equal = is_equal and torch.equal(
                weight, rounded(*exact_weights(tensors, name.removesuffix("weight")), torch.bfloat16))
            others += int((weight != value).sum())
    quantise_activations(reference, scheme.input_activations)
    predicted = logits(reference)
    found = logits(load(folder / "out", dtype=torch.float32))
    return is_equal, (others, (found - predicted).abs().max().item(),
                      (predicted - exact).abs().max().item())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    tool = parser.parse_args().tool.resolve()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    failed = False
    print(f"{'format':11} {'layout':19} {'weights':>8} {'wrong':>6} {'their codes at ties':>20} "
          f"{'their values':>13} {'logits':>7} {'by bfloat16 scales':>18} "
          f"{'activations: off by, of':>24}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = made.make_plain(folder / "source")
        for case in WRITTEN:
            work = folder / "-".join(case)
            work.mkdir()
            run(tool, "convert", source, "-o", work / "out", "--to", case[0], "--layout", case[1],
                "-q", "--no-report")
            run(tool, "convert", work / "out", "-o", work / "exact", "--to", "bfloat16", "-q",
                "--no-report")
            config = json.loads((work / "out" / "config.json").read_text())["quantization_config"]
            scheme = None
            if case[1] == "compressed-tensors":
                scheme = QuantizationConfig.model_validate(config).config_groups["group_0"]
            weights = Weights()
            weights.check(made.tensors_of(source), made.tensors_of(work / "out"),
                          made.tensors_of(work / "exact"), case, scheme)
            is_equal, (others, off, of) = check_models(work, tool, weights, scheme)
            # What is left is the order of a sum's terms.
            is_predicted = off is None or off <= 1e-3 * of
            failed = failed or weights.wrong > 0 or weights.compared == 0 or not is_equal or \
                not is_predicted
            print(f"{case[0]:11} {case[1]:19} {weights.compared:8} {weights.wrong:6} "
                  f"{'-' if scheme is None else weights.ties:>20} "
                  f"{'-' if scheme is None else weights.rounded_otherwise:>13} "
                  f"{'equal' if is_equal else 'OTHER':>7} "
                  f"{others:18} {'-' if off is None else f'{off:.1e}, {of:.1e}':>24}",
                  flush=True)
            shutil.rmtree(work)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

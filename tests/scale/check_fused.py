#!/usr/bin/env python3
"""Weights that runtimes load as one matrix get one global scale from nvfp4, wherever they stand:
written by the tool, held against exact rationals, and read as vLLM reads them.

    check_fused.py --tool build/release/programs/tensorcast [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import check_written as written
import layout_files as files

LAYER = "model.layers.0."
# Matrices and their parts, and how large each part's values are beside the others'.
MATRICES = [
    [("self_attn.q_proj", 1), ("self_attn.k_proj", 9), ("self_attn.v_proj", 0.2)],
    [("mlp.shared_expert.gate_proj", 0.3), ("mlp.shared_expert.up_proj", 1)],
    [("mlp.experts.0.w1", 1), ("mlp.experts.0.w3", 4)],
    [("mlp.experts.1.w1", 2), ("mlp.experts.1.w3", 0.5)],
    [("attention.self.query", 1), ("attention.self.key", 0.1), ("attention.self.value", 3)],
    [("attn.wq", 1), ("attn.wk", 2), ("attn.wv", 5)],
    [("latent.q_a_proj", 1), ("latent.kv_a_proj_with_mqa", 3)],
    [("short.wq_a", 6), ("short.wkv_a", 1)],
    [("mlp.experts.w1", 1), ("mlp.experts.w3", 7)],  # stacked
    [("self_attn.o_proj", 5)], [("mlp.experts.0.w2", 8)], [("lone.up_proj", 3)],
]
ENDINGS = {"compressed-tensors": "_global_scale", "modelopt": "_scale_2"}
FIRST = LAYER + "self_attn.{}_proj.weight"


class Weights:
    """The checkpoint: tensors, their values, what each shares its scale with."""

    def __init__(self):
        rng = random.Random("fused")
        self.tensors, self.values, self.group = {}, {}, {}
        for matrix in MATRICES:
            names = [LAYER + module + ".weight" for module, _ in matrix]
            for name, (_, size) in zip(names, matrix):
                shape = (2, 24, 32) if ".experts.w" in name else (36, 32)
                word = rng.choice(("BF16", "F32", "F16"))
                data, held = written.stored(
                    [rng.gauss(0, 0.02 * size) for _ in range(math.prod(shape))], word)
                self.tensors[name] = files.Tensor(word, shape, data)
                self.values[name], self.group[name] = held, names

    def wanted(self, layout, together=None):
        """What becomes of each: name -> tensor, of groups that `together(name)` cuts out of what
        is fused."""
        made = {}
        for name, values in self.values.items():
            group = [n for n in self.group[name] if together is None or together(n) == together(name)]
            most = max(written.largest(self.values[n]) for n in group)
            parts, _ = written.quantise(values, self.tensors[name].shape, "nvfp4", layout, "amax", most)
            made.update({name + end: part for end, part in parts.items()})
        return made


def convert(tool, source, out, *flags, code=0):
    done = subprocess.run([tool, "convert", source, "-o", out, "--to", "nvfp4", "--no-report", *flags],
                          capture_output=True, text=True, check=False)
    if done.returncode != code:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return done.stderr


def all_of(path):
    """The tensors of a file, or of all files of a directory."""
    found = {}
    for one in sorted(path.glob("*.safetensors")) if path.is_dir() else [path]:
        found.update(files.read_safetensors(one)[0])
    return found


def expect(found, wanted):
    if set(found) != set(wanted):
        raise AssertionError(f"tensors {sorted(set(found) ^ set(wanted))} are on one side only")
    for name, tensor in wanted.items():
        got = found[name]
        if (got.dtype, tuple(got.shape), got.data) != (tensor.dtype, tuple(tensor.shape), tensor.data):
            raise AssertionError(f"{name} is {got.dtype} {got.shape} {got.data[:8].hex()}, "
                                 f"not {tensor.dtype} {tensor.shape} {tensor.data[:8].hex()}")


def expect_in(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{part!r} is not said: {text}")


def shards(folder, tensors, count=3, index=True):
    """A checkpoint's directory whose files have parts of every matrix."""
    folder.mkdir()
    names = [f"model-{i + 1:05}-of-{count:05}.safetensors" for i in range(count)]
    of = {name: names[i % count] for i, name in enumerate(tensors)}
    for file in names:
        files.write_safetensors(folder / file, {n: t for n, t in tensors.items() if of[n] == file})
    if index:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": of}))
    return names, of


def check_one_file(tool, folder, weights, layout):
    source = folder / "in.safetensors"
    files.write_safetensors(source, weights.tensors)
    convert(tool, source, folder / "out.safetensors", "--layout", layout)
    expect(all_of(folder / "out.safetensors"), weights.wanted(layout))
    convert(tool, source, folder / "threads.safetensors", "--layout", layout, "--threads", "7")
    expect(all_of(folder / "threads.safetensors"), weights.wanted(layout))


def check_directory(tool, folder, weights, layout):
    shards(folder / "in", weights.tensors)
    convert(tool, folder / "in", folder / "out", "--layout", layout)
    expect(all_of(folder / "out"), weights.wanted(layout))


def check_shard_alone(tool, folder, weights, layout):
    """Beside its index: what it becomes in the directory. Without one, or without the other files:
    of what is there."""
    names, of = shards(folder / "in", weights.tensors)
    whole = weights.wanted(layout)
    for file in names:
        convert(tool, folder / "in" / file, folder / file, "--layout", layout)
        mine = {n: t for n, t in whole.items()
                if of[next(w for w in of if n.startswith(w))] == file}
        expect(all_of(folder / file), mine)
    (folder / "in" / names[2]).rename(folder / "away")
    said = convert(tool, folder / "in" / names[0], folder / "two.safetensors", "--layout", layout)
    expect_in(said, names[2], "load as one matrix")
    there = weights.wanted(layout, lambda n: of[n] == names[2])
    expect(all_of(folder / "two.safetensors"),
           {n: there[n] for n in all_of(folder / "two.safetensors")})
    (folder / "in/model.safetensors.index.json").unlink()
    convert(tool, folder / "in" / names[0], folder / "one.safetensors", "--layout", layout)
    alone = weights.wanted(layout, lambda n: of[n])
    expect(all_of(folder / "one.safetensors"), {n: alone[n] for n in all_of(folder / "one.safetensors")})


def check_output_is_no_neighbour(tool, folder, weights, layout):
    """A file that is read for its largest values is an input."""
    names, _ = shards(folder / "in", weights.tensors)
    said = convert(tool, folder / "in" / names[0], folder / "in" / names[1], "--layout", layout, "--force",
                   code=2)
    expect_in(said, names[1])


def check_bad_index(tool, folder, weights, layout):
    """An index that leads elsewhere opens nothing there; a neighbour that cannot be read is refused."""
    names, of = shards(folder / "in", weights.tensors)
    files.write_safetensors(folder / "outside.safetensors", weights.tensors)
    index = folder / "in/model.safetensors.index.json"
    for bad in ("../outside.safetensors", "..", "x\0.safetensors", "outside.npz"):
        elsewhere = {name: bad if file == names[1] else file for name, file in of.items()}
        index.write_text(json.dumps({"weight_map": elsewhere}))
        said = convert(tool, folder / "in" / names[0], folder / "out.safetensors", "--layout", layout,
                       code=3)
        expect_in(said, "a shard is a file in the index's own directory")
    index.write_text(json.dumps({"weight_map": of}))
    neighbour = folder / "in" / names[1]
    whole = neighbour.read_bytes()
    neighbour.write_bytes(whole[:-1])
    expect_in(convert(tool, folder / "in" / names[0], folder / "out.safetensors", "--layout", layout,
                      code=3), names[1])
    neighbour.unlink()
    neighbour.symlink_to(folder / "outside.safetensors")
    expect_in(convert(tool, folder / "in" / names[0], folder / "out.safetensors", "--layout", layout,
                      code=3), names[1], "outside the directory")
    if (folder / "out.safetensors").exists():
        raise AssertionError("something was written")


def check_rules(tool, folder, weights, layout):
    """What a rule gives another type, or what is excluded, is in no group, and named."""
    source, out = folder / "in.safetensors", folder / "out.safetensors"
    files.write_safetensors(source, weights.tensors)
    for flags in (("--rule", "*.k_proj.weight=float64"), ("--exclude", "*.k_proj.weight")):
        said = convert(tool, source, out, "--layout", layout, "--force", *flags)
        expect_in(said, FIRST.format("k"), FIRST.format("q"), "one matrix")
        found = all_of(out)
        wanted = weights.wanted(layout, lambda n: "k_proj" in n)
        expect({n: t for n, t in found.items() if "k_proj" not in n},
               {n: t for n, t in wanted.items() if "k_proj" not in n})
        if FIRST.format("k") not in found:
            raise AssertionError("k_proj did not stay")
    said = convert(tool, source, out, "--layout", layout, "--force")
    if "one matrix" in said:
        raise AssertionError(f"a group that is whole is spoken of: {said}")


def check_loss(tool, folder, weights, layout):
    """`loss` measures what `convert` writes."""
    names, _ = shards(folder / "in", weights.tensors)
    for source in (folder / "in", folder / "in" / names[1]):
        out = folder / ("out" if source.is_dir() else "out.safetensors")
        flags = ["--json", "-q"]
        report = json.loads(subprocess.run(
            [tool, "convert", source, "-o", out, "--to", "nvfp4", "--layout", layout, *flags],
            capture_output=True, check=True).stdout)
        loss = json.loads(subprocess.run([tool, "loss", source, "--to", "bf16,nvfp4", *flags],
                                         capture_output=True, check=True).stdout)
        figures = {one["name"]: one["loss"] for one in loss["types"][1]["tensors"]}
        for one in report["tensors"]:
            theirs = figures[one["name"]]
            # The two layouts store inverse scales, so that the last bits of figures differ.
            keys = one["loss"] if layout == "compressed-tensors" else ("elements",)
            for key in keys:
                if one["loss"][key] != theirs[key]:
                    raise AssertionError(f"{one['name']}: {key} is {theirs[key]}, not {one['loss'][key]}")


def check_plan_in_json(tool, folder, weights, layout):
    """The plan says which other files it reads."""
    names, of = shards(folder / "in", weights.tensors)
    convert(tool, folder / "in" / names[0], folder / "out.safetensors", "--layout", layout,
            "--write-plan", folder / "plan.json", "--dry-run")
    plan = json.loads((folder / "plan.json").read_text())
    said = {pathlib.Path(one["file"]).name: set(one["tensors"])
            for one in plan["files"][0]["fused_with"]}
    groups = [weights.group[n] for n in of if of[n] == names[0]]
    wanted = {name: {n for group in groups for n in group if of[n] == name} for name in names[1:]}
    if said != wanted:
        raise AssertionError(f"fused_with is {said}, not {wanted}")


def check_scaled_input(tool, folder, weights, layout):
    """Of weights that have scales the values count, in whatever file they stand."""
    plain = {}
    for name, values in weights.values.items():
        if len(weights.tensors[name].shape) == 2:
            parts, again = written.quantise(values, weights.tensors[name].shape, "fp8-block", "deepseek",
                                            "amax")
            plain.update({name + end: part for end, part in parts.items()})
            weights.values[name] = again
        else:
            plain[name] = weights.tensors[name]
    (folder / "in").mkdir()
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    of = {name: names[any(part in name for part in ("k_proj", "up_proj", "w3", "value", "wv"))]
          for name in plain}
    for file in names:
        files.write_safetensors(folder / "in" / file, {n: t for n, t in plain.items() if of[n] == file})
    (folder / "in/model.safetensors.index.json").write_text(json.dumps({"weight_map": of}))
    whole = weights.wanted(layout)
    convert(tool, folder / "in", folder / "out", "--layout", layout)
    expect(all_of(folder / "out"), whole)
    for file in names:
        convert(tool, folder / "in" / file, folder / file, "--layout", layout)
        found = all_of(folder / file)
        expect(found, {n: whole[n] for n in found})


def check_read(tool, folder, weights, layout):
    """Weights with several global scales are read by their own, and named; to nvfp4 they are
    written anew. With one they stay."""
    own = weights.wanted(layout, lambda n: n)
    source, out = folder / "own.safetensors", folder / "out.safetensors"
    files.write_safetensors(source, own)
    said = subprocess.run([tool, "convert", source, "-o", out, "--to", "float64", "--no-report"],
                          capture_output=True, text=True, check=True).stderr
    expect_in(said, "warning", "one matrix", LAYER)
    values = {}
    found = all_of(out)
    for name, tensor in weights.tensors.items():
        _, values[name] = written.quantise(weights.values[name], tensor.shape, "nvfp4", layout, "amax")
        got = list(struct.unpack(f"<{len(values[name])}d", found[name].data))
        want = [files.round_to(value, "float64") for value in values[name]]
        if got != want:
            raise AssertionError(f"{name} is not read exactly")
    convert(tool, source, out, "--layout", layout, "--force")
    again = Weights()
    again.values = values
    wanted = again.wanted(layout)
    for name, group in weights.group.items():  # lone ones stay as they are
        if len(group) == 1:
            wanted.update({n: t for n, t in own.items() if n.startswith(name)})
    expect(all_of(out), wanted)
    shared = weights.wanted(layout)
    files.write_safetensors(source, shared)
    said = convert(tool, source, out, "--layout", layout, "--force")
    expect(all_of(out), shared)
    said += subprocess.run([tool, "convert", source, "-o", out, "--to", "float64", "--no-report", "--force"],
                           capture_output=True, text=True, check=True).stderr
    if "one matrix" in said:
        raise AssertionError(f"weights with one scale are spoken of: {said}")
    # A part that is not quantised yet: then the others get its scale too.
    name = FIRST.format("k")
    some = {n: t for n, t in shared.items() if not n.startswith(name)}
    some[name] = weights.tensors[name]
    files.write_safetensors(source, some)
    convert(tool, source, out, "--layout", layout, "--force")
    found = all_of(out)
    globals_found = {found[FIRST.format(part) + ENDINGS[layout]].data for part in "qkv"}
    if len(globals_found) != 1:
        raise AssertionError("q, k and v have several scales")


def decibel(values, again):
    noise = sum((float(a) - float(b)) ** 2 for a, b in zip(values, again))
    return 10 * math.log10(sum(float(a) ** 2 for a in values) / noise)


def check_vllm(tool, folder, weights, layout):
    """vLLM's process_weights_after_loading keeps the largest of the scales that are stored (of
    compressed-tensors' the inverse of the largest), and the blocks as they are."""
    source, out = folder / "in.safetensors", folder / "out.safetensors"
    files.write_safetensors(source, weights.tensors)
    convert(tool, source, out, "--layout", layout)
    found = all_of(out)
    end = "_packed" if layout == "compressed-tensors" else ""
    for name, group in weights.group.items():
        stored = [struct.unpack("<f", found[n + ENDINGS[layout]].data)[0] for n in group]
        factor = max(stored) if layout == "modelopt" else 1 / max(stored)
        nibbles = [n for byte in found[name + end].data for n in (byte & 15, byte >> 4)]
        scales = [float(files.e4m3(code)) for code in found[name + "_scale"].data]
        again = [float(files.e2m1(n)) * scales[i // 16] * factor for i, n in enumerate(nibbles)]
        if (snr := decibel(weights.values[name], again)) < 19:
            raise AssertionError(f"{name} has {snr:.1f} dB as one matrix with the others")


CHECKS = {name.removeprefix("check_"): one for name, one in list(globals().items())
          if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("names", nargs="*")
    flags = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, check in CHECKS.items():
            for layout in ENDINGS:
                case = f"{name}-{layout}"
                if flags.names and not any(n in case for n in flags.names):
                    continue
                place = pathlib.Path(folder) / case
                place.mkdir()
                try:
                    check(flags.tool, place, Weights(), layout)
                    print(f"{case}: ok", flush=True)
                except (AssertionError, LookupError, subprocess.CalledProcessError) as wrong:
                    print(f"{case}: {wrong!r}", flush=True)
                    failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

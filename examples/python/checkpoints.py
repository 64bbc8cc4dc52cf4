"""A checkpoint in fp8, GPTQ or any other layout that is read, as plain bfloat16; which of its tensors fp8
would cost most; and fp8 again, tensor by tensor, with a change of one's own on the way.

    python examples/python/checkpoints.py IN OUT

SPDX-License-Identifier: Apache-2.0
"""

import sys

import tensorcast as tc


def to_bfloat16(src, dst):
    """Writes a directory with the scales applied, and a config.json that says so."""
    tc.convert(src, dst, to="bfloat16", overwrite=True)


def worst_in_fp8(path, count=3):
    """The tensors that a cast to fp8 would cost most: (SNR in dB, values at the limit, name)."""
    with tc.open(path) as f:
        losses = {info.name: f.get_tensor(info.name, to="float8_e4m3fn", loss=True)[1]
                  for info in f.infos() if info.type in ("float32", "float16", "bfloat16")}
    rows = [(loss.snr_db, loss.counts["to_limit"], name) for name, loss in losses.items()]
    return sorted(rows)[:count]


def doubled_in_fp8(src, dst):
    """Writes twice each matrix in fp8, with a scale for each block of 128 x 128."""
    with tc.open(src) as f:
        tensors = {info.name: ("bfloat16", info.shape) for info in f.infos()}
        with tc.Writer(dst, tensors, layout="fp8-block", config=src, overwrite=True) as out:
            for name, w in f.items():
                out.write(name, w * 2 if w.ndim == 2 else w)


def main() -> None:
    source, target = sys.argv[1:]
    with tc.open(source) as f:
        for name, layout in f.scaled.items():
            print(name, "is", layout.split(":")[0])
    to_bfloat16(source, target)
    for snr_db, at_limit, name in worst_in_fp8(target):
        print(f"{name}: SNR {snr_db:.1f} dB in fp8, {at_limit} values at the limit")
    doubled_in_fp8(target, target + "-fp8")


if __name__ == "__main__":
    main()

"""Calls as users write them, for type checkers (test_typing.py): each is right, unless its line says with
`# wrong:` which word the checkers' complaint has. Nothing runs this.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any, assert_type

import ml_dtypes
import numpy as np
import tensorcast as tc
from tqdm import tqdm  # type: ignore[import-untyped]

Array = np.ndarray[Any, np.dtype[Any]]

x = np.zeros((2, 3), np.float32)
codes: np.ndarray[tuple[int, int], np.dtype[np.uint8]] = np.zeros((2, 3), np.uint8)

# The result is of the kind of what is given.
assert_type(tc.cast(x, "float8_e4m3fn"), Array)
assert_type(tc.cast([1.5, 2], ml_dtypes.bfloat16, round_mode="down", threads=2), Array)
assert_type(tc.cast(x, np.float16, loss=True), tuple[Array, tc.LossReport])
assert_type(tc.cast(x, "int4", loss=False, packed=True), Array)
assert_type(tc.cast([1, 2], like=x), Array)
assert_type(tc.cast(x, out=codes), np.ndarray[tuple[int, int], np.dtype[np.uint8]])
assert_type(tc.loss(x, "bf16", saturate=False), tc.LossReport)
assert_type(tc.loss(x, like=x), tc.LossReport)
assert_type(tc.loss(x, ["bf16", np.float16]), tc.Losses)
assert_type(tc.exponents(x), tc.Exponents)


class Tensor:
    """As torch's, where only what the package looks at counts."""

    def resolve_neg(self) -> Tensor: ...  # type: ignore[empty-body]


class JaxArray:
    def block_until_ready(self) -> JaxArray: ...  # type: ignore[empty-body]


assert_type(tc.cast(Tensor(), "int8"), Tensor)
assert_type(tc.cast(Tensor(), "int8", loss=True), tuple[Tensor, tc.LossReport])
assert_type(tc.cast(x, like=Tensor()), Tensor)
assert_type(tc.cast(JaxArray(), "int8"), JaxArray)
assert_type(tc.cast(Tensor(), like=x), Array)


def unknown(flag: bool, anything: Any) -> None:
    assert_type(tc.cast(x, "int8", loss=flag), Any)
    tc.cast(anything, "int8").anything()


# Everything that names a type.
tc.cast(1.5, np.dtype(">f4"))
tc.cast("1", 10)
tc.cast(x, np.dtypes.StringDType())
tc.cast(x, str)
tc.cast(codes, "float32", from_type="float8_e4m3fn", fnuz_infinity="nan", string_style="ort")

# Files.
losses: dict[str, tc.LossReport] = tc.convert("a", "b", to="nvfp4", keep=["norms"], saturate=False, overwrite=True,
                                              rules={"a": "bf16"}, progress=True)
assert_type(tc.plan("a", "b").run(progress=lambda done, total, name: print(name, done / total)), tc.Losses)
tc.diff("a", "b", progress=tqdm(desc="diff"))
tc.plot_loss(losses, most=3).set_title("What float8 costs")
tc.plot_exponents(x, ["bf16", np.float16])
infos: list[tc.TensorInfo] = tc.inspect("a")
tc.plan("a", "b", rules=[("a", "bf16"), ("b", np.float16)], scale_rule="mse", group=32).run(overwrite=True)
tc.load_file("a", "bf16", framework="pt")["w"].tolist()
with tc.open("a") as file:
    assert_type(file.get_tensor("w", loss=True, packed="in"), tuple[Array, tc.LossReport])
    assert_type(file.get_tensor("w", like=Tensor(), loss=True), tuple[Any, tc.LossReport])
    assert_type(file.get_tensor("w", out=x), Any)
    assert_type(file["w"], Array)
    assert_type(file.get("w", to="bf16", saturate=False), Array | None)
    assert_type(file.get("w", 1), Array | int)
    assert_type(file.get_slice("w")[:2], Array)
    assert_type(file.raw["w"], Array)
    assert_type(dict(file), dict[str, Array])
assert_type(tc.load_file("a", "bf16", select="a.*", saturate=False), dict[str, Array])
with tc.open("a", framework="pt", device="cpu") as tensors:
    tensors["w"].reshape(2, 3).resolve_neg()
tc.explain("1", "e8m0", round_mode="nearest")

# What is wrong.
tc.cast(x, "int8", round_mode="even")  # wrong: cast
tc.cast(x, "int8", sturate=True)  # wrong: cast
tc.cast(x, "int8", packed="both")  # wrong: cast
tc.cast(x)  # wrong: cast
tc.cast(x, x)  # wrong: cast
tc.cast(x, 1.5)  # wrong: cast
tc.loss(x, "int8", round_mode="even")  # wrong: loss
tc.loss(x, "int8", loss=True)  # wrong: "loss"
tc.parse(["1"], "int8", loss=True)  # wrong: "loss"
tc.format(x, "numpyy")  # wrong: "format"|"style"
tc.explain("1", "int8", integer_overflow="clip")  # wrong: integer_overflow
tc.convert("a", "b", to="int8", overwite=True)  # wrong: overwite
tc.ray.convert("a", "b", overwite=True)  # wrong: overwite
tc.plan("a", "b", overwrite=True)  # wrong: overwrite
tc.plan("a", "b").run(progress="yes")  # wrong: progress|"run"
tc.plot_loss(x)  # wrong: plot_loss|losses
tc.plan("a", "b", keep=["norm"])  # wrong: List item|"keep"
tc.plan("a", "b", scale_rule="max")  # wrong: scale_rule
tc.open("a", framework="tf")  # wrong: framework|"open"
tc.load_file("a", framework="tensorflow")  # wrong: framework|"load_file"
tc.open("a").get_tensor("w", to="int8", round_mode="even")  # wrong: get_tensor|round_mode
tc.open("a").get("w", round_mode="even")  # wrong: "get"|round_mode
tc.open("a")["w"].resolve_neg()  # wrong: resolve_neg
tc.open("a", selects="w")  # wrong: "open"|selects
tc.load_file("a", saturat=False)  # wrong: "load_file"|saturat
tc.graph.Graph().cast(tc.graph.Graph().add_input("x", "float32", None), "int8", round_mode="even")  # wrong: round_mode

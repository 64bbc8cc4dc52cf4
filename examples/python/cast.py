"""Casts weights to float8 and reports what that loses, with the package (`pip install .`).

    python examples/python/cast.py

SPDX-License-Identifier: Apache-2.0
"""

import numpy as np
import tensorcast as tc


def main() -> None:
    weights = np.array([0.1, 448, 512, -1e-9], dtype=np.float32)
    small, report = tc.cast(weights, "float8_e4m3fn", loss=True)
    print("codes:", small.tobytes().hex(" "))
    print(f"of {report.elements} values {report.counts['to_limit']} went to the limit, "
          f"SNR {report.snr_db:.1f} dB")
    print("values:", *tc.format(tc.cast(small, "float32")))
    try:
        tc.parse(["1.5", "1e400", "half"], "float16")
    except tc.ArgumentError as error:
        print(error)


if __name__ == "__main__":
    main()

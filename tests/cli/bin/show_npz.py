#!/usr/bin/env python3
"""Prints the arrays of an .npz archive as show_tensor.py prints an .npy's.

    show_npz.py FILE [NAME]...

Read with Python's own zipfile, which checks the CRCs.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import sys
import tempfile
import zipfile

import show_tensor


def main():
    path, names = sys.argv[1], sys.argv[2:]
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
        assert archive.testzip() is None
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if names and name not in names:
                continue
            with open(os.path.join(folder, "x.npy"), "wb") as file:
                file.write(archive.read(member))
            for _, dtype, shape, size, data in show_tensor.npy(os.path.join(folder, "x.npy")):
                codes = [data[i:i + size][::-1].hex() for i in range(0, len(data), size or 1)]
                print(json.dumps(name).strip('"'), dtype, "x".join(map(str, shape)) or "scalar",
                      *codes)


if __name__ == "__main__":
    main()

#!/bin/sh
# The kept benchmark of memory: a checkpoint of 20 GB in one sparse tensor to float8e4m3fn.
#
#   bench/sparse_20gb.sh [path to tensorcast] [safetensors | gguf | bin]     TMPDIR chooses the disk
#
# The input takes no room (its zeros are a hole), the output 5 GB. Prints the tool's report, its
# seconds and its peak resident memory, and fails where that passes the 256 MiB it promises.
# Exits with 77, saying so, where the disk has no room.
# SPDX-License-Identifier: Apache-2.0
set -eu

here=$(dirname "$0")
tool=${1:-$here/../build/release/programs/tensorcast}
format=${2:-safetensors}
test -x "$tool" || { echo "sparse_20gb: $tool is no program; build it, or name it" >&2; exit 2; }
elements=5000000000
folder=$(mktemp -d "${TMPDIR:-/tmp}/tensorcast_20gb.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM HUP

# KiB: the output, its header, and a reserve for whoever else writes there.
needed=$((elements / 1024 + 500000))
free=$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')
if [ "$free" -lt "$needed" ]; then
  echo "sparse_20gb: not run: $folder has $((free / 1000000)) GB free," \
    "$((needed / 1000000 + 1)) GB are needed (TMPDIR names another disk)" >&2
  exit 77
fi

python3 -B "$here/../tests/cli/bin/make_sparse.py" "$folder/in.$format" "$elements"
python3 - "$folder/in.$format" "$elements" "$tool" "$folder/out.safetensors" <<'PYTHON'
import os
import resource
import subprocess
import sys
import time

source, elements, tool, output = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
LIMIT = 256 << 20  # the promise adds four times the header, here some hundred bytes

if os.stat(source).st_blocks * 512 > 1 << 30:
    sys.exit("sparse_20gb: this file system keeps no holes; choose another with TMPDIR")

begin = time.monotonic()
code = subprocess.run([tool, "convert", source, "-o", output, "--to", "float8e4m3fn"]).returncode
seconds = time.monotonic() - begin
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
if code != 0:
    sys.exit(code)
written = os.stat(output).st_size
if not elements <= written <= elements + 4096:
    sys.exit(f"sparse_20gb: the output has {written} bytes, expected {elements} and a header")
print(f"sparse_20gb: {4 * elements / 1e9:.0f} GB in {seconds:.1f} s,"
      f" peak resident memory {peak / 1e6:.1f} MB (limit {LIMIT / 1e6:.1f} MB)")
sys.exit(0 if peak < LIMIT else "sparse_20gb: beyond the limit")
PYTHON

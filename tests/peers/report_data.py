"""What a page of --report shows, read out of it, and files to make one of.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import json
import re
import struct
import zlib

# What a page must not take for markup, a spreadsheet for a formula, or a terminal for an order.
HOSTILE_NAMES = (
    "</script><script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "a\"b'c`d", "=cmd|'/c calc'!A1", "+1", "@x",
    "tab\there\nand a line", "‮gnp.elif‬", "x" * 3000, "layers.0.\0nul", "😀 café אב", "{{data}}", "a,b", "__proto__", "constructor", " ", "",
    "layers.99999999999.weight", "--to", "]]>", "<!--", "\x1b[31mred")


def write_safetensors(path, tensors):
    """Writes (name, dtype, shape, bytes) as safetensors, in this order; names that its library would refuse too."""
    head, offset = {}, 0
    for name, dtype, shape, data in tensors:
        head[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for *_, data in tensors:
            out.write(data)


def read_page(path):
    """The page's data, and the page without it."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="text/plain" id="data">([A-Za-z0-9+/=]*)</script>', text)
    assert found, f"{path}: no data"
    data = json.loads(zlib.decompress(base64.b64decode(found[1])))
    return data, text[:found.start(1)] + text[found.end(1):]


def words(column, row):
    """The word of a row in a column of words."""
    return column["words"][column["rows"][row]]

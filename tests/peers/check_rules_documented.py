#!/usr/bin/env python3
"""docs/semantics.md has the tables of rules.py and text_rules.py, word for word.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

import rules
import text_rules


def main():
    page = pathlib.Path(sys.argv[1])
    lines = page.read_text(encoding="utf-8").splitlines()
    missing = 0
    for module in (rules, text_rules):
        for line in module.markdown().splitlines():
            if line not in lines:
                missing += 1
                print(f"{page} does not have this line of {module.__name__}.py --markdown:\n{line}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""docs/semantics.md names every rule of rules.py and text_rules.py.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

from rules import RULES
from text_rules import TEXT_RULES


def main():
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    missing = [rule.name for rule in RULES + TEXT_RULES if f"`{rule.name}`" not in text]
    for name in missing:
        print(f"{sys.argv[1]} does not name the rule `{name}`: paste the table that "
              "rules.py or text_rules.py --markdown prints")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

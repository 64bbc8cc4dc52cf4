"""Checks of arguments, each with one line that says which it is.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from .errors import ArgumentError, KindError


def path_text(path: Any, what: str = "a path") -> str:
    """A path as str, that the system can be asked for."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise KindError(f"{what} is a str or a path, and not {type(path).__name__}") from None
    if "\0" in text:
        raise ArgumentError(f"{what} has no NUL")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ArgumentError(f"{what} has half of a surrogate pair, which no file name has") from None
    return text


def text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise KindError(f"{what} is a str, and not {type(value).__name__}")
    return value


def flag(value: Any, what: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise KindError(f"{what} is True or False, and not {type(value).__name__}")
    return bool(value)


def count(value: Any, what: str, most: int = 2**63 - 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise KindError(f"{what} is an int, and not {type(value).__name__}") from None
    if not 0 <= number <= most:
        raise ArgumentError(f"{what} is {number}: give 0 to {most}")
    return number


def real(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise KindError(f"{what} is a number, and not {type(value).__name__}") from None

"""Arguments are checked here; an error says in one line which argument it is about.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from . import _core
from .errors import ArgumentError, KindError

P = ParamSpec("P")
T = TypeVar("T")

CAST_OPTIONS: tuple[str, ...] = _core.cast_options


def check_options(given: Mapping[str, Any], name: str,
                  *known: Callable[..., Any] | Iterable[str]) -> None:
    """Raises if a function was given an option that neither it nor what it calls takes, and names the
    nearest one.
    """
    names: list[str] = []
    for each in known if given else ():
        if callable(each):
            parameters = inspect.signature(each).parameters.values()
            names += [one.name for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]
        else:
            names += each
    for option in given:
        if option not in names:
            import difflib  # only now, because it would slow down the package's import

            near = difflib.get_close_matches(option, names, 1)
            raise KindError(f"{name} has no option {option!r}"
                            + (f": the nearest is {near[0]}" if near else ""))


def says_nearest(function: Callable[P, T]) -> Callable[P, T]:
    """Decorates a function that hands on no options: if a call fails because of an option that it does not
    take, the error names the nearest one.
    """
    @functools.wraps(function)
    def call(*args: P.args, **named: P.kwargs) -> T:
        try:
            return function(*args, **named)
        except TypeError as error:
            if type(error) is not TypeError:
                raise
            try:
                check_options(named, function.__name__, function)
            except KindError as better:
                raise better from None
            raise
    return call


def path_text(path: Any, what: str = "a path") -> str:
    """A path as a str that the system can be asked for."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise KindError(f"{what} must be a str or a path, not {type(path).__name__}") from None
    if "\0" in text:
        raise ArgumentError(f"{what} must not have a NUL")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ArgumentError(f"{what} has half of a surrogate pair, which no file name has") from None
    return text


def text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise KindError(f"{what} must be a str, not {type(value).__name__}")
    return value


def renames(rename: Mapping[str, str] | Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Patterns of names, and what tensors that match are called."""
    pairs = list(rename.items() if isinstance(rename, Mapping) else rename)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise KindError("rename must be a mapping, or pairs of a pattern and a name")
        for part in pair:
            text(part, "each part of rename")
    return pairs


def flag(value: Any, what: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise KindError(f"{what} must be True or False, not {type(value).__name__}")
    return bool(value)


def count(value: Any, what: str, most: int = 2**63 - 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise KindError(f"{what} must be an int, not {type(value).__name__}") from None
    if not 0 <= number <= most:
        raise ArgumentError(f"{what} is {number}: give 0 to {most}")
    return number


def real(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise KindError(f"{what} must be a number, not {type(value).__name__}") from None

"""What tensorcast raises: `Error`, and subclasses that are Python's own errors too.

The text is one line: what is wrong, where, and what to do. Texts from files are escaped in it.

SPDX-License-Identifier: Apache-2.0
"""

__all__ = ["Error", "ArgumentError", "KindError", "RangeError", "FileError", "ContentsError",
           "UnsupportedError"]


class Error(Exception):
    """The base of all errors of this package."""


class ArgumentError(Error, ValueError):
    """What was asked for cannot be: an unknown type or option, shapes that differ."""


class KindError(Error, TypeError):
    """An object that is not of a kind that is taken: complex numbers, structures, dates."""


class RangeError(Error, OverflowError):
    """A number or a size outside what a type holds, where no option says what to do then."""


class FileError(Error, OSError):
    """The system refused: a file is missing, may not be read, or its disk is full."""


class ContentsError(Error, ValueError):
    """A file holds what it should not."""


class UnsupportedError(Error, ValueError):
    """Legal, but not done here: an unknown format, an operator that is not a cast."""

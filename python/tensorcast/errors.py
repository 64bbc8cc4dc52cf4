"""tensorcast raises `Error`, in subclasses that are also Python's own errors.

The text is one line: what is wrong, where, and what to do. Texts from files are escaped in it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import errno
import os


class Error(Exception):
    """The base of all errors of this package.

    Attributes
    ----------
    code : int or None
        The library's number for the kind of error, such as TENSORCAST_BAD_INPUT in its C header. None
        if the package's Python refused before it asked the library.
    remedy : str or None
        What else you could ask for, if that helps: "allow_overwriting", "choose_one_tensor",
        "match_rule" ... The text names the argument.
    subject : str or None
        What was refused, as it was given: a file's path, a tensor's name, a pattern.
    """

    code: int | None = None
    remedy: str | None = None
    subject: str | None = None


class ArgumentError(Error, ValueError):
    """What was asked for is impossible: an unknown type or option, shapes that differ."""


class KindError(Error, TypeError):
    """An object is not of a kind that is taken: complex numbers, structures, dates."""


class RangeError(Error, OverflowError):
    """A number or a size is outside what a type holds, and no option says what to do then."""


class FileError(Error, OSError):
    """The system refused: a file is missing, may not be read, or its disk is full.

    `errno` and `filename` are the system's number and the file, if there are any. The error is then also the one
    that Python has for this number: FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError,
    FileExistsError.
    """

    def __str__(self) -> str:
        return _line(self)


class ContentsError(Error, ValueError):
    """A file holds what it should not."""


class UnsupportedError(Error, ValueError):
    """Legal, but not supported: an unknown format, an operator that is not a cast."""


class InternalError(Error, RuntimeError):
    """A fault of tensorcast itself, or of the threads that it needs. Please report it."""


def _line(error: OSError) -> str:
    """The line alone: Python's own text would repeat the number and the file."""
    return BaseException.__str__(error) if error.errno is None else str(error.strerror)


class FileMissingError(FileError, FileNotFoundError):
    pass


class FileDeniedError(FileError, PermissionError):
    pass


class FileIsDirectoryError(FileError, IsADirectoryError):
    pass


class FileNotDirectoryError(FileError, NotADirectoryError):
    pass


class FileThereError(FileError, FileExistsError):
    pass


# Refused before the system is asked: an output that exists, a directory in the place of a file.
# Python's class stands first, because it sets errno and filename.
class OutputExistsError(FileExistsError, ArgumentError):
    __str__ = _line


class OutputIsDirectoryError(IsADirectoryError, ArgumentError):
    __str__ = _line


class DirectoryUnsupportedError(IsADirectoryError, UnsupportedError):
    __str__ = _line


class DirectoryContentsError(IsADirectoryError, ContentsError):
    __str__ = _line


# For each of the system's numbers, a class that is also Python's own for it.
_OF_SYSTEM: dict[type[Error], dict[int, type[Error]]] = {
    FileError: {errno.ENOENT: FileMissingError, errno.EACCES: FileDeniedError, errno.EPERM: FileDeniedError,
                errno.EISDIR: FileIsDirectoryError, errno.ENOTDIR: FileNotDirectoryError, errno.EEXIST: FileThereError},
    ArgumentError: {errno.EEXIST: OutputExistsError, errno.EISDIR: OutputIsDirectoryError},
    UnsupportedError: {errno.EISDIR: DirectoryUnsupportedError},
    ContentsError: {errno.EISDIR: DirectoryContentsError},
}


def first_line(error: BaseException, otherwise: str) -> str:
    """What another library says about its error, in one line."""
    return next(iter(str(error).splitlines()), "") or otherwise


def reworded(error: Error, line: str) -> Error:
    """The same error with another line."""
    if isinstance(error, OSError) and error.errno is not None:
        made: Error = type(error)(error.errno, line, error.filename)
    else:
        made = type(error)(line)
    made.code, made.remedy, made.subject = error.code, error.remedy, error.subject
    return made


def refused(kind: type[Error], line: str, code: int, remedy: str | None, subject: bytes, number: int) -> Error:
    """The error of a class for what the library refused; `number` is the system's, or 0."""
    made = _OF_SYSTEM.get(kind, {}).get(number)
    if number != 0 and (made is not None or issubclass(kind, OSError)):
        error = (made or kind)(number, line, os.fsdecode(subject))
    else:
        error = kind(line)
    error.code, error.remedy, error.subject = code, remedy, os.fsdecode(subject) or None
    return error

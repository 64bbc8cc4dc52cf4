"""Inputs that are URLs are lent to the library by fsspec's file systems, which are imported only for that.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import atexit
import errno
import importlib
import os
import re
import threading
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core
from .arguments import text
from .errors import ArgumentError, KindError, first_line

# What to install for URLs of a protocol, if that is more than fsspec.
_PACKAGES = {"hf": "huggingface_hub", "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs",
             "abfs": "adlfs", "abfss": "adlfs", "http": "fsspec[http]", "https": "fsspec[http]",
             "sftp": "fsspec[sftp]", "ssh": "fsspec[ssh]"}

# What tells that the bytes of a file have changed, the surest first. A file system may tell more about one
# file than in a listing, so only the first that it tells is compared.
_VERSIONS = ("etag", "generation", "blobid", "xethash", "md5hash", "contentmd5", "crc32c", "digest", "lastmodified",
             "updated", "modified", "mtime", "created")

_LONGEST_LINE = 400  # characters of what a file system's library says
_FIRST_PAUSE_MS = 250  # before the second of five tries; each pause is twice as long as the one before
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # HTTP's statuses that may pass


# How the path of what a Writer lends itself begins.
WRITERS = "writer://"


def is_url(path: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.:-]*://", path) is not None


def local_path(path: str, what: str) -> str:
    """Checks that a path that is to be written is not a URL."""
    if is_url(path):
        raise ArgumentError(f"{what} is {path}: outputs are files of this machine; write one, then upload it")
    return path


class Lent:
    """File systems that are lent for as long as it is open."""

    def __init__(self) -> None:
        self._mounts: list[_Mounted] = []

    def add(self, url: str, options: dict[str, Any]) -> None:
        self._mounts.append(_mount(url, options))

    def close(self) -> None:
        mounts, self._mounts = self._mounts, []
        for mounted in mounts:
            mounted.leave()

    def __enter__(self) -> Lent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def lend(paths: Iterable[str], storage_options: Mapping[str, Any] | None) -> Lent:
    """Lends the file systems of those paths that are URLs; none if there is no URL."""
    if storage_options is not None and not isinstance(storage_options, Mapping):
        raise KindError(f"storage_options must be a mapping, not {type(storage_options).__name__}")
    options = {text(key, "each name of storage_options"): value for key, value in (storage_options or {}).items()}
    urls = [path for path in paths if is_url(path) and not path.startswith(WRITERS)]
    if options and not urls:
        raise ArgumentError("storage_options are for URLs, and no input is one")
    lent = Lent()
    try:
        for url in urls:
            lent.add(url, options)
    except BaseException:
        lent.close()
        raise
    return lent


class _Mounted:
    """A file system that is lent under a prefix, and how many ask for it."""

    def __init__(self, prefix: str, fs: Any, options: dict[str, Any]) -> None:
        self.prefix, self.options = prefix, options
        self.files = _Files(fs)
        self.users = 0
        self.core = _core.Mount(prefix, self.files, _FIRST_PAUSE_MS)

    def leave(self) -> None:
        with _changed:
            self.users -= 1
            if self.users:
                return
        self.core.close()  # waits for calls under way, which may want the lock
        with _changed:
            _mounted.pop(self.prefix, None)
            _changed.notify_all()


_changed = threading.Condition(threading.RLock())  # a Lent may be collected wherever memory is asked for
_mounted: dict[str, _Mounted] = {}
_all: weakref.WeakSet[_Mounted] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    # No thread that reads ahead may be in Python when the interpreter ends.
    for mounted in list(_all):
        mounted.core.close()


def _abandon_all() -> None:
    """In the child of a fork, leaves what was open to the parent, whose threads read it."""
    global _changed
    _changed = threading.Condition(threading.RLock())
    for mounted in list(_all):
        mounted.core.abandon()
    _all.clear()
    _mounted.clear()


os.register_at_fork(after_in_child=_abandon_all)


def _mount(url: str, options: dict[str, Any]) -> _Mounted:
    fs = _file_system(url, options)
    # What stands beside a file or a directory is in the same file system: an index, a configuration.
    beside = url.split("?")[0].rstrip("/")
    prefix = url[:beside.rfind("/") + 1]
    with _changed:
        while (mounted := _mounted.get(prefix)) is not None and mounted.users == 0:
            _changed.wait()  # it is being closed
        if mounted is None:
            mounted = _Mounted(prefix, fs, options)
            _mounted[prefix] = mounted
            _all.add(mounted)
        elif mounted.options != options:
            raise ArgumentError(f"{prefix} is being read with other storage_options: close what reads it first")
        mounted.users += 1
        mounted.files.given.add(url)
        return mounted


def _file_system(url: str, options: dict[str, Any]) -> Any:
    protocol = url.split("://")[0].lower()
    package = _PACKAGES.get(protocol, "fsspec")
    if "::" in url:
        raise ArgumentError(f"{url}: chained URLs (::) are not read; name the file itself")
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError:
        raise ArgumentError(f"{url}: URLs are read through fsspec: pip install {package!r}") from None
    try:
        return core.url_to_fs(url, **options)[0]
    except ImportError as error:
        if protocol in _PACKAGES:
            raise ArgumentError(f"{url}: {protocol}:// is read through another package: "
                                f"pip install {package!r}") from None
        raise ArgumentError(f"{url}: {first_line(error, 'fsspec lacks a package')}") from None
    except Exception as error:
        raise ArgumentError(f"{url}: fsspec cannot open it: {first_line(error, type(error).__name__)}") from error


class _Files:
    """A file system of fsspec's with the functions that the library calls (tensorcast/file_system.hpp).

    An OSError with a number is final; any other exception may pass, and the call is made again.
    """

    def __init__(self, fs: Any) -> None:
        self._fs = fs
        protocols = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
        self._is_http = "http" in protocols
        # For these, cat_file fetches a whole file from a server that has no ranges, or more than the range.
        self._is_opened = self._is_http or "hf" in protocols
        self.given: set[str] = set()  # the URLs that users named
        # A listing is as new as what was read, until more is read: one listing then does for all files of a
        # directory.
        self._is_listing_old = True

    def find(self, path: str, anew: bool) -> tuple[str, bool, int, str] | None:
        try:
            if anew and self._is_listing_old:
                self._is_listing_old = False
                self._fs.invalidate_cache()
            info = self._fs.info(path)
        except Exception as error:
            told = self._told(error)
            # Stores that list nothing answer 403 also for what is not there.
            is_hidden = self._is_http and told.errno == errno.EACCES and path not in self.given
            if told.errno == errno.ENOENT or is_hidden:
                return None
            raise told from None
        return self._entry(info, path)

    def list(self, path: str) -> list[tuple[str, bool, int, str]]:
        try:
            found = self._fs.ls(path, detail=True)
            own = self._fs._strip_protocol(path).rstrip("/")
            entries = []
            for info in found:
                name = info["name"].rstrip("/")
                if name == own or (self._is_http and re.search("[?#]", name)):  # itself; a link that sorts
                    continue
                if self._is_http and info["type"] == "file":
                    info = {**self._fs.info(info["name"]), "name": info["name"]}
                entries.append(self._entry(info, name))
            return entries
        except Exception as error:
            raise self._told(error) from None

    def read(self, path: str, size: int, start: int, end: int) -> bytes:
        try:
            if not self._is_opened:
                return bytes(self._fs.cat_file(path, start=start, end=end))
            with self._fs.open(path, "rb", size=size, cache_type="none") as file:
                file.seek(start)
                return bytes(file.read(end - start))
        except Exception as error:
            raise self._told(error) from None
        finally:
            self._is_listing_old = True

    def _told(self, error: Exception) -> OSError:
        """What the library is told: an OSError, which has a number if trying again is of no use."""
        if isinstance(error, OSError) and error.errno == errno.EOPNOTSUPP:
            return error
        why = error
        while isinstance(why, FileNotFoundError) and isinstance(why.__cause__, Exception):
            why = why.__cause__  # it says more
        status, number = _status(error), None
        if status is not None:
            if status not in _PASSING:
                number = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}.get(
                    status, errno.EIO)
        elif isinstance(error, PermissionError):
            number = errno.EACCES
        elif isinstance(error, FileNotFoundError) and (why is error or not self._is_http):
            number = errno.ENOENT  # over HTTP, a failure to look is reported so, too
        elif self._is_http and isinstance(error, ValueError) and "range" in str(error):
            return OSError(errno.EOPNOTSUPP, "the server gives no parts of files (ranges); download it first")
        elif isinstance(why, TypeError):
            number = errno.EINVAL  # its library does not take these storage_options
        line = " ".join(str(why).split())[:_LONGEST_LINE] or type(why).__name__
        return OSError(line) if number is None else OSError(number, line)

    def _entry(self, info: Mapping[str, Any], path: str) -> tuple[str, bool, int, str]:
        name = path.rstrip("/").rsplit("/", 1)[-1]
        # fsspec takes every URL that a server answers for a file.
        is_directory = info["type"] == "directory" or (
            self._is_http and str(info.get("url", info["name"])).split("?")[0].endswith("/"))
        if is_directory:
            return name, True, 0, ""
        if info.get("size") is None:
            raise OSError(errno.EOPNOTSUPP, "its size is not known; download it first")
        return name, False, int(info["size"]), _version(info)


def _version(info: Mapping[str, Any]) -> str:
    said = {re.sub("[^a-z0-9]", "", key.lower()): value for key, value in info.items()}
    return next((f"{name} {said[name]}" for name in _VERSIONS if said.get(name)), "")


def _status(error: BaseException | None) -> int | None:
    """The HTTP status of an error of aiohttp, requests or httpx, or of one that caused it."""
    while error is not None:
        status = getattr(error, "status", None)
        if status is None:
            status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(status, int):
            return status
        error = error.__cause__
    return None

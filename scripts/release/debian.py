"""Debian's packages, of any architecture and release, without touching the system's own lists of them.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import platform
import re
import shutil


def codename():
    """The release that runs here."""
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


def apt(folder, kind, release=None, architecture=None):
    """apt-get for packages of a kind (deb, deb-src), with lists of its own: the system's may not have them."""
    def own(text, types):
        text = re.sub(types, rf"\g<1>{kind}\g<2>", text)
        return text.replace(codename(), release) if release else text

    written = sorted(pathlib.Path("/etc/apt/sources.list.d").glob("debian*.sources"))
    lists = folder / "sources"
    shutil.rmtree(lists, ignore_errors=True)
    lists.mkdir(parents=True)
    for file in written:
        (lists / file.name).write_text(own(file.read_text(encoding="utf-8"), r"(?m)^(Types: ).*()$"), encoding="utf-8")
    one = "/dev/null"
    if not written:
        one = lists / "sources.list"
        text = pathlib.Path("/etc/apt/sources.list").read_text(encoding="utf-8")
        one.write_text(own(text, r"(?m)^()deb(?:-src)?( )"), encoding="utf-8")
    for needed in ("lists/partial", "cache/archives/partial"):
        (folder / needed).mkdir(parents=True, exist_ok=True)
    options = {"Dir::Etc::SourceList": one, "Dir::Etc::SourceParts": lists, "Dir::State::Lists": folder / "lists",
               "Dir::Cache": folder / "cache", "APT::Sandbox::User": "root"}
    if architecture:  # for which nothing is installed
        (folder / "status").touch()
        options |= {"Dir::State::status": folder / "status", "APT::Architecture": architecture,
                    "APT::Architectures": architecture}
    return ("apt-get", *(word for name, value in options.items() for word in ("-o", f"{name}={value}")))

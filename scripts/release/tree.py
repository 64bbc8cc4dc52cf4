#!/usr/bin/env python3
"""The tree as it is released: two packages, with pyproject.toml and README as PyPI shows them.

    tree.py FOLDER      writes FOLDER/tensorcast and FOLDER/tensorcast-cli

`tensorcast` is what is imported; `tensorcast-cli`, on which it depends, is the command. pyproject.toml
itself names no such dependency: `pip install .` would look for it on PyPI.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import tomli_w

import notices

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ("CHANGELOG.md", "CMakeLists.txt", "LICENSE", "README.md", "cmake", "include", "programs",
        "pyproject.toml", "python", "src")
NOTICES = "licenses"
# PyPI takes nothing that has a classifier of this kind.
UNPUBLISHABLE = "Private :: Do Not Upload"
NOWHERE = "https://repository.invalid/tensorcast/tensorcast"
# Links and pictures, but for those within code.
LINK = re.compile(r"(!?\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")
BY_PIP = """```
pip install tensorcast        # the import and the command
pip install tensorcast-cli    # the command alone: no numpy, no Python of ours
```

Wheels are for Linux with glibc 2.28 or later, on x86-64 and 64-bit ARM; what follows is the same from the sources. """


def version():
    text = (ROOT / "include" / "tensorcast" / "version.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"_{part} (\d+)\n", text).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


def readme():
    """README with links that lead somewhere from another page, and pip's line."""
    address = repository() or NOWHERE
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    def absolute(link):
        words, target = link.groups()
        kind = "raw" if words.startswith("!") else "blob"
        return f"{words}({address}/{kind}/v{version()}/{target})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    text = "".join(part if part.startswith("```") else LINK.sub(absolute, part) for part in parts)
    head, title, rest = text.partition("\n## Install it\n\n")
    if not title:
        sys.exit("tensorcast: README.md has no heading 'Install it', under which pip's line belongs")
    return f"{head}{title}{BY_PIP}{rest}"


def repository():
    """Where the public reads the tree; empty where nobody has said."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["tensorcast"]["repository"].rstrip("/")


def project(is_command, has_notices):
    """pyproject.toml of one of the packages."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    about, build = settings["project"], settings["tool"]["scikit-build"]
    del settings["tool"]["tensorcast"]
    address = repository() or NOWHERE
    at_version = f"{address}/blob/v{version()}"
    if has_notices:
        about["license-files"].append(f"{NOTICES}/*")
    if not repository():
        about["classifiers"].append(UNPUBLISHABLE)
    about["urls"] = {
        "Homepage": address,
        "Documentation": f"{at_version}/docs/{'command_line' if is_command else 'python'}.md",
        "Changelog": f"{at_version}/CHANGELOG.md",
        "Issues": f"{address}/issues",
        "Source": address}
    if is_command:
        about["name"] = "tensorcast-cli"
        about["description"] = "The command tensorcast: exact, fast casts of tensor files that say what they lose"
        del about["dependencies"], about["optional-dependencies"]
        about["requires-python"] = ">=3.8"
        about["classifiers"] = [one for one in about["classifiers"]
                                if not one.startswith(("Typing", "Programming Language :: Python :: 3."))]
        settings["build-system"]["requires"] = [
            one for one in settings["build-system"]["requires"] if one.startswith("scikit")]
        build["wheel"] = {"packages": [], "py-api": "py3"}
        build["cmake"]["define"] = {"TENSORCAST_EXTENSION": False, "TENSORCAST_COMMAND": True}
    else:
        about["dependencies"].append(f"tensorcast-cli=={version()}")
    return settings


def write(folder, packages=None, of_zig=False):
    """Writes both trees into a folder; returns them by name. For wheels, which are built with what is in the
    folder `packages`, they have the notices of all that goes into them."""
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", *KEPT], check=True,
                             stdout=subprocess.PIPE).stdout.decode().split("\0")[:-1]
    trees = {}
    for name, is_command in (("tensorcast", False), ("tensorcast-cli", True)):
        tree = trees[name] = folder / name
        shutil.rmtree(tree, ignore_errors=True)
        for path in tracked:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, tree / path)
        settings = project(is_command, packages is not None)
        (tree / "pyproject.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
        (tree / "README.md").write_text(readme(), encoding="utf-8")
        if packages:
            notices.write(packages, name.replace("-", "_"), tree / NOTICES, of_zig)
    return trees


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    for tree in write(parser.parse_args().folder).values():
        print(tree)


if __name__ == "__main__":
    main()

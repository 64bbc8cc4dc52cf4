#!/usr/bin/env python3
"""Sources that changed since a commit, and one for each header that did.

    changed_sources.py COMMIT FOLDER...

Prints, a line each, the .cc files of the folders that differ from COMMIT (committed or not), and for
each header whose code does, comments not counted, one that includes it, by whatever way. All of them
where .clang-tidy differs, or where there is no such commit here, as in a shallow clone; it says so
on stderr.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Where the compiler looks for headers, beside the folder of the file that includes.
LOOKED_IN = ("include", "src", "programs")
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)
ENDINGS = {".cc", ".h", ".hpp"}
# A string, or a comment that tells clang-tidy nothing.
TEXT_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//(?!.*NOLINT).*|/\*(?:[^*]|\*(?!/))*\*/')


def git(*arguments):
    """The lines that git prints; None where it fails."""
    done = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def included_by(path):
    """The tree's own files that a file includes itself."""
    for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        for folder in (path.parent, *(ROOT / folder for folder in LOOKED_IN)):
            if (folder / name).is_file():
                yield (folder / name).resolve()
                break


def code(text):
    """A source without comments and line ends."""
    return TEXT_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else "", text).split()


def has_other_code(name, commit):
    """Whether a file says something else to the compiler than it did at a commit."""
    path = ROOT / name
    if path.suffix == ".cc" or path.suffix not in ENDINGS or not path.exists():
        return True
    before = git("show", f"{commit}:{name}")
    return before is None or code("\n".join(before)) != code(path.read_text(encoding="utf-8"))


def users_of(header, users):
    """All files that include a header, by whatever way."""
    found, left = set(), [header]
    while left:
        for user in users.get(left.pop(), ()):
            if user not in found:
                found.add(user)
                left.append(user)
    return found


def chosen_sources(sources, files, changed):
    """The sources that changed; and for each header that did, if none of these includes it, the one that is its
    own, or else the shortest. What Highway compiles once for each target is the last resort.
    """
    users = {}
    for path in files:
        for header in included_by(path):
            users.setdefault(header, set()).add(path.resolve())
    chosen = sources & changed
    for header in sorted(changed - sources):
        including = users_of(header, users) & sources
        if including and not including & chosen:
            chosen.add(min(including, key=lambda path: (
                "hwy/foreach_target.h" in path.read_text(encoding="utf-8"),
                path.stem != header.stem, path.stat().st_size, path)))
    return chosen


def main():
    commit, *folders = sys.argv[1:]
    files = [path for folder in (*folders, "include") for path in (ROOT / folder).rglob("*")
             if path.suffix in ENDINGS]
    chosen = sources = {path.resolve() for path in files if path.suffix == ".cc"}
    committed = git("diff", "--name-only", commit, "--")
    untracked = git("ls-files", "--others", "--exclude-standard")
    if committed is None or untracked is None:
        print(f"tensorcast: there is no commit {commit} here: all sources count as changed",
              file=sys.stderr)
    elif ".clang-tidy" not in committed:
        changed = {(ROOT / name).resolve() for name in (*committed, *untracked)
                   if has_other_code(name, commit)}
        chosen = chosen_sources(sources, files, changed)
    for path in sorted(chosen):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()

"""The wheels as they are installed: what PyPI is told of them, and that a bad one would be found.

SPDX-License-Identifier: Apache-2.0
"""
import importlib.metadata
import pathlib
import re
import shutil
import sys
import tomllib
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "release"))
import tree  # noqa: E402  (scripts/release/tree.py)
import wheel_checks  # noqa: E402

WHEELS = {path.parent.name: path for path in (pathlib.Path(sys.prefix).parent / "repaired").glob("*/*.whl")}


def test_the_import_brings_the_command():
    version = importlib.metadata.version("tensorcast")
    assert f"tensorcast-cli=={version}" in importlib.metadata.requires("tensorcast")
    assert importlib.metadata.version("tensorcast-cli") == version
    assert importlib.metadata.requires("tensorcast-cli") is None


@pytest.mark.parametrize("name", ["tensorcast", "tensorcast-cli"])
def test_what_pypi_shows(name):
    about = importlib.metadata.metadata(name)
    assert {line.partition(",")[0] for line in about.get_all("Project-URL")} == {
        "Homepage", "Documentation", "Changelog", "Issues", "Source"}
    assert about["License-Expression"] == "Apache-2.0" and about["Author"]
    page = about.get_payload()
    assert "pip install tensorcast " in page and not wheel_checks.RELATIVE_LINK.search(page)
    # Each link is README's own, at the same place of the repository.
    own = re.findall(r"\]\((?![a-z]+:|#)([^)\s]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(own) > 20
    for target in own:
        assert page.count(f"/v{about['Version']}/{target})") >= own.count(target), target


@pytest.mark.parametrize("name", ["tensorcast", "tensorcast-cli"])
def test_pypi_refuses_them_until_the_repository_has_an_address(name):
    """PyPI takes nothing that has a classifier beginning with "Private ::"."""
    address = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["tensorcast"]["repository"]
    private = [one for one in importlib.metadata.metadata(name).get_all("Classifier") if one.startswith("Private ::")]
    assert len(private) == (0 if address else 1)


def altered(wheel, into, name=None, leave_out=(), instead=None):
    """A copy of a wheel under a name, without some of its files, and with others instead of its own."""
    copy = into / (name or wheel.name)
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(copy, "w") as changed:
        for entry in whole.infolist():
            if not any(part in entry.filename for part in leave_out):
                changed.writestr(entry, (instead or {}).get(pathlib.PurePath(entry.filename).name, whole.read(entry)))
    return copy


def test_a_good_wheel_has_no_fault():
    assert set(WHEELS) == {"tensorcast", "tensorcast-cli"}
    assert [fault for wheel in WHEELS.values() for fault in wheel_checks.faults(wheel)] == []


def test_a_bad_wheel_is_found(tmp_path):
    wheel = WHEELS["tensorcast"]

    def said(**changes):
        return "\n".join(wheel_checks.faults(altered(wheel, tmp_path, **changes)))

    assert "the notice of nanobind is not in it" in said(leave_out=["licenses/nanobind.txt"])
    assert "the notice of LICENSE is not in it" in said(leave_out=["licenses/LICENSE"])
    assert re.search(r"_core\S+ needs libhwy", said(leave_out=["tensorcast.libs/libhwy"]))
    older = re.sub("manylinux_2_[0-9]+", "manylinux_2_17", wheel.name)
    assert "needs glibc (2, " in said(name=older) and "the tag says (2, 17)" in said(name=older)
    arm = wheel.name.replace("x86_64", "aarch64")
    assert "is for EM_X86_64, and the tag says EM_AARCH64" in said(name=arm)
    for other in (arm, wheel.name.replace("cp311-cp311", "cp312-abi3")):
        assert re.search(r"_core\S+-x86_64-linux-gnu.so is not imported by the Pythons of the tag", said(name=other))
    assert re.search(r"_core\S+ does not load where pages have 64 KiB", said(name=arm))
    assert "no tag of manylinux" in said(name="tensorcast-0.1.0-cp311-cp311-linux_x86_64.whl")
    assert "nothing in it is compiled" in said(leave_out=[".so"])
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        page = archive.read(metadata) + b"\n[stability](docs/stability.md)\n"
    assert "has 1 links that lead nowhere from PyPI, docs/stability.md first" in said(instead={"METADATA": page})
    assert "4 are the most" in "\n".join(wheel_checks.faults(wheel, most_bytes=4))
    assert "libstdc++.so.6" in "\n".join(wheel_checks.faults(wheel, no_library_beside=True))
    command = WHEELS["tensorcast-cli"]
    tied = altered(command, tmp_path, name=command.name.replace("py3-none", "cp311-cp311"))
    assert "its tag names one" in "\n".join(wheel_checks.faults(tied))


def test_a_readme_without_its_heading_is_no_page(monkeypatch, tmp_path):
    (tmp_path / "README.md").write_text("# tensorcast\n", encoding="utf-8")
    for needed in ("pyproject.toml", "include/tensorcast/version.h"):
        (tmp_path / needed).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / needed, tmp_path / needed)
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="has no heading 'Install it'"):
        tree.readme()

"""The installed package: its command, documentation, doctests, stubs and examples.

SPDX-License-Identifier: Apache-2.0
"""
import ast
import ctypes
import doctest
import graphlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import tarfile
import warnings

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import tensorcast as tc

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = sorted(module.name for module in pkgutil.walk_packages(tc.__path__, "tensorcast."))


def test_it_is_the_installed_one():
    assert ROOT / "python" not in pathlib.Path(tc.__file__).parents
    assert importlib.metadata.version("tensorcast") == tc.__version__


def test_the_command():
    command = pathlib.Path(sys.prefix) / "bin" / "tensorcast"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"tensorcast {tc.__version__}")
    done = subprocess.run([command, "explain", "0.1", "--to", "bfloat16"], capture_output=True,
                          text=True, check=True)
    assert "0.10009765625" in done.stdout


def test_the_package_is_the_command_too():
    told = [subprocess.run([*line, "explain", "0.1", "--json"], capture_output=True, text=True, check=True).stdout
            for line in ([pathlib.Path(sys.prefix) / "bin" / "tensorcast"], [sys.executable, "-m", "tensorcast"])]
    assert told[0] == told[1]
    done = subprocess.run([sys.executable, "-m", "tensorcast", "inspect", "nothing.npy"], capture_output=True, text=True)
    assert done.returncode == 4 and "nothing.npy" in done.stderr


def test_its_sources_compile_without_warnings():
    """A newer Python shows them to whoever installs the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in pathlib.Path(tc.__file__).parent.rglob("*.py"):
            compile(path.read_text(encoding="utf-8"), path, "exec")


def test_the_source_distribution_is_whole(tmp_path):
    """All that a build needs is in it, and nothing else is."""
    program = f"from scikit_build_core import build; print(build.build_sdist({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    for folder in ("cmake", "include", "programs", "python", "src"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert path.relative_to(ROOT).as_posix() in held
    assert {name.partition("/")[0] for name in held} == {
        "CHANGELOG.md", "CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "cmake", "include",
        "programs", "pyproject.toml", "python", "src"}


def test_it_needs_no_library_beside_it():
    """The extension finds what auditwheel bundled, and the system's runtime."""
    (extension,) = pathlib.Path(tc.__file__).parent.glob("_core*.so")
    said = subprocess.run(["ldd", extension], capture_output=True, text=True, check=True).stdout
    assert "not found" not in said
    own = [line for line in said.splitlines() if re.search("hwy|yaml|pcre2", line)]
    assert own and all("tensorcast.libs" in line for line in own), own
    assert "tbb" not in said  # whose threads would not outlive a fork


def imported_by(name):
    """The package's own modules that one imports, in its functions and for its types too, with the packages
    on the way to them that are not on the way to itself."""
    spec = importlib.util.find_spec(name)
    if not spec.origin.endswith(".py"):
        return set()
    names = set()
    for node in ast.walk(ast.parse(pathlib.Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = name if spec.submodule_search_locations else spec.parent
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names |= {each if each in MODULES else base for each in (f"{base}.{alias.name}" for alias in node.names)}
    own = {name for name in names if name.partition(".")[0] == "tensorcast"}
    parts = [name.split(".") for name in own]
    ways = {".".join(each[:length]) for each in parts for length in range(1, len(each))}
    return own | {way for way in ways if not f"{name}.".startswith(f"{way}.")}


def test_no_module_imports_another_in_a_circle():
    imports = {name: imported_by(name) for name in ["tensorcast", *MODULES]}
    assert "tensorcast.texts" in imports["tensorcast.casting"] and sum(map(len, imports.values())) > 80
    tuple(graphlib.TopologicalSorter(imports).static_order())  # raises where there is one


# Those that import torch, whose examples tests/clients/check_torch_op.py runs.
OF_TORCH = ["tensorcast.torch", "tensorcast.torch_op"]


@pytest.mark.parametrize("name", ["tensorcast", *sorted({*MODULES} - {*OF_TORCH})])
def test_doctests(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_an_import_brings_what_casts_need_alone():
    program = """import sys, tensorcast as tc
later = {f"tensorcast.{name}" for name in ("conversion", "diffing", "files", "graph", "mdf", "onnx", "ray", "saving")}
tc.loss(tc.cast([1.5], "int8"), "float16")
assert not later & {*sys.modules}, later & {*sys.modules}
for name in dir(tc):
    assert getattr(tc, name) is getattr(tc, name), name
assert later <= {*sys.modules}"""
    subprocess.run([sys.executable, "-c", program], check=True)
    with pytest.raises(AttributeError, match="module 'tensorcast' has no attribute 'conver'"):
        tc.conver  # noqa: B018


def test_everything_public_is_documented():
    for module in (tc, tc.onnx, tc.graph, tc.ray):
        builtins = ["format", "open"] if module is tc else []  # `import *` leaves Python's own
        for name in [*module.__all__, *builtins]:
            thing = getattr(module, name)
            assert inspect.getdoc(thing), name
            if inspect.isclass(thing) and thing.__module__.startswith("tensorcast"):
                assert inspect.getdoc(thing) != inspect.getdoc(object)


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is here")
def test_what_needs_torch_says_so():
    for name in OF_TORCH:
        with pytest.raises(ImportError, match="tensorcast.torch needs torch, which cannot be imported"):
            importlib.import_module(name)


def public_functions():
    """Functions and methods with what they take, by name; those that onnx has are onnx's."""
    for module in (tc, tc.onnx, tc.graph, tc.mdf, tc.ray):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing
            elif inspect.isclass(thing) and not issubclass(thing, Exception):
                for key in vars(thing):
                    if key[0] != "_" and inspect.isroutine(getattr(thing, key)):
                        yield f"{module.__name__}.{name}.{key}", getattr(thing, key)


def test_documentation_says_what_is_raised_and_shows_an_example():
    found = list(public_functions())
    assert len(found) > 40
    for name, function in found:
        text = inspect.getdoc(function) or ""
        takes = {*inspect.signature(function).parameters} - {"self"}
        assert not takes or re.search("[Rr]aises", text), name
        is_method = "." in function.__qualname__
        assert not takes or is_method or ">>> " in text, name
    for each in (tc.LossReport, tc.Outputs, tc.Plan, tc.TensorFile, tc.finfo, tc.onnx.Backend,
                 tc.graph.Graph, tc.graph.Session):
        assert ">>> " in inspect.getdoc(each), each


def test_the_signature_of_cast_is_its_own():
    signature = inspect.signature(tc.cast)
    from tensorcast import casting

    assert list(signature.parameters) == list(inspect.signature(casting.cast).parameters)
    assert "Parameters" in tc.cast.__doc__ and "Raises" in tc.cast.__doc__


def test_the_stubs_and_examples_are_typed(tmp_path):
    """mypy --strict over the package as it is installed, and over the examples."""
    for what in (["-p", "tensorcast"], EXAMPLES):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, *what],
                              capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stdout


EXAMPLES = [str(path) for path in (ROOT / "examples" / "python").glob("*.py") if path.stem in ("cast", "many_processes", "ray_convert")]


def example(name, *arguments):
    """What an example prints where nothing but the package is installed."""
    environment = {key: value for key, value in os.environ.items() if key != "TENSORCAST_LIBRARY"}
    done = subprocess.run([sys.executable, ROOT / "examples" / "python" / name, *arguments], capture_output=True,
                          text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_examples_run():
    """All of docs/, with the package alone; test_mdf.py, test_outputs.py and test_ray.py run the others."""
    expected = (ROOT / "examples" / "expected_output.txt").read_text(encoding="utf-8")
    assert "448.0" in expected
    assert example("cast_ctypes.py") == expected  # as in every language
    lines = example("cast.py").splitlines()
    assert lines[:3] == expected.splitlines()[:3] and lines[3] == 'x[2] is "half", which is not a number'
    assert example("onnx_backend.py") == "0.1015625 448.0 448.0 -0.0\n"
    others = {path.name for path in (ROOT / "examples" / "python").glob("*.py")}
    # transformers_model.py is tests/clients/check_transformers.py's, the other three are of tests of their own.
    assert others == {"cast.py", "cast_ctypes.py", "checkpoints.py", "many_processes.py", "mdf_casts.py", "onnx_backend.py",
                      "ray_convert.py", "transformers_model.py"}


def fp8_model():
    """DeepSeek's layout: codes, and for each block of 128 x 128 a scale; a norm; the values."""
    rng = np.random.default_rng(2)
    codes = rng.standard_normal((256, 128)).astype(ml_dtypes.float8_e4m3fn)
    scales = np.float32([[3 / 256], [2]])
    values = np.repeat(scales.astype(np.float64), 128, 0) * codes.astype(np.float64)
    tensors = {"model.layers.0.mlp.up_proj.weight": codes, "model.layers.0.mlp.up_proj.weight_scale_inv": scales}
    return tensors, {"quant_method": "fp8", "weight_block_size": [128, 128]}, values


def gptq_model():
    """GPTQ's: eight codes of four bits in a word down a column, groups of 32, zero points of 8."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 16, (128, 256))
    scales = rng.uniform(0.01, 1, (4, 256)).astype(np.float16)
    words = (codes.reshape(16, 8, 256) << (4 * np.arange(8))[:, None]).sum(1).astype(np.uint32).view(np.int32)
    values = ((codes - 8) * np.repeat(scales.astype(np.float64), 32, 0)).T
    layer = "model.layers.0.mlp.up_proj."
    tensors = {layer + "qweight": words, layer + "scales": scales, layer + "qzeros": np.full((4, 32), 0x77777777, np.int32)}
    return tensors, {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True, "desc_act": False}, values


@pytest.mark.parametrize("make", [fp8_model, gptq_model])
def test_the_example_of_checkpoints(tmp_path, make):
    tensors, config, values = make()
    source, target, name = tmp_path / "in", tmp_path / "out", "model.layers.0.mlp.up_proj.weight"
    source.mkdir()
    tc.save_file({**tensors, "model.norm.weight": np.ones(64, np.float32)}, source / "model.safetensors")
    (source / "config.json").write_text(json.dumps({"model_type": "llama", "torch_dtype": "bfloat16", "quantization_config": config}))
    said = example("checkpoints.py", source, target).splitlines()
    assert said[0].startswith(f"{name} is ") and said[1].startswith(f"{name}: SNR ") and "model.norm.weight: SNR inf" in said[2]
    plain = safetensors.numpy.load_file(target / "model.safetensors")
    # Products of a few bits are float32's, from which numpy rounds to bfloat16 once.
    wanted = values.astype(np.float32).astype(ml_dtypes.bfloat16)
    assert np.array_equal(values.astype(np.float32), values) and np.array_equal(plain[name], wanted)
    assert "quantization_config" not in json.loads((target / "config.json").read_text())
    with tc.open(f"{target}-fp8") as f:
        again = f.get_tensor(name, to="float32")
    assert np.abs(again - wanted.astype(np.float32) * 2).max() <= np.abs(wanted.astype(np.float32)).max() * 2 / 28 + 1e-6


def test_the_c_interface_is_there():
    """Every function of the headers, by the package's own library, and nothing else of the library."""
    library = ctypes.CDLL(tc.c_library())
    declared = set()
    for header in (ROOT / "include" / "tensorcast").glob("*.h"):
        declared.update(re.findall(r"TENSORCAST_CALL\s+(tensorcast_\w+)\(", header.read_text(encoding="utf-8")))
    assert len(declared) > 100
    for name in declared:
        getattr(library, name)
    said = subprocess.run(["nm", "-D", "--defined-only", tc.c_library()], capture_output=True, text=True, check=True)
    exported = {line.split()[-1] for line in said.stdout.splitlines()}
    assert exported == declared | {"PyInit__core"}
    library.tensorcast_executor_create.argtypes = [ctypes.c_uint32, ctypes.c_void_p]
    assert library.tensorcast_executor_create(1, ctypes.byref(ctypes.c_void_p())) == 19  # TENSORCAST_NO_THREADS


def test_the_notebook_runs(tmp_path):
    import nbclient
    import nbformat

    book = nbformat.read(ROOT / "examples" / "python" / "tour.ipynb", as_version=4)
    kept = [cell.get("outputs") for cell in book.cells]
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    texts = [[out.get("text") or out.get("data", {}).get("text/plain") for out in cell.get("outputs", [])
              if "image/png" not in out.get("data", {})] for cell in book.cells]
    want = [[out.get("text") or out.get("data", {}).get("text/plain") for out in outputs or []
             if "image/png" not in out.get("data", {})] for outputs in kept]
    assert texts == want  # what is kept is what runs

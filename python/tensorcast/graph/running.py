"""A `Session` runs a graph or a model, and a graph also backward.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core, arrays
from ..arguments import flag
from ..errors import ArgumentError, KindError
from ..models import ValueInfo, ordered_tensors, source_of
from ..types import Array
from .building import Graph


class Session:
    """A graph made ready to run, which later changes to the graph do not affect; `load` makes one from a model.

    Any number of threads may run a session. Runs of a model's session overlap; others wait for each other.

    Parameters
    ----------
    graph : Graph
    backward : bool
        Allow `backward` to be called.
    differentiable : {"usual", "wide"}
        The types that have derivatives: float16, float32, float64 and bfloat16, or the narrower floats
        too.
    gives_zeros : bool
        An input that no gradient reaches gets a gradient of zeros instead of None.

    Attributes
    ----------
    inputs, outputs : list of ValueInfo
    profile : list of dict
        A dict for each node, from the last run that was asked for a profile.

    Raises
    ------
    ArgumentError
        The graph has no output.

    Examples
    --------
    >>> import numpy as np
    >>> import tensorcast as tc
    >>> graph = tc.graph.Graph()
    >>> x = graph.add_input("x", "float32")
    >>> graph.mark_output(graph.cast(x, "float16", lda_coeff=0.5), "y")
    >>> session = tc.graph.Session(graph, backward=True)
    >>> session.run([np.float32([0.1, 2])])["y"]
    array([0.1, 2. ], dtype=float16)
    >>> session.backward([np.float16([1, 3])])["x"]
    array([0.5, 1.5], dtype=float32)
    """

    def __init__(self, graph: Graph, *, backward: bool = False, differentiable: str = "usual",
                 gives_zeros: bool = False) -> None:
        if differentiable not in ("usual", "wide"):
            raise ArgumentError("differentiable must be 'usual' or 'wide'")
        if not isinstance(graph, Graph):
            raise KindError(f"a session is made from a Graph, not from {type(graph).__name__}")
        self._hold(_core.Session(graph._core, flag(backward, "backward"), differentiable == "wide",
                                 flag(gives_zeros, "gives_zeros")), is_of_model=False)

    def _hold(self, core: _core.Session, is_of_model: bool) -> None:
        self._core = core
        self._is_of_model = is_of_model
        self._lock = threading.Lock()  # one thread at a time uses what is bound
        self.inputs = [ValueInfo(*info) for info in self._core.inputs()]
        self.outputs = [ValueInfo(*info) for info in self._core.outputs()]
        self.profile: list[dict[str, Any]] = []

    @staticmethod
    def load(model: Any, *, optimize: bool = False, contradictions: str = "text",
             allow_hard_links: bool = False) -> Session:
        """Checks a whole model and makes it ready to run. It does not run backward, and ranks that the model
        declares are not enforced.

        Parameters
        ----------
        model : path, bytes or onnx.ModelProto
            A model of Cast, CastLike, Identity, Constant and functions of these. External data is read only
            if it is given as a path.
        optimize : bool
            Run it without the Casts that `tensorcast.onnx.optimize` takes out.
        contradictions : {"text", "tests"}
            Which one to follow where an operator's text and the official tests of its opset contradict
            each other.
        allow_hard_links : bool
            Read the model's data also from files that have hard links.

        Raises
        ------
        FileError, ContentsError, UnsupportedError
            It cannot be read; it is not a valid model; it has another operator.

        Examples
        --------
        >>> import numpy as np
        >>> import tensorcast as tc
        >>> graph = tc.graph.Graph()
        >>> x = graph.add_input("x", "float32", [None])
        >>> graph.mark_output(graph.cast(x, "float8_e4m3fn"), "y")
        >>> session = tc.graph.Session.load(graph.serialize())
        >>> print(session.run({"x": np.float32([0.1, 512])})["y"])
        [0.101562 448]
        """
        if contradictions not in ("text", "tests"):
            raise ArgumentError("contradictions must be 'text' or 'tests'")
        session = Session.__new__(Session)
        session._hold(_core.Session.load(source_of(model), contradictions == "tests",
                                         flag(allow_hard_links, "allow_hard_links"),
                                         flag(optimize, "optimize")), is_of_model=True)
        return session

    @property
    def opset(self) -> int:
        """The opset of ai.onnx; 0 for a model that imports none."""
        return int(self._core.opset())

    def run(self, inputs: Mapping[str, Any] | Sequence[Any], *,
            outputs: Sequence[str] | None = None, threads: int | None = None,
            profile: bool = False) -> dict[str, Array]:
        """Runs the graph or model on arrays.

        Parameters
        ----------
        inputs : mapping of str to array_like, or sequence
            Arrays by name or in order, of the declared types, as `tensorcast.cast` takes them. Inputs that
            are left out, or None, take their defaults.
        outputs : sequence of str, optional
            Make only these, and run only what they need.
        threads : int, optional
            As in `tensorcast.cast`.
        profile : bool
            The attribute `profile` then says what each node took.

        Returns
        -------
        dict of str to numpy.ndarray
            Narrow elements take a byte each, and strings are objects.

        Raises
        ------
        ArgumentError
            An input is missing or of another type, a name is unknown, or a text is not a number.
        KindError
        """
        names = [info.name for info in self.outputs]
        if isinstance(outputs, (str, bytes)):
            raise KindError("outputs must be a sequence of names, not a single name")
        wanted = names if outputs is None else list(outputs)
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise ArgumentError(f"there is no output {unknown[0]!r}: there are {names}")
        tensors = ordered_tensors(inputs, self.inputs, "input")
        shared = self._is_of_model and outputs is None
        indices = None if shared else [names.index(name) for name in wanted]
        with contextlib.nullcontext() if shared else self._lock:
            made, took = self._core.run(tensors, indices, arrays.thread_count(threads),
                                        flag(profile, "profile"))
        if profile:
            self.profile = took
        return dict(zip(wanted, made, strict=True))

    def backward(self, gradients: Mapping[str, Any] | Sequence[Any], *, threads: int | None = None,
                 ) -> dict[str, Array | None]:
        """Computes the inputs' gradients from the outputs', after a run. docs/graphs.md has the rule.

        Parameters
        ----------
        gradients : mapping of str to array_like, or sequence
            Gradients of outputs, of the types and shapes that these had in the last run. An output that is
            left out has none.
        threads : int, optional
            As in `tensorcast.cast`.

        Returns
        -------
        dict of str to numpy.ndarray or None
            For each input a gradient of its type and shape, or None if no gradient reaches it.

        Raises
        ------
        ArgumentError
            It has not run, or a gradient has another type or shape than its output.
        UnsupportedError
            The session was not made with ``backward=True``.
        """
        tensors = ordered_tensors(gradients, self.outputs, "gradient")
        with self._lock:
            made = self._core.backward(tensors, arrays.thread_count(threads))
        return {info.name: array for info, array in zip(self.inputs, made, strict=True)}

"""Graphs of casts: built node by node or loaded, then changed, saved, run, and run backward.

docs/graphs.md is the guide, also to the same graphs in C++ and C.

SPDX-License-Identifier: Apache-2.0
"""

from .building import Graph, Node, Value, ValueDetails
from .running import Session

__all__ = ["Graph", "Node", "Session", "Value", "ValueDetails"]

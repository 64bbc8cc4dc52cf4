#!/usr/bin/env python3
"""The tables of ONNX's facts (src/protobuf/onnx_fields.h, src/graph/operator_versions.cc) against the
package onnx, and docs/onnx.md against them.

    check_onnx_facts.py PRINT_ONNX_FACTS DOCS_ONNX_MD

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys

import onnx
import onnx.defs
from onnx import AttributeProto, TensorProto
from google.protobuf.descriptor import FieldDescriptor

WIRE_TYPES = {
    FieldDescriptor.TYPE_INT32: 0, FieldDescriptor.TYPE_INT64: 0, FieldDescriptor.TYPE_UINT64: 0,
    FieldDescriptor.TYPE_ENUM: 0, FieldDescriptor.TYPE_DOUBLE: 1, FieldDescriptor.TYPE_FLOAT: 5,
    FieldDescriptor.TYPE_STRING: 2, FieldDescriptor.TYPE_BYTES: 2, FieldDescriptor.TYPE_MESSAGE: 2,
}
# Opset 28 is newer than the package: its rows are held by the operator's text alone.
NEWEST = onnx.defs.onnx_opset_version()
# What the text of the operators says of values, by version: docs/semantics.md quotes it.
EXCEPTIONS = [
    # What the checker refuses and the official models of onnx 1.1.2 have: text at opset 6.
    ("Cast", 6, "last_text_opset", 6),
]


def facts(command):
    """The printed facts by kind."""
    lines = subprocess.run([command], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in lines.splitlines():
        kind, *rest = line.split("\t")
        found.setdefault(kind, []).append(rest)
    return found


class Report:
    """Counts what is compared and says what differs."""

    def __init__(self):
        self.compared = 0
        self.wrong = 0

    def same(self, what, here, there):
        self.compared += 1
        if here != there:
            self.wrong += 1
            print(f"{what}: {here} here, {there} there")


def message(name):
    """The descriptor of "TypeProto.Tensor" and its kin."""
    outer, *inner = name.split(".")
    found = getattr(onnx, outer).DESCRIPTOR
    for part in inner:
        found = found.nested_types_by_name[part]
    return found


def is_repeated(field):
    """Protobuf's Python took `label` away in favour of `is_repeated`."""
    if hasattr(field, "is_repeated"):
        return field.is_repeated
    return field.label == FieldDescriptor.LABEL_REPEATED


def check_fields(rows, report):
    for owner, name, number, wire_type, repeated in rows:
        field = message(owner).fields_by_name.get(name)
        there = None
        if field is not None:
            there = (field.number, WIRE_TYPES[field.type], is_repeated(field))
        report.same(f"{owner}.{name}", (int(number), int(wire_type), repeated == "1"), there)


def schemas(op):
    """Of each version of an operator its schema."""
    return {schema.since_version: schema for schema in onnx.defs.get_all_schemas_with_history()
            if schema.name == op and schema.domain == ""}


def types_of(schema):
    """The numbers of the types that the schema's first input may have."""
    allowed = next(c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == "T1")
    return sorted(number_of(text) for text in allowed)


def number_of(text):
    """ "tensor(float16)" as TensorProto.DataType has it."""
    return TensorProto.DataType.Value(re.fullmatch(r"tensor\((\w+)\)", text)[1].upper())


def check_versions(rows, report):
    for op in ("Cast", "CastLike"):
        there = schemas(op)
        here = {int(since): rest for name, since, *rest in rows if name == op}
        report.same(f"the versions of {op} up to opset {NEWEST}",
                    sorted(v for v in here if v <= NEWEST), sorted(there))
        for since, (types, saturate, round_mode, is_int, last_text) in here.items():
            schema = there.get(since)
            if schema is None:
                continue
            what = f"{op}-{since}"
            report.same(f"{what}'s types", [int(n) for n in types.split()], types_of(schema))
            report.same(f"{what}'s saturate", saturate == "1", "saturate" in schema.attributes)
            report.same(f"{what}'s round_mode", round_mode == "1",
                        "round_mode" in schema.attributes)
            if op == "CastLike":
                continue
            to_is_int = schema.attributes["to"].type == onnx.defs.OpSchema.AttrType.INT
            report.same(f"{what}'s to", is_int == "1", to_is_int)
            text_up_to = 0 if to_is_int else min(v for v in there if v > since) - 1
            for name, version, key, value in EXCEPTIONS:
                if (name, version, key) == (op, since, "last_text_opset"):
                    text_up_to = value
            report.same(f"{what}'s to as text", int(last_text), text_up_to)


def check_identity(rows, report):
    """Whether Identity has a type from the opset on in which Cast has it."""
    for number, first, takes in rows:
        if int(first) > NEWEST:
            continue
        name = TensorProto.DataType.Name(int(number)).lower()
        for since in [int(first), *(v for v in schemas("Identity") if v > int(first))]:
            schema = onnx.defs.get_schema("Identity", since)
            there = f"tensor({name})" in schema.type_constraints[0].allowed_type_strs
            report.same(f"Identity-{since} of {name}", takes == "1", there)


def check_constant(rows, report):
    there = {}
    for since, schema in sorted(schemas("Constant").items()):
        for name, attribute in schema.attributes.items():
            there.setdefault(name, (attribute.type.name, since))
    here = {name: (AttributeProto.AttributeType.Name(int(number)), int(since))
            for name, number, since in rows}
    report.same("Constant's attributes", here, there)


def check_attribute_types(rows, report):
    there = {number: name for name, number in AttributeProto.AttributeType.items() if number != 0}
    report.same("the kinds of attributes", {int(number): name for number, name in rows}, there)


def check_unknown_types(rows, report):
    for number, onnx_name in rows:
        report.same(f"the number of {onnx_name}", int(number), TensorProto.DataType.Value(onnx_name))


def check_types(rows, report):
    for number, _, onnx_name in rows:
        if onnx_name in TensorProto.DataType.keys():
            report.same(f"the number of {onnx_name}", int(number),
                        TensorProto.DataType.Value(onnx_name))


def documented(path):
    """The rows of docs/onnx.md's table of opsets: cells by the version of Cast."""
    text = open(path, encoding="utf-8").read()
    table = text.split("| opset | Cast |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    rows = {}
    for line in table:
        opsets, version, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[int(version)] = (opsets, *cells)
    return text, rows


def expand(options, before):
    """The options cell of a row, "the same" put in words."""
    return options.replace("the same", before).replace("`", "").replace("; ", " ")


def check_docs(path, found, report):
    text, rows = documented(path)
    names = {int(number): name for number, name, _ in found["type"]}
    casts = [(int(since), rest) for op, since, *rest in found["version"] if op == "Cast"]
    report.same("docs: the versions of Cast", sorted(rows), [since for since, _ in casts])
    known, before, had = set(), "", [False, False]
    for i, (since, (types, saturate, round_mode, _, _)) in enumerate(casts):
        opsets, type_cell, attributes, options = rows[since]
        report.same(f"docs, Cast-{since}: first opset", int(re.match(r"\d+", opsets)[0]), since)
        last = casts[i + 1][0] - 1 if i + 1 < len(casts) else None
        ends = [int(n) for n in re.findall(r"\d+", opsets)]
        report.same(f"docs, Cast-{since}: last opset",
                    None if "later" in opsets else ends[-1], last)
        numbers = {int(n) for n in types.split()}
        report.same(f"docs, Cast-{since}: how many types", int(re.match(r"\d+", type_cell)[0]),
                    len(numbers))
        added = {names[n] for n in numbers - known}
        if known:
            listed = type_cell.split("+", 1)[1] if "+" in type_cell else ""
            report.same(f"docs, Cast-{since}: added types",
                        {t.strip() for t in listed.split(",") if t.strip()}, added)
        else:
            listed = re.sub(r"\(u\)int8 to \(u\)int64",
                            ", ".join(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)),
                            type_cell.split(":", 1)[1])
            report.same(f"docs, Cast-{since}: types", {t.strip() for t in listed.split(",")}, added)
        known = numbers
        has = [saturate == "1", round_mode == "1"]
        for j, name in enumerate(("saturate", "round_mode")):
            report.same(f"docs, Cast-{since}: + {name}", f"+ `{name}`" in attributes,
                        has[j] and not had[j])
        had = has
        of_all = {n: o for s, n, o in found["options"] if int(s) == since and int(n) in numbers}
        words = {word for options_text in of_all.values() for word in options_text.split()}
        written = expand(options, before)
        report.same(f"docs, Cast-{since}: options",
                    {w for w in written.split() if "=" in w}, words)
        narrow = {names[int(n)] for n, o in of_all.items() if "integer_overflow" in o}
        if narrow:
            report.same(f"docs, Cast-{since}: whose integers saturate", narrow, {"uint4", "int4"})
        before = written
    like = [int(since) for op, since, *_ in found["version"] if op == "CastLike"]
    listed = re.search(r"\(versions ([\d, and]+)\)", text)[1]
    report.same("docs: the versions of CastLike", [int(n) for n in re.findall(r"\d+", listed)],
                like)


def main():
    found = facts(sys.argv[1])
    report = Report()
    check_fields(found["field"], report)
    check_versions(found["version"], report)
    check_identity(found["identity"], report)
    check_constant(found["constant"], report)
    check_attribute_types(found["attribute_type"], report)
    check_types(found["type"], report)
    check_unknown_types(found["unknown_type"], report)
    check_docs(sys.argv[2], found, report)
    print(f"{report.compared} facts compared, {report.wrong} wrong")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""An FMU of FMI 3.0 as a master of FMI 2.0 sees it: scalar variables.

Each element of an array is a variable, r[2] or A[1,2], in row-major order; all floating-point types are Real, and all
whole-number types Integer. Binary values, clocks, arrays of texts and very large arrays keep their type, which FMI 2.0
does not have, so that a master can leave them out and name them. Events lie within steps, unless `Events` steps over
them.
"""

import math
from copy import copy
from ctypes import c_int8, c_int16, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64
from itertools import product
from typing import Any, NamedTuple

LARGEST = 10_000
"""Largest number of elements of an array whose elements are variables."""
MOST = 50_000
"""Largest number of elements of all arrays of an FMU together."""
WHOLE: dict[str, Any] = {
    "Int8": c_int8, "Int16": c_int16, "Int32": c_int32, "Int64": c_int64,
    "UInt8": c_uint8, "UInt16": c_uint16, "UInt32": c_uint32, "UInt64": c_uint64,
}  # fmt: skip
"""Types of FMI 3.0 whose values are whole numbers, with those of C."""
WIDE = ("Int64", "UInt64")
"""Types of FMI 3.0 whose numbers a floating-point number cannot always hold."""
TYPES = {"Float64": "Real", "Float32": "Real", **dict.fromkeys(WHOLE, "Integer")}
"""Types of FMI 2.0 for those of FMI 3.0 that it does not have."""
SAME = ("Boolean", "String", "Enumeration")
"""Types that FMI 2.0 and FMI 3.0 both have."""


class ScalarIndex(NamedTuple):
    """An index that stands in for the value reference of a scalar.

    Args:
        type: type whose functions get and set the variable.
        reference: its value reference.
        size: its number of elements.
        element: number of the element, from 0.
    """

    type: str
    reference: int
    size: int
    element: int


def scalars(description: Any) -> Any:
    """Return FMPy's description of an FMU of FMI 3.0 with scalar variables; another version's is returned as it is.

    An alias is a local variable: the variable itself is the one to set.

    Raises:
        ValueError: an array has neither one start value nor one for each element.
    """
    if not description.fmiVersion.startswith("3."):
        return description
    total, elements = 0, []
    for variable in description.modelVariables:
        size = math.prod(variable.shape)
        scalar = size <= LARGEST and (size == 1 or total + size <= MOST)
        total += size if scalar else 0
        elements.append(_elements(variable) if scalar else [copy(variable)])
    of = {id(variable): items for variable, items in zip(description.modelVariables, elements, strict=True)}
    for variable, items in zip(description.modelVariables, elements, strict=True):
        if variable.derivative is not None:
            states = of[id(variable.derivative)]
            for index, item in enumerate(items):
                item.derivative = states[index] if len(states) == len(items) else None
    result = copy(description)
    result.modelVariables = [item for items in elements for item in items]
    return result


def _elements(variable: Any) -> list[Any]:
    """Return the scalars of a variable; one of a type that FMI 2.0 does not have is returned as it is."""
    size = math.prod(variable.shape)
    if variable.type not in (*TYPES, *SAME) or (variable.shape and variable.type == "String"):
        return [copy(variable)]
    starts = (variable.start or "").split() if variable.type != "String" else [variable.start]
    if len(starts) not in (0, 1, size):
        raise ValueError(f"'{variable.name}' has {size} elements but {len(starts)} start values")
    before, after = (variable.name[:-1], ")") if variable.name.endswith(")") else (variable.name, "")
    elements = []
    for index, indices in enumerate(product(*(range(1, n + 1) for n in variable.shape))):
        item = copy(variable)
        item.name = f"{before}[{','.join(map(str, indices))}]{after}" if indices else variable.name
        item.type = TYPES.get(variable.type, variable.type)
        item.start = starts[index if len(starts) > 1 else 0] if starts else None
        item.valueReference = ScalarIndex(_of_functions(variable.type), variable.valueReference, size, index)
        item.shape, item.causality = (), variable.causality if variable.alias is None else "local"
        elements.append(item)
    return elements


def _of_functions(kind: str) -> str:
    """Return the type whose functions serve for a type of FMI 3.0."""
    return "Int64" if kind == "Enumeration" else kind


def fits(index: Any, value: Any) -> bool:
    """Return whether a value is within the type of a scalar index, or of FMI 2.0, whose whole numbers have 32 bits."""
    if not isinstance(index, ScalarIndex):
        return not isinstance(value, int) or -(2**31) <= value < 2**31
    return index.type not in WHOLE or bool(WHOLE[index.type](value).value == value)


def starts_of(description: Any) -> list[tuple[int, list[Any]]]:
    """Return value references of variables with the start values of all their elements, from scalar variables."""
    starts: dict[int, list[Any]] = {}
    for item in description.modelVariables:
        if isinstance(item.valueReference, ScalarIndex) and item.start is not None and item.alias is None:
            starts.setdefault(item.valueReference.reference, []).append(value_of(item.type, item.start))
    return list(starts.items())


def value_of(kind: str, text: str) -> Any:
    """Return a start value of a type of FMI 2.0."""
    if kind == "Real":
        return float(text)
    if kind == "Boolean":
        return text in ("true", "1")
    return text if kind == "String" else int(text)

"""What the rules on what an FMU does must know of it, as JSON data for the process in which it runs."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import fmpy
import numpy as np

from mbfmu.fmi.description import Fmu, FmuDescription, claims
from mbfmu.fmi.description3 import CLOCK, Fmu3, Variable3
from mbfmu.fmi.scalars import ScalarIndex, scalars, starts_of

STEP = 0.01
"""Step size in seconds for an FMU that prefers none."""

SPAN = 1.0
"""Seconds an FMU without a stop time is integrated for."""

FLAGS = (
    "canGetAndSetFMUstate",
    "canSerializeFMUstate",
    "canHandleVariableCommunicationStepSize",
    "canBeInstantiatedOnlyOncePerProcess",
    "canInterpolateInputs",
    "canNotUseMemoryManagementFunctions",
    "providesDirectionalDerivative",
)
"""Capability flags of FMI 2.0 that rules ask for."""

FLAGS3 = (
    "providesAdjointDerivatives",
    "providesPerElementDependencies",
    "hasEventMode",
    "mightReturnEarlyFromDoStep",
    "canReturnEarlyAfterIntermediateUpdate",
    "providesIntermediateUpdate",
)
"""Capability flags that FMI 3.0 has and FMI 2.0 does not, which rules ask for."""

STARTING = ("parameter", "input")
"""Causalities whose start values hold, whatever initialisation computes."""


def job_of(fmu: FmuDescription, element: Any, folder: Path) -> dict[str, Any]:
    """Gather what probe/ must know of an FMU of any version."""
    if isinstance(fmu, Fmu):
        return _job(fmu, element, folder)
    assert isinstance(fmu, Fmu3)
    return _job3(fmu, element, folder)


def _common(fmu: FmuDescription, element: Any, folder: Path) -> dict[str, Any]:
    """Gather what probe/ must know of an FMU, whatever its version."""
    experiment = fmu.experiment
    return {
        "folder": str(folder),
        "version": fmu.version,
        "identifier": element.get("modelIdentifier"),
        "start": experiment.get("startTime", 0.0),
        "step": _step(element, experiment),
        "stop": experiment.get("stopTime", experiment.get("startTime", 0.0) + SPAN),
        "tolerance": experiment.get("tolerance"),
        "categories": [item.get("name") for item in fmu.root.iterfind("LogCategories/Category")],
    }


def _job3(fmu: Fmu3, element: Any, folder: Path) -> dict[str, Any]:
    """Gather what probe/ must know of an FMU of FMI 3.0, with scalar variables."""
    try:
        whole = fmpy.read_model_description(BytesIO(fmu.archive.data), validate=False)
        scalar = scalars(whole)
    except Exception as error:  # noqa: BLE001 - FMPy raises bare exceptions
        raise ValueError(str(error)) from None
    indices: dict[int, list[ScalarIndex]] = {}
    outputs: dict[str, dict[str, ScalarIndex]] = {}
    variables = []
    for v in scalar.modelVariables:
        if isinstance(v.valueReference, ScalarIndex) and v.alias is None and not v.clocks:
            base = "Integer" if v.type == "Enumeration" else v.type
            indices.setdefault(v.valueReference.reference, []).append(v.valueReference)
            if v.causality == "output" and base != "String":
                outputs.setdefault(base, {})[v.name] = v.valueReference
            variables.append(_variable3(v, base))
    pairs = [(unknown.variable.derivative, unknown.variable) for unknown in whole.derivatives]
    spelled = {"canGetAndSetFMUstate": "canGetAndSetFMUState", "canSerializeFMUstate": "canSerializeFMUState",
               "providesDirectionalDerivative": "providesDirectionalDerivatives"}  # fmt: skip
    entries = [entry for kind in ("Output", "ContinuousStateDerivative") for entry in fmu.entries(kind)]
    return {
        **_common(fmu, element, folder),
        "guid": fmu.root.get("instantiationToken"),
        "pythonfmu": False,
        "outputs": outputs,
        "variables": variables,
        "starts": starts_of(scalar),
        "states": [
            [state, rate]
            for of, by in pairs
            if of is not None
            for state, rate in zip(indices.get(of.valueReference, ()), indices.get(by.valueReference, ()), strict=False)
        ],
        "indicators": whole.numberOfEventIndicators,
        "flags": {flag: claims(element, spelled.get(flag, flag)) for flag in (*FLAGS, *FLAGS3)},
        "spelled": spelled,
        "asynchronous": False,
        "clocks": [_clock(v) for v in fmu.variables if v.type == CLOCK and element.tag == "CoSimulation"],
        "sizes": [(v.reference, fmu.size(v) or 0) for v in fmu.variables],
        "dependencies": [
            (int(entry.get("valueReference")), on if on is None else [int(text) for text in on.split()])
            for entry in entries
            for on in [entry.get("dependencies")]
        ],
    }


def _variable3(variable: Any, base: str) -> dict[str, Any]:
    """Return what probe/ must know of a scalar of FMI 3.0."""
    entry = {
        "name": variable.name,
        "reference": variable.valueReference,
        "type": variable.type,
        "base": base,
        "causality": variable.causality,
        "variability": variable.variability,
    }
    if variable.start is not None and (variable.causality in STARTING or variable.variability == "constant"):
        start = _value(base, variable.start)
        entry["start"] = float(np.float32(start)) if variable.valueReference.type == "Float32" else start
    if base == "Real":
        entry["single"] = variable.valueReference.type == "Float32"
        declared = variable.declaredType
        for name, limit in (("min", "-inf"), ("max", "inf")):
            entry[name] = float(getattr(variable, name) or (declared and getattr(declared, name)) or limit)
    return entry


def _clock(clock: Variable3) -> dict[str, Any]:
    """Return what probe/ must know of a clock."""
    interval = clock.element.get("intervalDecimal")
    return {
        "name": clock.name,
        "reference": clock.reference,
        "causality": clock.causality,
        "interval_kind": clock.element.get("intervalVariability"),
        "interval": None if interval is None else float(interval),
        "clocks": clock.listed("clocks"),
    }


def _step(element: Any, experiment: Mapping[str, float]) -> float:
    """Return the size of the steps that an FMU prefers."""
    fixed = float(element.get("fixedInternalStepSize", "0"))
    size = experiment.get("stepSize", fixed)
    return size if 0.0 < size < float("inf") else STEP


def _job(fmu: Fmu, element: Any, folder: Path) -> dict[str, Any]:
    """Gather what probe/ must know of an FMU and of one of its interfaces, a CoSimulation or ModelExchange element."""
    outputs: dict[str, dict[str, int]] = {}
    for v in fmu.variables:
        if v.causality == "output":
            outputs.setdefault(v.base, {})[v.name] = v.reference
    return {
        **_common(fmu, element, folder),
        "guid": fmu.root.get("guid"),
        "pythonfmu": fmu.is_pythonfmu,
        "outputs": outputs,
        "variables": list(_variables(fmu)),
        "states": [[state.reference, rate.reference] for state, rate in fmu.states],
        "indicators": int(fmu.root.get("numberOfEventIndicators", "0")),
        "dependencies": list(_dependencies(fmu)),
        "flags": {flag: claims(element, flag) for flag in FLAGS},
        "spelled": {},
        "asynchronous": claims(element, "canRunAsynchronuously"),
        "clocks": [],
        "output_order": int(element.get("maxOutputDerivativeOrder", "0")),
    }


def _dependencies(fmu: Fmu) -> Iterator[tuple[int, list[int] | None]]:
    """Yield value references of real outputs and time derivatives, each with those of what it depends on; None: all."""
    for unknown in (*fmu.unknowns("Outputs"), *fmu.unknowns("Derivatives")):
        variable, on = fmu.variable(int(unknown.get("index"))), unknown.get("dependencies")
        if variable is not None and variable.type == "Real":
            known = (fmu.variable(int(index)) for index in (on or "").split())
            references = [v.reference for v in known if v is not None and v.type == "Real"]
            yield variable.reference, None if on is None else references


def _variables(fmu: Fmu) -> Iterator[dict[str, Any]]:
    for v in fmu.variables:
        entry: dict[str, Any] = {
            "name": v.name,
            "reference": v.reference,
            "type": v.type,
            "base": v.base,
            "causality": v.causality,
            "variability": v.variability,
        }
        if v.start is not None and (v.causality in STARTING or v.variability == "constant"):
            entry["start"] = _value(v.base, v.start)
        if v.type == "Real":
            entry["min"] = float(v.attributes.get("min", "-inf"))
            entry["max"] = float(v.attributes.get("max", "inf"))
        yield entry


def _value(base: str, text: str) -> float | int | str:
    if base == "Real":
        return float(text)
    if base == "Boolean":
        return int(text.strip() in ("true", "1"))
    return int(text) if base == "Integer" else text

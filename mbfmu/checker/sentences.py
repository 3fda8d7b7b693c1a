"""The sentences of the standard that the rules stand on: a rule with one fails where it is broken, others give a note.

Those of FMI 2.0 are quoted from its maintenance branch after 2.0.4, those of FMI 3.0 from 3.0.2; marks of the text are
left out. What the standard asks of the importer, recommends, or does not state has no sentence here.
"""

from collections.abc import Mapping
from types import MappingProxyType

SENTENCES_2: Mapping[str, str] = MappingProxyType(
    {
        "extension": 'The extension of the ZIP file must be ".fmu"',
        "zip-method": "The compression method for all files stored in the ZIP archive must be either 8 "
        "(deflate), or 0 (store). [...] The field version needed to extract of the archive "
        "must not be higher than 2.0, and encryption must not be employed.",
        "zip-path": "Links must not be used inside the ZIP archive.",
        "xml-encoding": "It is required that the encoding scheme is always UTF-8.",
        "model-identifier": "it must fulfill the restrictions on C-function names (only letters, digits and/or "
        "underscores are allowed).",
        "state-flags": "If this is the case, then flag canGetAndSetFMUstate must be true as well.",
        "start-missing": "If initial = exact or approx, or causality = input, a start value must be provided.",
        "start-forbidden": "If initial = calculated, or causality = independent, it is not allowed to provide "
        "a start value.",
        "schema": "The normative definition are the above mentioned schema files",
        "platform-binary": "the modelIdentifier attribute is used as library name.",
        "binary-format": '"32" stands for "32-bit x86" and "64" for "64-bit x86" respectively.',
        "source-files": "all needed C sources and C header files to compile and link the FMU",
        "log-category": 'The "name" attribute of "Category" must be unique with respect to all other '
        "elements of the LogCategories list.",
        "annotation": 'Attribute "name" must be unique with respect to all other elements of the '
        "VendorAnnotation list.",
        "unit-definition": "which must be unique with respect to all other defined elements of the "
        "UnitDefinitions list.",
        "type-definition": "The values can be any integer number but must be unique within the same enumeration",
        "variable-name": "The names must be unique, non-empty strings. [...] The precise syntax is",
        "name-unique": "Every variable is uniquely identified within an FMU instance by this name [...] "
        '"name" of a "SimpleType" must be different to all "name" attributes of '
        "ScalarVariables",
        "alias": "this is only allowed if the behavior of the FMU would be exactly the same if a and"
        " b were not treated as alias variables",
        "independent": 'At most one ScalarVariable of an FMU can be defined as "independent". [...] it '
        'must be defined as "Real" without a "start" attribute.',
        "combination": "The following combinations of variability/causality settings are allowed",
        "continuous-type": 'Only a variable of type = "Real" can be "continuous".',
        "start-finite": "The special values NAN, INF, +INF, and -INF for variables values are not allowed "
        "in the FMI XML files.",
        "unit-undefined": "Unit of the variable defined with UnitDefinitions.Unit.name that is used for the "
        "model equations. [...] It is an error if displayUnit is defined in element Real, "
        "but unit is not",
        "declared-type": "name of type defined with TypeDefinitions / SimpleType.",
        "model-exchange-only": "if only CoSimulation FMU, this attribute must not be present.",
        "outputs": 'every corresponding ScalarVariable must have causality = "output" (and every '
        'variable with causality="output" must be listed here).',
        "derivatives": "All ScalarVariables listed in this element must have attribute derivative",
        "initial-unknowns": 'This list consists of all variables with [...] causality = "output" and (initial ='
        ' "approx" or "calculated"), and [...] causality = "calculatedParameter" and [...] '
        "all continuous-time states and all state derivatives",
        "state-unique": "(in order that the continuous-time states are uniquely defined).",
        "reinit": "Can only be present for a continuous-time state.",
        "dependencies": "Otherwise the Unknown depends on the Knowns defined by the given ScalarVariable "
        "indices. The indices are ordered according to magnitude, starting with the "
        "smallest index.",
        "dependencies-kind": "If dependenciesKind is present, dependencies must be present and must have the "
        "same number of list elements.",
        "interpolate-inputs": "Calling of fmi2SetRealInputDerivatives(..) has an effect for the slave.",
        "load": "it is required that all functions specified for Model Exchange and/or Co-Simulation are present",
        "instantiate": "The function returns a new instance of an FMU.",
        "initialise": "Informs the FMU to enter Initialization Mode.",
        "step": "The slave must integrate until time instant tc_(i+1) = tc_i + hc_i.",
        "time": "its value is initialized with fmi2SetupExperiment and after initialization set by "
        "[...] arguments currentCommunicationPoint and communicationStepSize of fmi2DoStep",
        "instances": "An FMU can be instantiated many times (provided capability flag "
        "canBeInstantiatedOnlyOncePerProcess = false).",
        "reset": "The FMU goes into the same state as if fmi2Instantiate would have been called. All"
        " variables have their default values.",
        "terminate": "After calling this function, the final values of all variables can be inquired "
        "with the fmi2GetXXX(..) functions.",
        "debug-logging": "If loggingOn == fmi2True, debug logging is enabled for the log categories "
        "specified in categories, otherwise it is disabled.",
        "null-callbacks": "then function allocateMemory is not used in the FMU and a void pointer can be provided.",
        "start-value": "This value is also stored in the C functions.",
        "set-input": "fmi2SetXXX can be called [...] for Co-Simulation at every communication point, "
        '[...] if causality = "input"',
        "tunable-parameter": "fmi2SetXXX can be called [...] for Co-Simulation at every communication point, if "
        'causality = "parameter" and variability = "tunable"',
        "fixed-parameter": 'fmi2SetXXX can be called on any variable with variability /= "constant" before '
        'initialization [...] if initial = "exact" or "approx"',
        "state": "fmi2SetFMUstate copies the content of the previously copied FMUstate back and uses"
        " it as actual new FMU state.",
        "serialized-state": "constructs a copy of the FMU state and returns FMUstate, the pointer to this copy.",
        "variable-step": "The communication step size (parameter communicationStepSize of fmi2DoStep(..)) "
        "has not to be constant for each call.",
        "input-derivatives": "Calling of fmi2SetRealInputDerivatives(..) has an effect for the slave.",
        "output-derivatives": "Calling of fmi2GetRealOutputDerivatives(..) is allowed up to the order defined by "
        "maxOutputDerivativeOrder.",
        "directional-derivative": "fmi2GetDirectionalDerivative computes a linear combination of the partial "
        "derivatives of h with respect to the selected input variables",
        "unknown-reference": "If a function in the following sections is called with a wrong fmi2ValueReference "
        "value [...], then the function has to return with an error",
        "stop-time": "if the environment tries to compute past stopTime the FMU has to return fmi2Status = fmi2Error.",
        "odd-path": 'The following schemes must be understood by the FMU: Mandatory: "file" with absolute path',
        "message-category": "The allowed values for category are defined in the modelDescription.xml file",
        "message-format": "is provided in the same way and with the same format control as in function printf"
        " from the C standard library.",
        "exchange-load": "it is required that all functions specified for Model Exchange and/or Co-"
        "Simulation are present",
        "exchange-instantiate": "The function returns a new instance of an FMU.",
        "exchange-initialise": "For fmuType = fmi2ModelExchange, this function switches off all initialization "
        "equations, and the FMU enters Event Mode implicitly",
        "state-values": "The corresponding continuous-time states are defined by attribute derivative of "
        "the corresponding ScalarVariable state derivative element.",
        "set-states": "Set a new (continuous) state vector and re-initialize caching of variables that "
        "depend on the states.",
        "nominal-values": "Note that it is required that x_nominal[i] > 0.0.",
        "exchange-time": "after initialization set by fmi2SetTime for ModelExchange",
        "state-derivative": "fmi2GetDirectionalDerivative computes a linear combination of the partial "
        "derivatives of h with respect to the selected input variables",
        "undeclared-dependency": "Otherwise the Unknown depends on the Knowns defined by the given ScalarVariable "
        "indices.",
        "exchange-state": "fmi2SetFMUstate copies the content of the previously copied FMUstate back and uses"
        " it as actual new FMU state.",
        "exchange-reset": "The FMU goes into the same state as if fmi2Instantiate would have been called. All"
        " variables have their default values.",
        "exchange-instances": "An FMU can be instantiated many times (provided capability flag "
        "canBeInstantiatedOnlyOncePerProcess = false).",
        "exchange-terminate": "After calling this function, the final values of all variables can be inquired "
        "with the fmi2GetXXX(..) functions.",
    }
)
"""Sentences of FMI 2.0 by the names of rules."""

SENTENCES_3: Mapping[str, str] = MappingProxyType(
    {
        "extension": "The extension of the ZIP file must be .fmu.",
        "zip-method": "The compression method for all files stored in the ZIP archive must be either 8 "
        "(deflate) or 0 (store). [...] The field version needed to extract of the archive "
        "must not be higher than 2.0 and encryption must not be employed.",
        "zip-path": "Links must not be used inside the ZIP archive.",
        "xml-encoding": "It is required that the encoding scheme is always UTF-8.",
        "model-identifier": "it must fulfill the restrictions on C-function names (only letters, digits and/or "
        "underscores are allowed).",
        "schema": "in XML format as specified by the XML schema file fmi3ModelDescription.xsd.",
        "log-category": "The name attribute of <Category> must be unique with respect to all other elements"
        " of the <LogCategories> list.",
        "unit-definition": "The name of a Unit must be unique with respect to all other <Unit> elements.",
        "binary-format": "The binaries must be placed in the respective <platformTuple> directory with the "
        "general format <arch>-<sys>.",
        "platform-tuple": "The binaries must be placed in the respective <platformTuple> directory with the "
        "general format <arch>-<sys>.",
        "build-description": "A source code FMU contains the sources of the model in the sources directory "
        "together with a buildDescription.xml",
        "value-reference": "The valueReference must be unique for all variables of an FMU.",
        "unique-names": "name attributes of list elements [...] must be unique within that list and must "
        "not be empty strings.",
        "start-count": "The start attribute is either a single value or a list of values.",
        "structure-references": "If dependenciesKind is present, dependencies must be present and must have the "
        "same number of list elements.",
        "structure-complete": "every variable with causality = output must be listed here). [...] The resulting "
        "list is not allowed to have duplicates",
        "state-derivatives": "All variables listed in these elements must have attribute derivative.",
        "clock-attributes": "The attribute intervalVariability must be triggered for output Clocks. [...] This "
        "value must be greater than 0.0.",
        "clock-references": "The value of the attribute clocks is a non-empty list of value references of "
        "Clocks this variable belongs to.",
        "capability-flags": "If the FMU has clocks, then hasEventMode must be true.",
        "load": "The FMU must implement all API functions declared in fmi3Functions.h",
        "functions-exported": "The FMU must implement all API functions declared in fmi3Functions.h, even if they"
        " are only needed for interface types or optional capabilities that the FMU does "
        "not support.",
        "instantiate": "In that case, the FMU must call logMessage with detailed information about the reason.",
        "initialise": "Changes state to InitializationMode.",
        "step": "The FMU is expected to compute until time t_(i+1) = t_i + h_i.",
        "time": "All variables are a function of this independent variable.",
        "instances": "An FMU can be instantiated many times (provided capability flag "
        "canBeInstantiatedOnlyOncePerProcess = false).",
        "reset": "The FMU goes into the same state as if fmi3Instantiate would have been called. All"
        " variables have their default values.",
        "terminate": "Changes state to Terminated.",
        "debug-logging": "The FMU must call the logMessage callback function only for categories which are "
        "turned on by this function.",
        "start-value": "During instantiation, the FMU initializes its variables with their start values.",
        "set-input": "The variable value may be provided by the importer.",
        "tunable-parameter": "A parameter with variability = tunable may be changed only in EventMode or, if "
        "EventMode is not supported, at communication points",
        "fixed-parameter": "This function can be called for variables with variability /= constant and with "
        "initial = exact or approx.",
        "state": "FMUState must contain all information required to allow continuing the simulation "
        "from the current FMU state without additional FMI C-API calls.",
        "serialized-state": "constructs a copy of the FMU state and returns FMUState, the pointer to this copy.",
        "variable-step": "the communication step size (argument communicationStepSize of fmi3DoStep) can "
        "vary for each call.",
        "directional-derivative": "fmi3GetDirectionalDerivative to compute the directional derivatives",
        "refusal-message": "If a function does not return fmi3OK, it must provide the reason by calling "
        "logMessage at least once with this status.",
        "stop-time": "If the environment tries to compute past stopTime, the FMU has to return fmi3Status = fmi3Error.",
        "message-category": "logMessage must only be called for log categories that were enabled",
        "event-mode": "If true the FMU supports EventMode. [...] nextEventTime contains the absolute time"
        " of the next time event",
        "early-return": "earlyReturn = fmi3True is only allowed if earlyReturnAllowed = fmi3True",
        "intermediate-update": "The FMU must not call the callback function fmi3IntermediateUpdateCallback with an"
        " intermediateUpdateTime that is smaller than the intermediateUpdateTime given in a"
        " previous call",
        "clock-interval": "This value must be greater than 0.0. [...] The value of this attribute value must "
        "be equal to or greater than 0.0.",
        "clock-tick": "Any Clock active during fmi3UpdateDiscreteStates must be deactivated by the FMU itself.",
        "adjoint-derivative": "fmi3GetAdjointDerivative to calculate the adjoint derivatives",
        "variable-dependencies": "It is filled in by this function with the value reference of the independent "
        "variable that this dependency entry is dependent upon.",
        "exchange-load": "The FMU must implement all API functions declared in fmi3Functions.h",
        "exchange-instantiate": "In that case, the FMU must call logMessage with detailed information about the "
        "reason.",
        "exchange-initialise": "Changes state to InitializationMode.",
        "state-values": "The corresponding continuous-time states are defined by attribute derivative of "
        "the corresponding variable state-derivative element.",
        "set-states": "This function must copy the state values into an internal data structure such that"
        " subsequent computations triggered by get functions will utilize these values.",
        "nominal-values": "It is required that nominals[i] > 0.0.",
        "exchange-time": "All variables are a function of this independent variable.",
        "state-derivative": "fmi3GetDirectionalDerivative to compute the directional derivatives",
        "undeclared-dependency": "if the known is not listed among the dependencies then the partial derivative of "
        "the unknown with respect to that known is identically zero.",
        "exchange-state": "FMUState must contain all information required to allow continuing the simulation "
        "from the current FMU state without additional FMI C-API calls.",
        "exchange-reset": "The FMU goes into the same state as if fmi3Instantiate would have been called. All"
        " variables have their default values.",
        "exchange-instances": "An FMU can be instantiated many times (provided capability flag "
        "canBeInstantiatedOnlyOncePerProcess = false).",
        "exchange-terminate": "Changes state to Terminated.",
        "state-number": "As long as no structural parameters changed, the number of states is given in the "
        "modelDescription.xml",
        "state-adjoint": "fmi3GetAdjointDerivative to calculate the adjoint derivatives",
    }
)
"""Sentences of FMI 3.0 by the names of rules."""

SENTENCES: Mapping[str, Mapping[str, str]] = MappingProxyType({"2.0": SENTENCES_2, "3.0": SENTENCES_3})
"""Sentences by the version of FMI and the name of the rule."""

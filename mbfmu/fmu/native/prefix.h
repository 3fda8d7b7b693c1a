/* Names of the FMI functions begin with FMI2_FUNCTION_PREFIX if that is defined, as it must be where several FMUs are
 * linked into one program. Included after fmi2Functions.h, as some copies of that header ignore the prefix. */
#ifdef FMI2_FUNCTION_PREFIX
#undef fmi2FullName
#define MBFMU_JOIN(a, b) a##b
#define MBFMU_JOINED(a, b) MBFMU_JOIN(a, b)
#define fmi2FullName(name) MBFMU_JOINED(FMI2_FUNCTION_PREFIX, name)

fmi2GetTypesPlatformTYPE fmi2GetTypesPlatform;
fmi2GetVersionTYPE fmi2GetVersion;
fmi2SetDebugLoggingTYPE fmi2SetDebugLogging;
fmi2InstantiateTYPE fmi2Instantiate;
fmi2FreeInstanceTYPE fmi2FreeInstance;
fmi2SetupExperimentTYPE fmi2SetupExperiment;
fmi2EnterInitializationModeTYPE fmi2EnterInitializationMode;
fmi2ExitInitializationModeTYPE fmi2ExitInitializationMode;
fmi2TerminateTYPE fmi2Terminate;
fmi2ResetTYPE fmi2Reset;
fmi2GetRealTYPE fmi2GetReal;
fmi2GetIntegerTYPE fmi2GetInteger;
fmi2GetBooleanTYPE fmi2GetBoolean;
fmi2GetStringTYPE fmi2GetString;
fmi2SetRealTYPE fmi2SetReal;
fmi2SetIntegerTYPE fmi2SetInteger;
fmi2SetBooleanTYPE fmi2SetBoolean;
fmi2SetStringTYPE fmi2SetString;
fmi2GetFMUstateTYPE fmi2GetFMUstate;
fmi2SetFMUstateTYPE fmi2SetFMUstate;
fmi2FreeFMUstateTYPE fmi2FreeFMUstate;
fmi2SerializedFMUstateSizeTYPE fmi2SerializedFMUstateSize;
fmi2SerializeFMUstateTYPE fmi2SerializeFMUstate;
fmi2DeSerializeFMUstateTYPE fmi2DeSerializeFMUstate;
fmi2GetDirectionalDerivativeTYPE fmi2GetDirectionalDerivative;
fmi2SetRealInputDerivativesTYPE fmi2SetRealInputDerivatives;
fmi2GetRealOutputDerivativesTYPE fmi2GetRealOutputDerivatives;
fmi2DoStepTYPE fmi2DoStep;
fmi2CancelStepTYPE fmi2CancelStep;
fmi2GetStatusTYPE fmi2GetStatus;
fmi2GetRealStatusTYPE fmi2GetRealStatus;
fmi2GetIntegerStatusTYPE fmi2GetIntegerStatus;
fmi2GetBooleanStatusTYPE fmi2GetBooleanStatus;
fmi2GetStringStatusTYPE fmi2GetStringStatus;
#endif

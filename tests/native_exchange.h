/* Model exchange in the C hosts of either version. A host says how it updates discrete states: the time of the next
 * event, INFINITY if there is none, and whether the continuous states have changed. */
#ifndef GUARDS
#define GUARDS 0
#endif
#define POINTS (N_STATES + 1) /* room for states, also where there are none */

static FMI(Status) update(void *c, double *next, int *changed);

static double now(void *c);

static FMI(Status) completed(void *c) {
    FMI(Boolean) event, end;
    const FMI(Status) status = FMI(CompletedIntegratorStep)(c, FMI(True), &event, &end);
    if (status == FMI(OK)) CHECK((event == FMI(True) || event == FMI(False)) && end == FMI(False));
    return status;
}
static FMI(Status) update_states(void *c) {
    double next;
    int changed;
    return update(c, &next, &changed);
}
static FMI(Status) set_time(void *c) { return FMI(SetTime)(c, 0); }
static FMI(Status) set_states(void *c) {
    const double states[POINTS] = {0};
    return FMI(SetContinuousStates)(c, states, N_STATES);
}
static FMI(Status) get_states(void *c) {
    double states[POINTS];
    return FMI(GetContinuousStates)(c, states, N_STATES);
}
static FMI(Status) get_rates(void *c) {
    double rates[POINTS];
    return FMI(GetContinuousStateDerivatives)(c, rates, N_STATES);
}
static FMI(Status) get_nominals(void *c) {
    double sizes[POINTS];
    return FMI(GetNominalsOfContinuousStates)(c, sizes, N_STATES);
}
static FMI(Status) get_indicators(void *c) {
    double indicators[GUARDS + 1];
    return FMI(GetEventIndicators)(c, indicators, GUARDS);
}

#define EXCHANGE_ROWS                                                                                                 \
    {"EnterEventMode", FMI(EnterEventMode), "r"}, {"UpdateDiscreteStates", update_states, "e"},                        \
    {"EnterContinuousTimeMode", FMI(EnterContinuousTimeMode), "e"}, {"CompletedIntegratorStep", completed, "r"},       \
    {"SetTime", set_time, "re"}, {"SetContinuousStates", set_states, "r"},                                             \
    {"GetContinuousStates", get_states, "irte"}, {"GetContinuousStateDerivatives", get_rates, "irte"},                 \
    {"GetNominalsOfContinuousStates", get_nominals, "irte"}, {"GetEventIndicators", get_indicators, "irte"}

/* Handle an event and go on in continuous time; return the time of the next event. */
static double handle(void *c) {
    double next;
    int changed;
    CHECK(update(c, &next, &changed) == FMI(OK));
    CHECK(next > now(c));
    CHECK(FMI(EnterContinuousTimeMode)(c) == FMI(OK));
    return next;
}

/* Integrate by Euler's method, with an event at the start, wherever an indicator changes its sign or a step asks for
 * one, and at the times of events. */
static void integrate(void *c, int steps) {
    double x[POINTS], rates[POINTS], indicators[2][GUARDS + 1];
    CHECK(FMI(EnterEventMode)(c) == FMI(OK));
    double next = handle(c);
    CHECK(FMI(GetEventIndicators)(c, indicators[0], GUARDS) == FMI(OK));
    for (int k = 0; k < steps; ++k) {
        FMI(Boolean) event = FMI(False), end;
        CHECK(FMI(GetContinuousStates)(c, x, N_STATES) == FMI(OK));
        CHECK(FMI(GetContinuousStateDerivatives)(c, rates, N_STATES) == FMI(OK));
        const double before = now(c), after = fmin(before + 1e-3, next);
        for (int i = 0; i < N_STATES; ++i) x[i] += (after - before) * rates[i];
        CHECK(FMI(SetTime)(c, after) == FMI(OK));
        CHECK(FMI(SetContinuousStates)(c, x, N_STATES) == FMI(OK));
        CHECK(FMI(GetEventIndicators)(c, indicators[1], GUARDS) == FMI(OK));
        CHECK(FMI(CompletedIntegratorStep)(c, FMI(False), &event, &end) == FMI(OK));
        for (int i = 0; i < GUARDS; ++i) event = event || (indicators[1][i] > 0) != (indicators[0][i] > 0);
        if (event || after == next) {
            CHECK(FMI(EnterEventMode)(c) == FMI(OK));
            next = handle(c);
        }
        CHECK(FMI(GetEventIndicators)(c, indicators[0], GUARDS) == FMI(OK));
    }
}

static void pass_wrong_points(void *c) {
    double x[POINTS], more[POINTS + GUARDS + 1] = {0};
    FMI(Boolean) flag;
    CHECK(FMI(GetContinuousStates)(c, x, N_STATES) == FMI(OK));
    for (int n = 0; n < N_STATES + 2; n += n == N_STATES - 1 ? 2 : 1) {
        CHECK(FMI(SetContinuousStates)(c, more, n) == FMI(Error));
        CHECK(FMI(GetContinuousStates)(c, more, n) == FMI(Error));
        CHECK(FMI(GetContinuousStateDerivatives)(c, more, n) == FMI(Error));
        CHECK(FMI(GetNominalsOfContinuousStates)(c, more, n) == FMI(Error));
    }
    CHECK(FMI(GetEventIndicators)(c, more, GUARDS + 1) == FMI(Error));
    CHECK(FMI(GetEventIndicators)(c, 0, GUARDS + 1) == FMI(Error));
    CHECK(FMI(SetContinuousStates)(c, 0, N_STATES) == FMI(Error));
    CHECK(FMI(GetContinuousStates)(c, 0, N_STATES) == FMI(Error));
    CHECK(FMI(GetContinuousStateDerivatives)(c, 0, N_STATES) == FMI(Error));
    CHECK(FMI(GetNominalsOfContinuousStates)(c, 0, N_STATES) == FMI(Error));
    CHECK(FMI(SetTime)(c, NAN) == FMI(Error));
    CHECK(FMI(SetTime)(c, INFINITY) == FMI(Error));
    CHECK(FMI(CompletedIntegratorStep)(c, FMI(False), 0, &flag) == FMI(Error));
    CHECK(FMI(CompletedIntegratorStep)(c, FMI(False), &flag, 0) == FMI(Error));
    x[N_STATES - 1] = NAN;
    CHECK(FMI(SetContinuousStates)(c, x, N_STATES) == FMI(Discard));
}

/* One random call of those for model exchange. */
static FMI(Status) play_exchange(void *c) {
    const unsigned which = random_below(100), n = random_below(20) ? N_STATES : random_below(N_STATES + 3),
                   n_guards = random_below(20) ? GUARDS : random_below(GUARDS + 3);
    const size_t room = n > n_guards ? n : n_guards;
    double *values = random_below(50) ? malloc(room * sizeof *values + 1) : 0, next;
    int changed;
    FMI(Status) status;
    for (size_t i = 0; values && i < room; ++i)
        values[i] = random_below(300) ? (random_below(2001) - 1000.0) / 500 : OF(NASTY);
    if (which < 15 && n == N_STATES && values && FMI(GetContinuousStates)(c, values, n) == FMI(OK))
        for (unsigned i = 0; i < n; ++i) values[i] += (random_below(2001) - 1000.0) / 1e6;
    if (which < 25)
        status = FMI(SetContinuousStates)(c, values, n);
    else if (which < 35)
        status = FMI(SetTime)(c, random_below(30) ? now(c) + 1e-3 * random_below(4) : OF(NASTY));
    else if (which < 45)
        status = FMI(GetContinuousStateDerivatives)(c, values, n);
    else if (which < 55)
        status = FMI(GetEventIndicators)(c, values, n_guards);
    else if (which < 60)
        status = FMI(GetContinuousStates)(c, values, n);
    else if (which < 62)
        status = FMI(GetNominalsOfContinuousStates)(c, values, n);
    else if (which < 75)
        status = completed(c);
    else if (which < 83)
        status = FMI(EnterEventMode)(c);
    else if (which < 91)
        status = update(c, &next, &changed);
    else
        status = FMI(EnterContinuousTimeMode)(c);
    if (status == FMI(OK) && which >= 35 && which < 62)
        for (size_t i = 0; i < (which >= 45 && which < 55 ? n_guards : n); ++i) CHECK(isfinite(values[i]));
    free(values);
    return status;
}

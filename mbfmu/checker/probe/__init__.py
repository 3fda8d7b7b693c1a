"""Rules on what an FMU does, which are applied in the process in which it runs.

The process is given a JSON file with what it must know of the FMU and the names of the rules to apply, and reports in
JSON lines: it prints a `begin` before each rule, what the rule says, and a last `done`. What is missing in the end
tells the parent where the FMU took the process down; the parent then starts another one for the rules that are left.

Modules here import nothing of mbfmu but each other, `mbfmu.fmi` and `mbfmu.checker.outcome`: the process has nothing
else, see `mbfmu.fmi.supervise`.

A rule is one function and one row, with the section of the FMI 2.0.4 document, in the table at the end of its file;
main.py has the sections in FMI 3.0.2 of those that both versions have.
It yields a message for each breach, or raises NotApplicable.

instance.py  an instance of the FMU, stepped on a grid
probe.py     the FMU as the rules see it
life.py      rules on loading, initialising, stepping, ending
values.py    rules on start values, inputs, parameters, derivatives, state
misuse.py    rules on nonsense, and on what is logged
exchange.py  rules on model exchange
steps3.py    rules on co-simulation that FMI 3.0 alone has
structure3.py  rules on derivatives, dependencies and numbers of states that it alone has
main.py      applies them
"""

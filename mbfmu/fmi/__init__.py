"""Any FMU of FMI 2.0 or 3.0, whoever made it: opened, read and run; nothing here judges it.

fault.py        what keeps an FMU from being read
archive.py      the ZIP file; nothing hostile gets past it
xml.py          modelDescription.xml and its schema
description.py, description3.py  what it says, with the defaults filled in
annotations.py  which variables are time derivatives, for readers that know mbfmu
reading.py      an FMU as a master sees it: ports, units, terminals
scalars.py      an FMU of FMI 3.0 by scalar variables
plan.py         what a run does, and the values of variables
supervise.py    runs a module in a process of its own, whose ends it tells

Into that process go, beside rules of the check:

report.py       the JSON lines that it reports
calls.py        calls of FMI 2.0 for an instance of FMI 3.0
events.py       the event mode of FMI 3.0 in co-simulation
instance.py     an instance and its messages
integration.py  integrates an FMU for model exchange
record.py       the table of a run
drive.py        makes runs, for `mbfmu simulate` and sweeps

They import nothing else of mbfmu, which the process does not have.
"""

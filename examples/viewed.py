"""The page of `mbfmu view` as a browser draws it: a crane that its cylinders lift.

Run: python -m examples.viewed [--plot FILE] (needs Chromium and the package playwright)
"""

import argparse

import mbfmu
from examples.shot import shoot

MODEL = "crane"
INPUTS = {"lift.f": "25000", "tilt.f": "-2000"}
STOP, MOMENT = 1.0, 0.45
"""s, end of the run, and the time of the picture."""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", default="view.png", metavar="FILE")
    page = mbfmu.view(MODEL, STOP, stepper="rattle", inputs=INPUTS)
    shoot(parser.parse_args().plot, page, MOMENT, traces=True)

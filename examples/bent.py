"""The page of `mbfmu view` for a machine that bends: the boom of the excavator as its cylinder lifts it, with stresses.

Run: python -m examples.bent [--plot FILE] (needs Chromium and the package playwright)
"""

import argparse

import mbfmu
from examples.shot import shoot

MODEL = "excavator_flexible"
INPUTS = {"lift.f": "20000", "crowd.f": "-3239", "curl.f": "427"}
STOP, MOMENT = 0.2, 0.15
"""s, end of the run, and the time of the picture."""
DEFORMATION = 100.0

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", default="bent.png", metavar="FILE")
    page = mbfmu.view(MODEL, STOP, inputs=INPUTS, output_interval=1e-3, deformation=DEFORMATION)
    shoot(parser.parse_args().plot, page, MOMENT)

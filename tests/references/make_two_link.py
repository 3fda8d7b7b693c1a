"""Make two_link.json: the two-link arm of Wang, Zhao & Pan (example 1), exact to double precision.

Taylor series of automatic order in 40 digits (mpmath) on the absolute angles a, b of the links,

    l1^2 (m1/3 + m2) a'' + c cos(a - b) b'' + c sin(a - b) b'^2 + g l1 (m1/2 + m2) cos a = 0
    c cos(a - b) a'' + m2 l2^2/3 b''        - c sin(a - b) a'^2 + g m2 l2/2 cos b       = 0,    c = m2 l1 l2/2.

Run: python -m pip install mpmath && python tests/references/make_two_link.py
"""

import json
from pathlib import Path

from mpmath import cos, matrix, mp, mpf, odefun, sin

mp.dps = 40
L1, L2, M1, M2, G = mpf(1), mpf(2), mpf(1), mpf(1), mpf("9.8")


def rate(_t: mpf, y: list[mpf]) -> list[mpf]:
    """Return the derivatives of (a, b, a', b')."""
    a, b, wa, wb = y
    c = M2 * L1 * L2 / 2
    A, B, C = L1**2 * (M1 / 3 + M2), c * cos(a - b), M2 * L2**2 / 3
    f = -c * sin(a - b) * wb**2 - G * L1 * (M1 / 2 + M2) * cos(a)
    g = c * sin(a - b) * wa**2 - G * M2 * L2 / 2 * cos(b)
    det = A * C - B * B
    return [wa, wb, (C * f - B * g) / det, (A * g - B * f) / det]


def main() -> None:
    """Write the angles (shoulder absolute, elbow relative) and rates every 0.1 s up to 2 s."""
    solution = odefun(rate, 0, matrix([0, 0, 0, 0]))
    times = [mpf(k) / 10 for k in range(21)]
    states = [solution(t) for t in times]
    data = {
        "problem": "two_link: uniform links, horizontal, at rest at the start",
        "source": "Taylor series in 40 digits, made by make_two_link.py",
        "parameters": {"l1": 1, "l2": 2, "m1": 1, "m2": 1, "world.g": "9.8"},
        "t": [float(t) for t in times],
        "shoulder.phi": [mp.nstr(y[0], 22) for y in states],
        "elbow.phi": [mp.nstr(y[1] - y[0], 22) for y in states],
        "shoulder.w": [mp.nstr(y[2], 22) for y in states],
        "elbow.w": [mp.nstr(y[3] - y[2], 22) for y in states],
    }
    text = json.dumps(data, indent=1) + "\n"
    Path(__file__).with_name("two_link.json").write_text(text, encoding="utf-8")


main()

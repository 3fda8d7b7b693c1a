"""What moving pictures share: how frames become a GIF, and the command line."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

DOCS = Path(__file__).parents[1] / "docs"
COLORS = 128


def film(frames: Iterable[npt.NDArray[np.uint8]], path: Path, each: float, colors: int = COLORS) -> None:
    """Write a GIF that repeats.

    Args:
        frames: pictures of one size, RGB or RGBA, shape (height, width, 3 or 4).
        path: of the file.
        each: how long each is shown, ms.
        colors: number of colours.
    """
    drawn = [Image.fromarray(frame).convert("RGB") for frame in frames]
    width, height = drawn[0].size
    some = Image.new("RGB", (width, 4 * height))
    for row in range(4):
        some.paste(drawn[row * len(drawn) // 4], (0, row * height))
    # one palette for all, without dithering: what stands still costs nothing
    palette = some.quantize(colors, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in drawn]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=round(each), loop=0, optimize=True)


def present(description: str, target: Path, main: Callable[[Path], dict[str, float]]) -> None:
    """Draw a moving picture from the command line, where ``--plot FILE`` says, and print what it measures.

    Args:
        description: what it is.
        target: where it goes otherwise.
        main: draws it and returns numbers by name.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--plot", metavar="FILE", type=Path, default=target, help="where it goes, as .gif")
    for label, number in main(parser.parse_args().plot).items():
        print(f"{label:28s} {number:.3g}")

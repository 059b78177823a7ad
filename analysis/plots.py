"""Pictures of results: bars, lines and points, each with the interval that belongs to it.

No display, no network, and nothing in a file but the picture: the same result gives the same
bytes with the same matplotlib, whatever settings a user of matplotlib has.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from warnings import catch_warnings, filterwarnings

from deniable.protocol.errors import ParameterError

from .drawing import FAINT, INK, Plottable, draw
from .extras import extra
from .files import write_whole

SUFFIXES: Final = ("png", "svg")

_STYLE: Mapping[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10,
    "grid.color": "#E6E6E6",
    "savefig.dpi": 144,
    "svg.fonttype": "none",
    "svg.hashsalt": "deniable",
    "text.color": INK,
    "text.parse_math": False,
}


def require_plot(path: Path) -> None:
    """Refuse, before anything is computed, what :func:`plot` could not write.

    Raises
    ------
    ParameterError
        If the name does not end in .svg or .png.
    MissingExtraError
        If matplotlib is not installed.
    """
    if path.suffix.lower().removeprefix(".") not in SUFFIXES:
        raise ParameterError(f"plot must be a file that ends in .svg or .png: {path}")
    with extra("plot"):
        import matplotlib.figure  # noqa: F401


def plot(result: Plottable, path: Path | str) -> None:
    """Draw a result into a file, written whole or not at all.

    Estimates become bars with intervals (of a number: points), a trend lines with bands,
    differences points with intervals about 0.

    Parameters
    ----------
    result : Estimates, NumberEstimates, EstimateSeries of one period, Trend or Differences
    path : path
        Ends in ``.svg`` or ``.png``.

    Raises
    ------
    ParameterError
        If the name ends in anything else, or there are several periods of estimates.
    MissingExtraError
        If matplotlib is not installed.
    StoreError
        If the file cannot be written.
    """
    path = Path(path)
    require_plot(path)
    write_whole(path, picture(result, path.suffix.lower().removeprefix(".")))


def picture(result: Plottable, form: str) -> bytes:
    """Return a picture as the bytes of an ``svg`` or ``png``."""
    with extra("plot"):
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    stream = io.BytesIO()
    with mpl.rc_context(), catch_warnings():
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(_STYLE)
        filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure, result)
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(stream, format=form, metadata=metadata)
    return stream.getvalue()

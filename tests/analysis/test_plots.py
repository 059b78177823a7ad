"""Pictures: what is in them, and that a file is whole, the same each time, or not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from survey_documents import boolean_table, choice_table, make_survey
from tally_places import tally, write_store

from deniable.analysis import EstimateSeries, debias, difference, estimate, plot, trend
from deniable.analysis.drawing import MOST_BARS, draw
from deniable.analysis.plots import picture
from deniable.protocol.errors import ParameterError, StoreError

ODD = ["$a_b$ & <c>", "très bon", "数", "x" * 60]
SURVEY = make_survey(
    {
        "health": choice_table(period="week", mechanism="grr", choices=ODD),
        "dark": boolean_table(),
        "many": choice_table(
            period="week", mechanism="oue", choices=[f"c{i:02d}" for i in range(80)]
        ),
    },
    max_epsilon=16,
    linkable=True,
)
HEALTH, DARK, MANY = SURVEY.questions.values()
WEEKS = [f"2026-W{week}" for week in range(30, 50)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tallies = [
        tally(HEALTH, [10 + i, 20, 30, 40 - i], week, segment)
        for i, week in enumerate(WEEKS)
        for segment in ("stable", "beta")
    ]
    tallies += [tally(DARK, [60, 40]), tally(MANY, [*range(80), 100], WEEKS[-1])]
    return write_store(tmp_path_factory.mktemp("plots") / "c.db", tallies)


def words(svg: bytes) -> str:
    """What can be read in an SVG, whose text stays text."""
    tree = ElementTree.fromstring(svg)
    return " ".join(" ".join("".join(one.itertext()).split()) for one in tree.iter() if
                    one.tag.endswith("text"))  # fmt: skip


def spans(result: EstimateSeries, axis: int) -> list[tuple[float, float]]:
    """The ends of every interval that is drawn."""
    figure = Figure()
    draw(figure, result)
    (bars,) = [c for c in figure.axes[0].containers if isinstance(c, ErrorbarContainer)]
    lines = bars.lines[2][0].get_segments()
    return [(float(line[0][axis]), float(line[-1][axis])) for line in lines]


def test_every_estimate_has_its_interval(store: Path) -> None:
    result = estimate("health", store)
    for drawn, one in zip(spans(result, 0), result[0].estimates, strict=True):
        assert drawn == pytest.approx((one.low, one.high))


def test_processed_estimates_keep_raw_intervals(store: Path) -> None:
    result = estimate("many", store, post_process="norm-sub")
    largest = sorted(result[0].estimates, key=lambda one: -one.frequency)[:MOST_BARS]
    for drawn, one in zip(spans(result, 0), largest, strict=True):
        assert drawn == pytest.approx((one.low, one.high))
    assert "after norm-sub (biased), intervals raw" in words(picture(result, "svg"))


def test_it_says_what_it_shows(store: Path) -> None:
    shown = words(picture(estimate("health", store), "svg"))
    for part in ("health version 2", "n = 200 devices", "grr, epsilon 3 of one device", "95 %"):
        assert part in shown
    for name in ODD[:3]:
        assert name in shown
    dark = words(picture(estimate("dark", store), "svg"))
    assert "epsilon 2 of one device" in dark
    assert "1 of one device, from one report" in dark


def test_of_many_values_the_largest(store: Path) -> None:
    shown = words(picture(estimate("many", store), "svg"))
    assert "The 60 largest of 80 values." in shown
    assert "c20" in shown
    assert "c19" not in shown


def test_a_trend_and_a_difference(store: Path) -> None:
    shown = words(picture(trend("health", store), "svg"))
    assert "noise of remembered answers is shared" in shown
    assert WEEKS[0] in shown
    assert "très bon" in shown
    made = difference("health", store, segments=("stable", "beta"))
    shown = words(picture(made, "svg"))
    assert "A = stable, B = beta" in shown
    assert "independent" in shown
    many = trend("many", store)
    assert "The 8 of 80 values that are largest at the end." in words(picture(many, "svg"))


def test_the_same_result_gives_the_same_bytes(store: Path) -> None:
    for result in (estimate("health", store), trend("health", store)):
        for form in ("svg", "png"):
            first = picture(result, form)
            with mpl.rc_context({"font.size": 30, "axes.facecolor": "red"}):
                assert picture(result, form) == first
        assert b"<dc:date>" not in picture(result, "svg")


def test_it_leaves_the_settings_of_others_alone(store: Path) -> None:
    with mpl.rc_context({"font.size": 30}):
        picture(estimate("dark", store), "svg")
        assert mpl.rcParams["font.size"] == 30


def test_files(store: Path, tmp_path: Path) -> None:
    result = estimate("dark", store)
    plot(result, tmp_path / "a.png")
    plot(result, str(tmp_path / "b.SVG"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG\r\n")
    ElementTree.fromstring((tmp_path / "b.SVG").read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.SVG"]


def test_a_file_is_whole_or_not_there(store: Path, tmp_path: Path) -> None:
    (tmp_path / "d.svg").mkdir()
    for name in ("absent/a.svg", "d.svg"):
        with pytest.raises(StoreError, match="cannot be written"):
            plot(estimate("dark", store), tmp_path / name)
    several = estimate("health", store, every=True)
    with pytest.raises(ParameterError, match="a plot shows one period"):
        plot(several, tmp_path / "e.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["d.svg"]


@pytest.mark.parametrize("name", ["a.pdf", "a", "svg", ".svg", "a.svg.gz", ""])
def test_another_suffix_is_refused(name: str, tmp_path: Path) -> None:
    result = debias([3, 1], mechanism="grr", epsilon=1)
    with pytest.raises(ParameterError, match=r"must be a file that ends in \.svg or \.png"):
        plot(result, tmp_path / name if name else "")


def test_counts_of_anywhere_have_no_name(tmp_path: Path) -> None:
    plot(debias([30, 10], mechanism="grr", epsilon=1), tmp_path / "a.svg")
    assert "n = 40 devices" in words((tmp_path / "a.svg").read_bytes())


def test_no_display_is_opened(store: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from deniable.analysis import estimate, plot; "
        f"plot(estimate('dark', {str(store)!r}), {str(tmp_path / 'a.png')!r}); "
        "assert not {'matplotlib.pyplot', 'tkinter'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-P", "-c", program], check=True, env={"MPLBACKEND": "tkagg",
                   "MPLCONFIGDIR": str(tmp_path)})  # fmt: skip

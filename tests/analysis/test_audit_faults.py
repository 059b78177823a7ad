"""Faults planted in a copy of the device's code: each must be found, and the healthy code pass."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from audit_kit import devices, fault, leaks, violated

from deniable.analysis.auditing.bounds import epsilon_lower
from deniable.analysis.auditing.devices import Devices
from deniable.analysis.auditing.findings import surprise
from deniable.analysis.auditing.happenings import check_events
from deniable.analysis.auditing.linking import audit_links
from deniable.analysis.auditing.memo import audit_memo, check_derivation, check_hashes
from deniable.analysis.auditing.requests import check_requests
from deniable.analysis.auditing.stream import check_draws
from deniable.analysis.auditing.trials import Trials
from deniable.protocol.survey import Survey, load_survey

TEXT = """
[survey]
format = 1
id = "audited"
max_epsilon = 20
linkable = true
"""
QUESTION = """
[questions.{name}]
version = 1
ask = "Which one?"
{kind}
mechanism = {mechanism}
epsilon = {epsilon}
period = "day"
expires = 2990-01-01
"""
FOUR = 'type = "choice"\nchoices = ["a", "b", "c", "d"]'
SIXTEEN = f'type = "choice"\nchoices = {[f"city {number}" for number in range(16)]}'
QUESTIONS = {
    "dark": ('type = "boolean"', '"grr"'),
    "light": ('type = "boolean"', '"grr"'),
    "font": (FOUR, '"oue"'),
    "side": (f"{FOUR}\nepsilon_first = 1", '"sue"'),
    "city": (SIXTEEN, '{name = "olh", g = 4}'),
}
FEW, COUNT = 30, 120


FAULTS = {
    "a permanent round that is drawn anew": fault(
        "protocol/derivation.py",
        'keyed = _draws(secret, b"permanent", question, str(setup).encode(), stream)',
        "keyed = FreshDraws()",
        "derivation",
        "restart",
    ),
    "a set bit that is never cleared": fault(
        "protocol/mechanisms/unary.py",
        "if keyed.chance(self.true_bit if symbol == value else self.other_bit):",
        "if symbol == value or keyed.chance(self.other_bit):",
        "leakage",
        "derivation",
    ),
    "random bits that neighbours share": fault(
        "protocol/draws.py", "self._at += _WORD", "self._at += _WORD // 2", "draws", "derivation"
    ),
    "a threshold off by 1e-3 as it is computed": fault(
        "protocol/mechanisms/grr.py",
        "keep = floor_threshold(e / (e + (k - 1)))",
        "keep = floor_threshold(e / (e + (k - 1))) + SCALE // 1000",
        "hash",
        "leakage",
    ),
    "a threshold off by 1e-3 as it is asked for": fault(
        "protocol/mechanisms/grr.py",
        "return Response(perturb(int(memo), self.keep, self.k, keyed))",
        "return Response(perturb(int(memo), self.keep + SCALE // 1000, self.k, keyed))",
        "leakage",
    ),
    "a threshold off by 1e-3 as it is compared": fault(
        "protocol/draws.py",
        "return self._word() < threshold",
        "return self._word() < threshold + SCALE // 1000",
        "draws",
    ),
    "a store that draws its secret at every start": fault(
        "client/store.py",
        "        device = self.device()\n        news = device",
        "        with self._db.transaction():\n"
        '            self._db.write("UPDATE device SET machine = NULL, secret = ?", '
        "os.urandom(SECRET_BYTES))\n"
        "        device = self.device()\n        news = device",
        "restart",
        "copy",
    ),
    "a key without the question's name": fault(
        "protocol/derivation.py", "        question.id.encode(),\n", "", "derivation"
    ),
    "a key without question": fault(
        "protocol/derivation.py",
        "        question.id.encode(),\n        str(question.version).encode(),\n"
        "        question.hash.encode(),\n",
        "",
        "derivation",
        "independence",
    ),
    "a hash row for each value": fault(
        "protocol/derivation.py",
        "    setup = _setup(secret, question)\n    memo = question.mechanism.memo(",
        '    drawn = _draws(secret, b"setup", question, b"", str(symbol).encode())\n'
        "    setup = question.mechanism.assign(drawn)\n    memo = question.mechanism.memo(",
        "derivation",
        "setup",
    ),
    "a second round that is left out": fault(
        "protocol/mechanisms/unary.py",
        "        if self.bit_again is None:\n            return permanent\n        mask",
        "        if self.bit_again != 0:\n            return permanent\n        mask",
        "leakage",
        "derivation",
    ),
    "one secret for all": fault(
        "client/schema.py",
        "(os.urandom(SECRET_BYTES), mode, ceiling, day, day)",
        "(bytes(SECRET_BYTES), mode, ceiling, day, day)",
        "secrets",
        "independence",
    ),
    "randomness that anyone can guess": fault(
        "protocol/draws.py", "lambda: os.urandom(64)", "lambda: bytes(64)", "draws", "derivation"
    ),
    "one pseudonym for ever": fault(
        "protocol/derivation.py",
        "survey.encode(), period.encode()]",
        "survey.encode()]",
        "pseudonyms",
        "requests",
    ),
    "a second round that is keyed": fault(
        "protocol/derivation.py",
        "return question.mechanism.instant(permanent, FreshDraws())",
        'return question.mechanism.instant(permanent, KeyedDraws(b"", str(permanent).encode()))',
        "second round",
    ),
    "one city that is answered without noise": fault(
        "protocol/derivation.py",
        "    memo = question.mechanism.memo(setup, question.mechanism.symbol(symbol))\n",
        "    memo = question.mechanism.memo(setup, question.mechanism.symbol(symbol))\n"
        '    if question.id == "city" and symbol == 5:\n'
        '        sure = type("Sure", (), {"chance": lambda self, threshold: True})()\n'
        "        return question.mechanism.permanent(setup, memo, sure)\n",
        "derivation",
    ),
    "numbers below n by a remainder": fault(
        "protocol/draws.py",
        "while (number := self._number(words)) >= limit:",
        "while (number := self._number(words)) >= SCALE > limit:",
        "draws",
    ),
    "one word too many for a number below n": fault(
        "protocol/draws.py",
        "while (number := self._number(words)) >= limit:",
        "while (number := self._number(words)) > limit:",
        "draws",
    ),
    "a segment that carries the value": fault(
        "client/recorder.py",
        "                self._segment,\n                question.wire_hash,",
        "                str(symbol),\n                question.wire_hash,",
        "requests",
    ),
    "a field too many": fault(
        "protocol/report.py",
        'envelope: dict[str, Any] = {"survey": survey, "period": period}',
        'envelope: dict[str, Any] = {"survey": survey, "period": period, "os": "linux"}',
        "requests",
    ),
    "a field too many in a report": fault(
        "protocol/report.py",
        '"hash": wire_hash, "response": response}',
        '"hash": wire_hash, "response": response, "raw": 1}',
        "requests",
    ),
    "a report that is sent twice": fault(
        "client/bodies.py",
        "for r in reports]",
        "for r in [*reports, reports[0]]]",
        "requests",
    ),
    "reports in another order": fault(
        "client/bodies.py",
        "key=lambda report: (report.question, report.version))",
        "key=lambda report: report.response.__repr__())",
        "requests",
    ),
    "a header that tells devices apart": fault(
        "client/transport.py",
        '"User-Agent": "deniable/1",',
        '"User-Agent": f"deniable/1 {threading.get_ident()}",',
        "requests",
    ),
    "a header too many": fault(
        "client/transport.py",
        '"User-Agent": "deniable/1",',
        '"User-Agent": "deniable/1", "X-Device": "7",',
        "requests",
    ),
    "a compressed body that names a moment": fault(
        "client/bodies.py",
        'header = b"\\x1f\\x8b\\x08\\x04" + bytes(4)',
        'header = b"\\x1f\\x8b\\x08\\x04" + bytes([0, 1, 81, 128])',
        "requests",
    ),
    "padding that is not empty": fault(
        "client/bodies.py",
        "filler = bytes(max(0, room - len(body) - _HEADER_BYTES))",
        "filler = bytes(max(0, room - len(body) - _HEADER_BYTES - 1)) + b'x'",
        "requests",
    ),
    "a body as long as what is in it": fault(
        "client/bodies.py",
        "filler = bytes(max(0, room - len(body) - _HEADER_BYTES))",
        "filler = bytes(min(7, room))",
        "requests",
    ),
    "a pseudonym that is drawn and not derived": fault(
        "client/bodies.py",
        "return device_name(pseudonym(secret, survey, period, alone))",
        "return device_name(__import__('os').urandom(16))",
        "pseudonyms",
        "requests",
    ),
    "spare bits that are set": fault(
        "protocol/response.py",
        "    def pack(",
        "    def pack(self, response):\n"
        "        wire = self._pack(response)\n"
        '        return wire[:-1] + "B" if self.kind == "bits" else wire\n\n'
        "    def _pack(",
        "responses",
        "requests",
    ),
    "silence for one answer": fault(
        "client/recorder.py",
        "        if permanent is not None:",
        '        if not (question.id == "font" and symbol == 2):',
        "responses",
    ),
}
OVER_HTTP = {"pseudonyms", "requests"}
BY_CHANCE = {
    "a key without question",
    "a second round that is left out",
    "randomness that anyone can guess",
    "one secret for all",
    "a second round that is keyed",
    "one city that is answered without noise",
}
"""Faults that healthy devices could show too, so that it takes many to tell.

Of 120 devices 23 say which of 16 cities, and each of them says so with 0.36 at epsilon 0.5.
"""


@pytest.fixture(scope="module")
def survey_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As its author wrote it; a compiled survey is refused where it resolves to something else."""
    path = tmp_path_factory.mktemp("survey") / "survey.toml"
    asked = [
        QUESTION.format(
            name=name, kind=kind, mechanism=mechanism, epsilon=0.5 if name == "city" else 2
        )
        for name, (kind, mechanism) in QUESTIONS.items()
    ]
    path.write_text("".join([TEXT, *asked]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def asked(survey_path: Path) -> Survey:
    return load_survey(survey_path)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(
    name: str, survey_path: Path, asked: Survey, tmp_path: Path
) -> None:
    planted = FAULTS[name]
    with devices(survey_path, tmp_path, planted) as audited:
        findings = [check_draws(audited), *check_hashes(audited, asked), *leaks(audited, asked)]
        if planted.found_by - OVER_HTTP - {"draws"}:
            findings += check_derivation(audited, asked, COUNT if name in BY_CHANCE else FEW)
        if planted.found_by & {"restart", "copy"}:
            findings += check_events(audited, asked, 3, ("restart", "copy"))
        if planted.found_by & OVER_HTTP:
            findings += check_requests(audited, asked, count=2)
            findings += audit_links(audited, asked, count=3)
    assert planted.found_by <= violated(findings), [f.line for f in findings if f.kept is False]


def test_the_healthy_code_passes(survey_path: Path, asked: Survey, tmp_path: Path) -> None:
    with devices(survey_path, tmp_path, workers=2) as audited:
        findings = [*leaks(audited, asked), *audit_memo(audited, asked, count=COUNT, lives=2)]
        findings += [*check_requests(audited, asked), *audit_links(audited, asked, count=20)]
    assert violated(findings) == set(), [f.line for f in findings if f.kept is False]
    wanted = {"draws", "secrets", "leakage", "derivation", "setup", "independence"}
    wanted |= {"restart", "copy", "upgrade", "processes", "pseudonyms", "content"}
    wanted |= {"second round", "requests"}
    assert {finding.check for finding in findings} == wanted


def test_silence_for_one_answer_tells_in_the_trials(
    survey_path: Path, asked: Survey, tmp_path: Path
) -> None:
    with devices(survey_path, tmp_path, FAULTS["silence for one answer"]) as audited:
        trials = Trials(
            audited,
            [asked.questions["font"]],
            half=200,
            alpha=1e-3,
            seed=1,
            progress=lambda done: None,
        )
        font = trials.run()["font"]
        (finding,) = trials.oddities()
    assert 2 in (font.one, font.other)
    # All of one side sent nothing and none of the other did; an event that misses a quarter of the
    # other's responses, which were then not among 50 that made it (odds of 1e-6), still shows it.
    assert epsilon_lower(150, 0, 200, 1e-3) > 2
    assert font.lower_bound > 2
    assert (finding.check, finding.kept) == ("responses", False)
    assert finding.line.endswith("nothing, of those that answer c")


def test_spare_bits_do_not_end_the_trials(survey_path: Path, asked: Survey, tmp_path: Path) -> None:
    with devices(survey_path, tmp_path, FAULTS["spare bits that are set"]) as audited:
        font = [asked.questions["font"]]
        trials = Trials(audited, font, half=50, alpha=0.1, seed=1, progress=lambda done: None)
        trials.run()
        findings = list(trials.oddities())
    assert [(finding.question, finding.kept) for finding in findings] == [("font", False)]
    assert "responses that a collector would refuse" in findings[0].line


def test_the_positive_control_tells_the_value(survey_path: Path, asked: Survey) -> None:
    with Devices(survey_path, workers=1) as audited:
        answers = {"dark": True, "font": "c", "side": "b"}
        told = audited.sample(6, answers, broken=True)
        assert {name: set(each) for name, each in told.items()} == {
            "dark": {1},
            "font": {"BA"},
            "side": {"Ag"},
        }
        progress: list[int] = []
        sound = audited.sample(400, {"dark": True}, progress=progress.append)
    assert sum(progress) == 400
    grr = asked.questions["dark"].mechanism
    kept = Fraction(grr.thresholds["keep"], 2**64)
    assert surprise(sound["dark"].count(1), 400, float(kept)) > 1e-9

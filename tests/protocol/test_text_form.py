"""Texts as numbers: one for each normalised text that fits, 0 for all others, and no surprises."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms.rows import PRIME
from deniable.protocol.text_form import OTHER, TextForm

LATIN = TextForm("abcdefghijklmnopqrstuvwxyz", 8, fold=True)
MIXED = TextForm("aäéßσ1 ｱあ한न्", 6, fold=False)
EXACT = TextForm("aAé", 3, fold=False)
FORMS = st.sampled_from([LATIN, MIXED, EXACT, TextForm("aäéσあ가 ", 5, fold=True)])
TEXTS = st.text(max_size=30) | st.text("aAäÄéÉe\u0301\u0308ßσςあｱ가ᄀ\u1161 1ﬁ", max_size=8)


def test_a_text_is_a_number_in_the_base_of_its_letters() -> None:
    form = TextForm("ab", 3, fold=True)
    assert [form.code(text) for text in ("a", "b", "aa", "aab", "bbb")] == [9, 18, 12, 14, 26]
    assert form.size == 27
    assert LATIN.code("hello") == 85_798_787_490


@given(FORMS, st.data())
def test_every_number_of_letters_is_that_of_its_text(form: TextForm, data: st.DataObject) -> None:
    letters = st.text(form.alphabet, min_size=1, max_size=form.max_length)
    text = data.draw(letters.filter(lambda text: form.normalised(text) == text))
    code = form.code(text)
    assert code is not None
    assert 0 < code < form.size
    assert form.decode(code) == text
    for length in range(form.max_length + 1):
        assert form.decode(form.prefix(code, length), length) == text[:length]


@pytest.mark.parametrize("letters", [1, 3, 7, 15, 31, 63, 127, 255, 26, 36, 500])
def test_texts_that_differ_in_one_or_two_letters_differ_in_some_row(letters: int) -> None:
    """Rows know a number modulo P: no two digits of such numbers make up for each other there."""
    form = TextForm("".join(map(chr, range(0x4E00, 0x4E00 + letters))), 64, fold=False)
    sizes = [form.code(form.alphabet[0] * length) or 0 for length in range(65)]
    assert len({size % PRIME for size in sizes}) == 65
    digits = range(1, letters + 1)
    for place in range(1, 64):
        for digit in (1, 2, 4, letters):
            other = digit * form.base**place % PRIME
            assert not {other, PRIME - other} & {0, *digits}


@given(FORMS, TEXTS)
@example(LATIN, "")
@example(LATIN, "\ud800")
@example(LATIN, "a\x00b")
@example(LATIN, "a\u202eb")
@example(EXACT, "e\u0301" * 3)
def test_whatever_is_written_its_normalised_form_has_its_number(form: TextForm, text: str) -> None:
    code = form.encode("word", text)
    assert 0 <= code < form.size
    assert (code == OTHER) == (form.code(text) is None)
    if code:
        assert form.decode(code) == form.normalised(text)
        assert form.encode("word", form.decode(code)) == code
    for normal in ("NFC", "NFD", "NFKC", "NFKD") if form.fold else ("NFC", "NFD"):
        assert form.encode("word", unicodedata.normalize(normal, text)) == code
    if form.fold:
        assert form.encode("word", f"\t {text}\u3000\n") == code
        assert form.encode("word", text.casefold()) == code


@pytest.mark.parametrize(
    ("form", "one", "other"),
    [
        (LATIN, "hello", "\u3000\uff28\uff45\uff4c\uff4c\uff4f \n"),
        (LATIN, "fig", "ﬁg"),
        (LATIN, "strasse", "Straße"),
        (EXACT, "é", "e\u0301"),
        (MIXED, "한", "\u1112\u1161\u11ab"),
    ],
)
def test_forms_that_mean_the_same_are_one(form: TextForm, one: str, other: str) -> None:
    assert form.encode("word", one) == form.encode("word", other) > 0


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\x00", "hel\x00lo", "\ud800", "hello\udfff", "\u200fhello", "hel\u202elo",
        "hel\u200dlo", "hello!", "hellohello", "he" + "\u0301" * 200, "\ufdfa", "ﷺ" * 8,
    ],
)  # fmt: skip
def test_what_does_not_fit_is_other(text: str) -> None:
    assert LATIN.encode("word", text) == OTHER


def test_without_folding_case_width_and_spaces_tell() -> None:
    different = {EXACT.encode("word", text) for text in ("a", "A", "é")}
    assert len(different - {OTHER}) == 3
    for text in (" a", "\uff41", "É"):
        assert EXACT.encode("word", text) == OTHER


@pytest.mark.parametrize("character", ["a", " ", "\u0301", "\ufdfa", "\ud800", "\x00"])
def test_megabytes_take_no_time_and_are_other(character: str) -> None:
    text = character * 10_000_000
    started = time.process_time()
    assert LATIN.encode("word", text) == OTHER
    assert EXACT.encode("word", text) == OTHER
    assert time.process_time() - started < 0.05


def test_the_longest_forms_of_a_text_that_fits_are_looked_at() -> None:
    """U+FDFA is 18 letters when folded; no character is more, and none vanishes."""
    letters = unicodedata.normalize("NFKC", "\ufdfa")
    form = TextForm("".join(dict.fromkeys(letters)), 18, fold=True)
    assert form.encode("word", "\ufdfa") == form.encode("word", letters) > 0
    deep = TextForm("ᾂ", 64, fold=False)
    apart = unicodedata.normalize("NFD", "ᾂ" * 64)
    assert len(apart) == 4 * 64
    assert deep.encode("word", apart) == deep.encode("word", "ᾂ" * 64) > 0
    most = max((chr(at) for at in range(0x3000)), key=lambda one: len(LATIN.normalised(one)))
    assert 0 < len(LATIN.normalised(most)) <= 18


@pytest.mark.parametrize("value", [None, 7, b"secret", ["secret"], {"secret": 1}, object, 1.5])
def test_what_is_no_text_is_a_mistake_that_is_not_repeated(value: object) -> None:
    with pytest.raises(ParameterError, match=r"^word: the value must be text$") as caught:
        LATIN.encode("word", value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None

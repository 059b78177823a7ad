"""Digests without OpenSSL are those of the standard library."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.protocol.digests import BLOCK, HMAC, sha256


@given(st.binary(max_size=BLOCK), st.binary(max_size=600), st.binary(max_size=300))
def test_hmac_is_that_of_the_standard_library(key: bytes, message: bytes, more: bytes) -> None:
    ours, theirs = HMAC(key, message), hmac.new(key, message, hashlib.sha512)
    assert ours.digest() == theirs.digest()
    for one in (ours.copy(), ours):
        one.update(more)
        assert one.digest() == hmac.digest(key, message + more, "sha512")


@given(st.binary(max_size=600))
def test_sha256_is_that_of_the_standard_library(message: bytes) -> None:
    assert sha256(message).digest() == hashlib.sha256(message).digest()


def test_a_key_of_more_than_a_block_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 128 bytes"):
        HMAC(bytes(BLOCK + 1), b"")

"""Finite fields: their axioms, exhaustively, and the numbering that every hash row rests on."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms.galois import Field, field, prime_power

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)
ORDERS = sorted(p**e for p in PRIMES for e in range(1, 7) if p**e <= 64)

Table = list[list[int]]


@cache
def tables(order: int) -> tuple[Table, Table]:
    gf, elements = field(order), range(order)
    sums = [[gf.add(x, y) for y in elements] for x in elements]
    return sums, [[gf.multiply(x, y) for y in elements] for x in elements]


@pytest.mark.parametrize("order", ORDERS)
def test_addition_and_multiplication_are_groups(order: int) -> None:
    """0 and 1 are neutral, all else is permuted without a fixed point, and order is nothing."""
    for neutral, table in enumerate(tables(order)):
        elements = range(neutral, order)
        assert [table[neutral][x] for x in elements] == list(elements)
        for x in elements:
            assert sorted(table[x][y] for y in elements) == list(elements)
            assert all(table[x][y] == table[y][x] for y in elements)
        for x, y in product(elements, repeat=2):
            row, above = table[table[x][y]], table[x]
            assert [row[z] for z in elements] == [above[z] for z in table[y][neutral:]]


@pytest.mark.parametrize("order", ORDERS)
def test_multiplication_distributes_over_addition(order: int) -> None:
    sums, products = tables(order)
    for x, y in product(range(order), repeat=2):
        times = products[x]
        assert [times[z] for z in sums[y]] == [sums[times[y]][w] for w in times]
    assert all(products[0][x] == 0 for x in range(order))


@pytest.mark.parametrize("order", ORDERS)
def test_a_dot_product_is_the_sum_of_products(order: int) -> None:
    sums, products = tables(order)
    xs, ys = range(order), [(7 * x + 3) % order for x in range(order)]
    total = 0
    for x, y in zip(xs, ys, strict=True):
        total = sums[total][products[x][y]]
    assert field(order).dot(xs, ys) == total


@pytest.mark.parametrize("order", [order for order in ORDERS if field(order).degree > 1])
def test_the_modulus_is_the_first_that_makes_a_field(order: int) -> None:
    """Every polynomial before it leaves some element without an inverse."""
    gf = field(order)
    p, e = gf.characteristic, gf.degree
    first = sum(c * p**i for i, c in enumerate(gf.modulus))
    for low in range(first):
        ring = Field(p, e, tuple(low // p**i % p for i in range(e)))
        assert any(all(ring.multiply(x, y) != 1 for y in range(order)) for x in range(1, order))


def test_the_numbering_is_frozen() -> None:
    """GF(4) in full, moduli as others print them, and one product of each larger field."""
    assert tables(4) == (
        [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]],
        [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]],
    )
    moduli = {
        8: (1, 1, 0),  # x^3 + x + 1
        9: (1, 0),  # x^2 + 1
        16: (1, 1, 0, 0),  # x^4 + x + 1
        25: (2, 0),  # x^2 + 2
        27: (1, 2, 0),  # x^3 + 2x + 1
        32: (1, 0, 1, 0, 0),  # x^5 + x^2 + 1
        49: (1, 0),  # x^2 + 1
        64: (1, 1, 0, 0, 0, 0),  # x^6 + x + 1
        128: (1, 1, 0, 0, 0, 0, 0),  # x^7 + x + 1
        256: (1, 1, 0, 1, 1, 0, 0, 0),  # x^8 + x^4 + x^3 + x + 1, that of AES
        4096: (1, 0, 0, 1) + (0,) * 8,  # x^12 + x^3 + 1
    }
    assert {order: field(order).modulus for order in moduli} == moduli
    assert field(256).multiply(0x53, 0xCA) == 1  # FIPS 197's example of an inverse
    assert field(256).multiply(0x57, 0x83) == 0xC1  # and of a product


def test_orders_are_prime_powers() -> None:
    powers = [n for n in range(-1, 130) if prime_power(n)]
    assert powers[: len(ORDERS)] == ORDERS
    assert (prime_power(4096), prime_power(3481), prime_power(3599)) == ((2, 12), (59, 2), None)
    for order in (-1, 0, 1, 6, 4095):
        with pytest.raises(ParameterError, match=f"must be a prime power: {order}"):
            field(order)

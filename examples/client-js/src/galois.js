/**
 * Finite fields, with their elements numbered: the arithmetic behind hash rows.
 *
 * Element x of GF(p^e) is the polynomial whose coefficients are the base-p digits of x, constant
 * term first; products are taken modulo the first monic irreducible polynomial of degree e. What
 * must never change: that numbering and that polynomial.
 */

export class Field {
  /** @param {number} p @param {number} e @param {number[]} modulus without its leading 1 */
  constructor(p, e, modulus) {
    this.p = p;
    this.e = e;
    this.modulus = modulus;
  }

  /** @param {number} x @param {number} y */
  add(x, y) {
    return number(digits(x, this.p, this.e).map((a, i) => a + digits(y, this.p, this.e)[i]), this.p);
  }

  /** The sum of the products x y. @param {number[]} xs @param {number[]} ys */
  dot(xs, ys) {
    const total = new Array(2 * this.e - 1).fill(0);
    xs.forEach((x, at) => {
      const right = digits(ys[at], this.p, this.e);
      digits(x, this.p, this.e).forEach((a, i) => right.forEach((b, j) => (total[i + j] += a * b)));
    });
    return number(remainder(total, [...this.modulus, 1], this.p), this.p);
  }
}

const fields = new Map();

/** @param {number} order @returns {Field | null} null if there is none of that order */
export function field(order) {
  if (!fields.has(order)) {
    const power = primePower(order);
    fields.set(order, power && new Field(...power, firstIrreducible(...power)));
  }
  return fields.get(order);
}

/** @param {number} x @param {number} base @param {number} count @returns {number[]} last digit first */
export function digits(x, base, count) {
  return Array.from({ length: count }, (_, i) => Math.floor(x / base ** i) % base);
}

/** @param {number[]} coefficients @param {number} p */
function number(coefficients, p) {
  return coefficients.reduce((sum, c, i) => sum + (((c % p) + p) % p) * p ** i, 0);
}

/** @param {number} n @returns {[number, number] | null} (p, e) with n = p^e */
function primePower(n) {
  let p = 2;
  while (p < n && n % p !== 0) p += 1;
  const e = Math.round(Math.log(n) / Math.log(p));
  return n >= 2 && p ** e === n ? [p, e] : null;
}

/** @param {number} p @param {number} e */
function firstIrreducible(p, e) {
  const divisors = [];
  for (let d = 1; d <= e / 2; d += 1) {
    for (let low = 0; low < p ** d; low += 1) divisors.push([...digits(low, p, d), 1]);
  }
  for (let low = 0; ; low += 1) {
    const candidate = [...digits(low, p, e), 1];
    if (divisors.every((divisor) => remainder(candidate, divisor, p).some((c) => c !== 0))) {
      return candidate.slice(0, -1);
    }
  }
}

/** @param {number[]} dividend @param {number[]} divisor monic @param {number} p */
function remainder(dividend, divisor, p) {
  const rest = dividend.map((c) => c % p);
  while (rest.length >= divisor.length) {
    const lead = rest.pop();
    const shift = rest.length - divisor.length + 1;
    for (let i = 0; i < divisor.length - 1; i += 1) {
      rest[shift + i] = (((rest[shift + i] - lead * divisor[i]) % p) + p) % p;
    }
  }
  return rest;
}

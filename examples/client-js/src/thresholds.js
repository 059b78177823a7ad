/**
 * What the thresholds of a question must be, from its epsilons: p rounded down and q up, so that
 * no response reveals more than the survey says. Whole numbers only.
 */

import { ONE, scaled } from "./decimals.js";
import { SCALE } from "./draws.js";

const UNIT = 1n << 400n;

/**
 * @param {{mechanism: {name: string, k: number, options: any}, epsilon: string, epsilon_first: string | null}} question
 * @returns {Record<string, string>}
 */
export function thresholds({ mechanism, epsilon, epsilon_first: first }) {
  const [eps, one] = [scaled(epsilon), first === null ? null : scaled(first)];
  const found = mechanism.name === "oue" ? bits(eps, one) : keeps(range(mechanism), eps, one);
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, String(value)]));
}

/** @param {{name: string, k: number, options: any}} mechanism */
const range = (mechanism) => BigInt(mechanism.name === "olh" ? mechanism.options.g : mechanism.k);

/** `keep` = E/(E+k-1); `keep_again` = e2/(e2+k-1), e2 = (F(E+k-2) - (k-1)) / (E-F). */
function keeps(k, epsilon, first) {
  const E = exp(epsilon);
  const keep = (SCALE * E) / (E + (k - 1n) * UNIT);
  if (first === null) return { keep };
  const F = exp(first);
  const above = (F * (E + (k - 2n) * UNIT)) / UNIT - (k - 1n) * UNIT;
  return { keep, keep_again: (SCALE * above) / (above + (k - 1n) * (E - F)) };
}

/** `true_bit` = 1/2; `other_bit` = 1/(E+1), up; `bit_again` = (EF-1) / ((E-1)(F+1)). */
function bits(epsilon, first) {
  const E = exp(epsilon);
  const found = { true_bit: SCALE / 2n, other_bit: (SCALE * UNIT) / (E + UNIT) + 1n };
  if (first === null) return found;
  const F = exp(first);
  const both = exp(epsilon + first) - UNIT;
  return { ...found, bit_again: (SCALE * both * UNIT) / ((E - UNIT) * (F + UNIT)) };
}

/** e^(x / 10^18) in units of 2^-400, a few of them too small. @param {bigint} x */
function exp(x) {
  let [term, sum] = [UNIT, UNIT];
  for (let n = 1n; term > 0n; n += 1n) {
    term = (term * x) / (ONE * n);
    sum += term;
  }
  return sum;
}

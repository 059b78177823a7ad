/**
 * The mechanisms that this client has: grr, oue and olh, each in one round or two.
 *
 * A response is `{row, out}`: out is a symbol, or bits as bytes, bit i in byte i / 8 at 1 << i % 8.
 * What must never change: which words decide what, in which order.
 */

import { base64url, fromBase64url } from "./bytes.js";
import { Draws, SCALE } from "./draws.js";
import { digits, field } from "./galois.js";

/** @typedef {{row: number, out: number | Uint8Array}} Response */
/** @typedef {{kind: "symbol" | "bits", width: number, rows: number, weight: null}} Shape */

/** Keep the symbol, or move to a uniform other one. */
class Grr {
  rows = 1;

  /** @param {number} k @param {Record<string, string>} thresholds */
  constructor(k, thresholds) {
    this.width = k;
    this.keep = BigInt(thresholds.keep);
    this.keepAgain = "keep_again" in thresholds ? BigInt(thresholds.keep_again) : null;
  }

  /** @param {number} _row @param {number} symbol */
  memo(_row, symbol) {
    return symbol;
  }

  /** @param {number} row @param {number} memo @param {Draws} keyed @returns {Promise<Response>} */
  async permanent(row, memo, keyed) {
    return { row, out: await this.#perturbed(memo, this.keep, keyed) };
  }

  /** @param {Response} permanent @param {Draws} fresh @returns {Promise<Response>} */
  async instant({ row, out }, fresh) {
    return { row, out: this.keepAgain === null ? out : await this.#perturbed(out, this.keepAgain, fresh) };
  }

  async #perturbed(symbol, threshold, draws) {
    if (await draws.chance(threshold)) return symbol;
    const other = await draws.below(this.width - 1);
    return other >= symbol ? other + 1 : other;
  }

  pack(out) {
    return out;
  }

  unpack(wire) {
    return wire;
  }
}

/** Hash the symbol by the device's row, then keep its bucket or move to another. */
class Olh extends Grr {
  /** @param {number} k @param {number} g @param {Record<string, string>} thresholds */
  constructor(k, g, thresholds) {
    super(g, thresholds);
    this.g = g;
    this.digits = 1;
    while (g ** this.digits < k) this.digits += 1;
    this.rows = (g ** this.digits - 1) / (g - 1);
  }

  /** The bucket of a symbol: <a, symbol>, a the row-th number whose leading base-g digit is 1. */
  memo(row, symbol) {
    let lead = 1;
    let rest = row;
    while (rest >= lead) {
      rest -= lead;
      lead *= this.g;
    }
    const [a, v] = [lead + rest, symbol].map((n) => digits(n, this.g, this.digits));
    return field(this.g).dot(a, v);
  }
}

/** One coin for each symbol: fair for the true one, as few others as epsilon allows. */
class Oue {
  rows = 1;

  /** @param {number} k @param {Record<string, string>} thresholds */
  constructor(k, thresholds) {
    this.width = k;
    this.trueBit = BigInt(thresholds.true_bit);
    this.otherBit = BigInt(thresholds.other_bit);
    this.bitAgain = "bit_again" in thresholds ? BigInt(thresholds.bit_again) : null;
  }

  memo(_row, symbol) {
    return symbol;
  }

  async permanent(row, memo, keyed) {
    return { row, out: await this.#drawn(keyed, (bit) => (bit === memo ? this.trueBit : this.otherBit)) };
  }

  async instant({ row, out }, fresh) {
    const again = this.bitAgain;
    if (again === null) return { row, out };
    return { row, out: await this.#drawn(fresh, (bit) => (isSet(out, bit) ? again : SCALE - again)) };
  }

  async #drawn(draws, thresholdOf) {
    const bytes = new Uint8Array(Math.ceil(this.width / 8));
    for (let bit = 0; bit < this.width; bit += 1) {
      if (await draws.chance(thresholdOf(bit))) bytes[bit >> 3] |= 1 << (bit & 7);
    }
    return bytes;
  }

  pack(out) {
    return base64url(out);
  }

  unpack(wire) {
    return fromBase64url(wire);
  }
}

const isSet = (bytes, bit) => (bytes[bit >> 3] >> (bit & 7)) & 1;

/**
 * @param {{name: string, k: number, options: any, thresholds: Record<string, string>}} document
 * @returns {Grr | Olh | Oue | null} null for a mechanism that this client lacks
 */
export function mechanism({ name, k, options, thresholds }) {
  if (name === "grr") return new Grr(k, thresholds);
  if (name === "oue") return new Oue(k, thresholds);
  if (name === "olh" && field(options.g) !== null) return new Olh(k, options.g, thresholds);
  return null;
}

/** @param {Grr | Olh | Oue} made @returns {Shape} */
export function shape(made) {
  const kind = made instanceof Oue ? "bits" : "symbol";
  return { kind, width: made.width, rows: made.rows, weight: null };
}

/** The one JSON form of a response. @param {Grr | Olh | Oue} made @param {Response} response */
export function pack(made, { row, out }) {
  return made.rows === 1 ? made.pack(out) : [row, made.pack(out)];
}

/** @param {Grr | Olh | Oue} made @returns {Response} */
export function unpack(made, wire) {
  const [row, out] = made.rows === 1 ? [0, wire] : wire;
  return { row, out: made.unpack(out) };
}

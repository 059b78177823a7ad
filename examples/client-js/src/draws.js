/**
 * Where random bits come from: keyed for what must repeat, fresh for what must not.
 *
 * What must never change: the layout of the hashed input, the order in which bytes are consumed,
 * and the rejection rule. No float takes part, and no bit is used twice.
 */

import { joined, lengthPrefixed } from "./bytes.js";

export const DERIVATION = "deniable/1";
export const SCALE = 1n << 64n;

const HMAC = { name: "HMAC", hash: "SHA-512" };

/** Exact draws from blocks of random bytes: big-endian words of 64 bits. */
export class Draws {
  #nextBlock;
  #block = new DataView(new ArrayBuffer(0));
  #at = 0;

  /** @param {() => Uint8Array | Promise<Uint8Array>} nextBlock */
  constructor(nextBlock) {
    this.#nextBlock = nextBlock;
  }

  /** @returns {Promise<bigint>} */
  async word() {
    if (this.#at === this.#block.byteLength) {
      const { buffer, byteOffset, byteLength } = await this.#nextBlock();
      this.#block = new DataView(buffer, byteOffset, byteLength);
      this.#at = 0;
    }
    this.#at += 8;
    return this.#block.getBigUint64(this.#at - 8);
  }

  /**
   * @param {bigint} threshold
   * @returns {Promise<boolean>} true with probability threshold / 2^64
   */
  async chance(threshold) {
    return (await this.word()) < threshold;
  }

  /**
   * @param {number} n at most 2^53
   * @returns {Promise<number>} uniform on 0..n-1
   */
  async below(n) {
    if (n === 1) return 0;
    const divisor = BigInt(n);
    const limit = SCALE - (SCALE % divisor);
    let word = await this.word();
    while (word >= limit) word = await this.word();
    return Number(word % divisor);
  }
}

/**
 * HMAC-SHA-512(secret, length-prefixed(fields) ‖ counter), the counter in 8 bytes from 0.
 * @param {Uint8Array} secret
 * @param {string[]} fields
 */
export function keyedDraws(secret, fields) {
  const message = lengthPrefixed([DERIVATION, ...fields]);
  const key = hmacKey(secret);
  let counter = 0n;
  return new Draws(async () => {
    const tail = new Uint8Array(8);
    new DataView(tail.buffer).setBigUint64(0, counter++);
    return signed(await key, joined([message, tail]));
  });
}

/** The system's randomness; an instance serves one response and is thrown away. */
export function freshDraws() {
  return new Draws(() => crypto.getRandomValues(new Uint8Array(64)));
}

/** HMAC-SHA-512 of fields alone, without a counter. @param {Uint8Array} secret @param {string[]} fields */
export async function digest(secret, fields) {
  return signed(await hmacKey(secret), lengthPrefixed([DERIVATION, ...fields]));
}

/** @param {Uint8Array} secret */
const hmacKey = (secret) => crypto.subtle.importKey("raw", secret, HMAC, false, ["sign"]);

/** @param {CryptoKey} key @param {Uint8Array} message */
async function signed(key, message) {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, message));
}

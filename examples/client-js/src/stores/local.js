/**
 * A store in a browser's localStorage, one for each origin and name.
 *
 * Every script of the origin can read it, and so can recompute answers from reports. Where the
 * browser has Web Locks, tabs wait for each other. Elsewhere, a change fails if another tab made
 * one meanwhile.
 */

import { BusyStore } from "../errors.js";
import { Turns } from "../turns.js";

/** @type {Map<string, Turns>} of stores where the browser has no locks */
const turns = new Map();

export class LocalStorage {
  #key;
  #storage;

  /**
   * @param {string} name one for each app of the origin
   * @param {Storage} [storage]
   */
  constructor(name, storage = globalThis.localStorage) {
    this.#key = `deniable:${name}`;
    this.#storage = storage;
  }

  /** @returns {Promise<string | null>} */
  async load() {
    return this.#storage.getItem(this.#key);
  }

  /** @param {string} text @param {string | null} [before] what it replaces */
  async save(text, before) {
    if (before !== undefined && this.#storage.getItem(this.#key) !== before) {
      throw new BusyStore("another tab changed the store; try again");
    }
    this.#storage.setItem(this.#key, text);
  }

  /**
   * @template T
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  exclusive(act) {
    const locks = globalThis.navigator?.locks;
    if (locks) return locks.request(this.#key, act);
    if (!turns.has(this.#key)) turns.set(this.#key, new Turns());
    return turns.get(this.#key).run(act);
  }
}

/** A store that is forgotten with the process: for tests. Each is a device of its own. */

import { Turns } from "../turns.js";

export class MemoryStorage {
  #text;
  #turns = new Turns();

  /** @param {string | null} [text] what an earlier one held */
  constructor(text = null) {
    this.#text = text;
  }

  /** @returns {Promise<string | null>} null if there never was one */
  async load() {
    return this.#text;
  }

  /**
   * Keep the whole text, durably, or throw.
   * @param {string} text
   * @param {string | null} [before] what it replaces, for a storage that has no locks
   */
  async save(text) {
    this.#text = text;
  }

  /**
   * Run something while nobody else writes to the store.
   * @template T
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  exclusive(act) {
    return this.#turns.run(act);
  }
}

/** A store that is forgotten with the process: for tests. Each is a device of its own. */

export class MemoryStorage {
  #text;
  #turn = Promise.resolve();

  /** @param {string | null} [text] what an earlier one held */
  constructor(text = null) {
    this.#text = text;
  }

  /** @returns {Promise<string | null>} null if there never was one */
  async load() {
    return this.#text;
  }

  /** Keep the whole text, durably, or throw. @param {string} text */
  async save(text) {
    this.#text = text;
  }

  /**
   * Run something while nobody else uses the store.
   * @template T
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  exclusive(act) {
    const done = this.#turn.then(act);
    this.#turn = done.then(() => {}, () => {});
    return done;
  }
}

/**
 * A store in a browser's localStorage, one for each origin and name.
 *
 * Every script of the origin can read it, and so can recompute answers from reports. Where the
 * browser has Web Locks, tabs wait for each other.
 */

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

  /** @param {string} text */
  async save(text) {
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
    const done = (turns.get(this.#key) ?? Promise.resolve()).then(act);
    turns.set(this.#key, done.then(() => {}, () => {}));
    return done;
  }
}

/**
 * A store in a file, for Node: 0600, written beside its place and then renamed, so that it is
 * whole or not there at all. A lock file keeps other processes out while one writes.
 */

import { randomBytes } from "node:crypto";
import { open, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { BusyStore } from "../errors.js";
import { Turns } from "../turns.js";

const STALE = 10_000; // age of a lock whose process was killed
const PATIENCE = 2_000; // longest wait for another process
const POLL = 10;

export class FileStorage {
  #path;
  #lock;
  #patience;
  #token = "";
  #turns = new Turns();

  /** @param {string} path @param {{patience?: number}} [settings] milliseconds */
  constructor(path, { patience = PATIENCE } = {}) {
    this.#patience = patience;
    this.#path = resolve(path);
    this.#lock = `${this.#path}.lock`;
  }

  /** @returns {Promise<string | null>} */
  load() {
    return present(readFile(this.#path, "utf8"));
  }

  /** @param {string} text @param {string | null} [before] what it replaces */
  async save(text, before) {
    const draft = `${this.#path}.new-${randomBytes(8).toString("hex")}`;
    try {
      await written(draft, text);
      await this.#stillMine(before);
      await rename(draft, this.#path);
    } finally {
      await rm(draft, { force: true });
    }
    await synced(dirname(this.#path));
  }

  /**
   * @template T
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  exclusive(act) {
    return this.#turns.run(async () => {
      await this.#acquire();
      try {
        return await act();
      } finally {
        await this.#release();
      }
    });
  }

  async #acquire() {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    this.#token = randomBytes(16).toString("hex");
    const until = Date.now() + this.#patience;
    while (!(await created(this.#lock, this.#token))) {
      if (await this.#breakStale()) continue;
      if (Date.now() > until) throw new BusyStore("another process is using the store; try again");
      await new Promise((done) => setTimeout(done, POLL));
    }
  }

  /** Remove the lock of a process that was killed; one process at a time looks and removes. */
  async #breakStale() {
    if (!(await isStale(this.#lock))) return false;
    const guard = `${this.#lock}.stale`;
    if (!(await created(guard, this.#token))) {
      if (await isStale(guard)) await rm(guard, { force: true });
      return false;
    }
    try {
      if (await isStale(this.#lock)) await rm(this.#lock, { force: true });
    } finally {
      await rm(guard, { force: true });
    }
    return true;
  }

  async #stillMine(before) {
    const changed = before !== undefined && (await this.load()) !== before;
    if (changed || (await present(readFile(this.#lock, "utf8"))) !== this.#token) {
      throw new BusyStore("another process took the store over; try again");
    }
  }

  async #release() {
    const mine = (await present(readFile(this.#lock, "utf8"))) === this.#token;
    if (mine) await rm(this.#lock, { force: true });
  }
}

async function isStale(path) {
  const found = await present(stat(path));
  return found !== null && Date.now() - found.mtimeMs >= STALE;
}

/** What a file operation gives, or null if there is no such file. */
async function present(operation) {
  try {
    return await operation;
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

async function created(path, text) {
  try {
    await written(path, text, false);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

async function written(path, text, durable = true) {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    if (durable) await file.sync();
  } finally {
    await file.close();
  }
}

async function synced(folder) {
  const opened = await open(folder, "r").catch(() => null); // not every system opens folders
  await opened?.sync().catch(() => {});
  await opened?.close();
}

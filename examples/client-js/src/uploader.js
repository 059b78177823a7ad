/** The timer that sends reports when their time has come. It keeps no process alive. */

import { BETWEEN, uniform } from "./pacing.js";

const NAP = 15 * 60_000; // after which the clock is read again: it may have been set, or have slept

/** Sends one parcel at a time in the background. */
export class Uploader {
  #round;
  #timer = null;
  #busy = false;
  #stopped = true;

  /**
   * @param {() => Promise<{tried: boolean, wait: number}>} round sends one parcel if one is due;
   *   says whether one was tried, and in how many milliseconds to look again
   */
  constructor(round) {
    this.#round = round;
  }

  /** Look again at what is due. */
  wake() {
    this.#stopped = false;
    if (!this.#busy) this.#after(0);
  }

  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #after(milliseconds) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), Math.max(0, Math.min(milliseconds, NAP)));
    this.#timer.unref?.();
  }

  async #look() {
    this.#busy = true;
    const { tried, wait } = await this.#round();
    const between = tried ? await uniform(BETWEEN) : 0; // so that requests do not leave as one
    this.#busy = false;
    if (!this.#stopped) this.#after(Math.max(wait, between));
  }
}

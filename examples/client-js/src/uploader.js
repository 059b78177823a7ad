/** The timer that sends reports when their time has come. It keeps no process alive. */

import { backoff, BETWEEN, uniform } from "./pacing.js";

const NAP = 15 * 60_000;

/** Sends one parcel at a time in the background. */
export class Uploader {
  #round;
  #clock;
  #timer = null;
  #busy = false;
  #stopped = true;
  #failures = 0;
  #resume = 0;

  /**
   * @param {(now: number, mayHave: boolean) => Promise<{held: boolean | null, next: number}>} round
   *   sends one parcel if one is due and may be tried; says whether it must be tried again (null if
   *   none was tried), and when to look again
   * @param {() => number} clock
   */
  constructor(round, clock) {
    this.#round = round;
    this.#clock = clock;
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
    const now = this.#clock();
    // A clock that was set back does not postpone the next attempt by more than an hour.
    this.#resume = Math.min(this.#resume, now + 3_600_000);
    const { held, next } = await this.#round(now, now >= this.#resume);
    if (held !== null) {
      this.#failures = held ? this.#failures + 1 : 0;
      this.#resume = now + (held ? await backoff(this.#failures) : await uniform(BETWEEN));
    }
    this.#busy = false;
    if (!this.#stopped) this.#after(Math.max(next, this.#resume) - this.#clock());
  }
}

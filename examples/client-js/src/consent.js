/**
 * What holds now: the environment's no, the person's decision, or else what the app asked for.
 *
 * What must never change: a no is obeyed before it is stored, whether or not it can be, and for as
 * long as the app runs, whatever becomes of the store; only a later yes ends it.
 */

/** The consent of one client. */
export class Consent {
  /** What says no before anybody was asked, or null. @type {string | null} */
  veto;
  #wish;
  /** How many decisions this client was told. */
  #told = 0;
  /** Whether it was told a no that no later decision in the store replaces yet. */
  #refused = false;
  /** Whether the last decision seen in the store was a no. */
  #remembered = false;

  /** @param {"off" | "ask" | "on"} wish of the app @param {string | null} veto */
  constructor(wish, veto) {
    this.#wish = wish;
    this.veto = veto;
  }

  /**
   * @param {import("./store.js").State | null} state what was just read
   * @returns {"off" | "local" | "on"}
   */
  in(state) {
    if (state?.consent) this.#remembered = state.consent === "off";
    if (this.veto !== null || this.#refused) return "off";
    const chosen = state?.consent ?? (this.#remembered ? "off" : this.#wish);
    return chosen === "ask" ? "local" : chosen;
  }

  /** Whether this client may do anything, for all that is known without a look at the store. */
  get open() {
    return this.veto === null && !this.#refused;
  }

  /** Obey a no at once. @returns {number} of the decision */
  no() {
    this.#refused = true;
    return this.yes();
  }

  /** A yes counts once it is stored. @returns {number} of the decision */
  yes() {
    this.#told += 1;
    return this.#told;
  }

  /** A decision is in the store, which rules from now on unless there was a later one. @param {number} told */
  stored(told) {
    if (told !== this.#told) return;
    this.#refused = false;
    this.#remembered = false;
  }

  /** Why there is a no that the store does not tell. @param {import("./store.js").State | null} state */
  reason(state) {
    if (this.veto !== null) return this.veto;
    if (this.#refused && state?.consent !== "off") return "the answer was no, and could not be stored yet";
    return this.#remembered && !state?.consent ? "the answer was no, and the store has lost it" : null;
  }
}

/**
 * What a device keeps: its secret, its person's decision, what it spent, what waits.
 *
 * One JSON text, replaced whole. What must never change: no field holds a true value, a secret is
 * drawn for a new store and for a person who says yes after an erasure only, and what is spent
 * stays spent.
 */

import { base64url, fromBase64url } from "./bytes.js";
import { canonical, scaled } from "./decimals.js";
import { StoreError } from "./errors.js";
import { date } from "./periods.js";

const FORMAT = 1;
const SECRET_BYTES = 32;
const UNKNOWN_CEILING = "3200"; // more than 200 questions can spend; a survey lowers it

/**
 * @typedef {object} Queued
 * @property {string} survey
 * @property {string} period
 * @property {string} question
 * @property {number} version
 * @property {boolean} alone travels by itself, under a pseudonym of its own
 * @property {string | null} segment
 * @property {string} hash as it travels
 * @property {unknown} response in its wire form
 * @property {boolean} consented recorded while reports might be sent; no other ever is
 * @property {number} notBefore
 * @property {number} closes
 */

/**
 * @typedef {object} Spent
 * @property {string} survey
 * @property {string} question
 * @property {number} version
 * @property {string} hash
 * @property {string} epsilon
 * @property {boolean} erased
 * @property {string} [through] the last period whose mark was given up; up to it, all are answered
 */

/**
 * @typedef {object} State
 * @property {number} format
 * @property {string | null} secret base64url; null before a yes, and once erased
 * @property {"on" | "off" | null} consent what the person decided
 * @property {string | null} decidedOn
 * @property {number} [begun] how often sending has begun, by a yes
 * @property {string} ceiling the least max_epsilon this store ever saw
 * @property {Spent[]} ledger
 * @property {Array<{survey: string, question: string, version: number, period: string}>} answered
 * @property {Queued[]} queue
 * @property {Record<string, number>} since when each question with a default is known
 * @property {import("./clock.js").Seen} clock
 * @property {{failures: number, resume: number}} pause when the collector may be tried again
 * @property {{by: string, until: number} | null} [sending] which client sends, and until when at most
 * @property {Record<string, number>} counts what became of answers and reports
 */

/** The lasting part of a client, in one of the storages. */
export class Store {
  #storage;
  /** Whether there was a store: one that has gone since is not made anew by an answer. */
  #seen = false;

  /** @param {{load: Function, save: Function, exclusive: Function}} storage */
  constructor(storage) {
    this.#storage = storage;
  }

  /**
   * Look, without waiting for anybody: a store is replaced whole.
   * @returns {Promise<State | null>} null if there never was one
   */
  async read() {
    return (await this.#load(false)).state;
  }

  /**
   * Read the state, let it be changed, and keep it durably if it was; all or nothing.
   * @template T
   * @param {(state: State) => T | Promise<T>} change
   * @param {{anew?: boolean}} [how] anew: also if the store has gone
   * @returns {Promise<T>}
   */
  change(change, { anew = false } = {}) {
    return this.#storage.exclusive(async () => {
      const { text, state: found } = await this.#load(anew);
      const state = found ?? fresh();
      const before = JSON.stringify(state);
      const result = await change(state);
      const after = JSON.stringify(state);
      if (after !== before) await told(this.#storage.save(after, text));
      this.#seen ||= after !== before;
      return result;
    });
  }

  /** What is there, as text and as a state; a store that was there must not be missing. */
  async #load(anew) {
    const seen = this.#seen; // before: one that is made meanwhile is not missed
    const text = await told(this.#storage.load());
    if (text === null && seen && !anew) throw new StoreError("the store has gone; the next start may make another");
    this.#seen ||= text !== null;
    return { text, state: text === null ? null : parsed(text) };
  }
}

/** What a storage gives; its failure is told without what it holds. */
async function told(operation) {
  try {
    return await operation;
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`the store failed (${error?.code || error?.name})`);
  }
}

/** @returns {State} */
function fresh() {
  const decision = { secret: null, consent: null, decidedOn: null, begun: 0, ceiling: UNKNOWN_CEILING };
  const [clock, pause] = [{ born: null, last: null, odd: null }, { failures: 0, resume: 0 }];
  return { format: FORMAT, ...decision, ledger: [], answered: [], queue: [], since: {}, clock, pause, counts: {} };
}

/** @param {State} state @returns {Uint8Array} the secret, drawn if this store never had one */
export function secretOf(state) {
  if (state.secret === null) {
    state.secret = base64url(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
  }
  return fromBase64url(state.secret);
}

/** How often sending has begun. @param {State | null} state */
export const begun = (state) => state?.begun ?? 0;

/** Whether the secret was destroyed: then none is drawn until the person says yes. */
export const isErased = (state) => state.secret === null && state.ledger.length > 0;

/** Lower the ceiling to a survey's. @param {State} state @param {string} maxEpsilon */
export function lowerCeiling(state, maxEpsilon) {
  if (scaled(maxEpsilon) < scaled(state.ceiling)) state.ceiling = maxEpsilon;
}

/** @param {State} state @returns {bigint} the sum of every epsilon in the ledger */
export const spent = (state) => state.ledger.reduce((sum, line) => sum + scaled(line.epsilon), 0n);

/** @param {State} state @returns {{epsilonSpent: string, epsilonCeiling: string}} */
export const bill = (state) => ({ epsilonSpent: canonical(spent(state)), epsilonCeiling: state.ceiling });

/**
 * Store the person's yes. What was kept before it is thrown away, and its periods may be answered
 * again; defaults are decided from now on.
 * @param {State} state
 * @param {number} now
 * @param {boolean} consented whether reports were sent already
 */
export function sayYes(state, now, consented) {
  if (!consented) {
    forgetUnconsented(state);
    state.queue = []; // an app that began to ask: it may have left, so its period stays answered
    const since = Math.max(now, state.clock.last ?? now); // a clock that was set back answers no day before the yes
    for (const key of Object.keys(state.since)) state.since[key] = since;
  }
  if (!consented || state.consent !== "on") state.begun = begun(state) + 1;
  secretOf(state);
  Object.assign(state, { consent: "on", decidedOn: date(now) });
}

/** Store the person's no, and erase what waits. @param {State} state @param {number} now */
export function sayNo(state, now) {
  Object.assign(state, { consent: "off", decidedOn: date(now), queue: [] });
}

/** Destroy the secret and all that waits; what was spent stays. @param {State} state @param {number} now */
export function erase(state, now) {
  sayNo(state, now);
  for (const line of state.ledger) line.erased = true;
  Object.assign(state, { secret: null, answered: [], since: {} });
}

/** Throw away the reports that were recorded without consent, as if they never had been. */
export function forgetUnconsented(state) {
  const kept = state.queue.filter((report) => !report.consented);
  state.answered = state.answered.filter((mark) => !kept.some((report) => isSame(mark, report)));
  state.queue = state.queue.filter((report) => report.consented);
}

/** Give up the marks of periods before a year; nothing up to them is answered again. */
export function trimMarks(state, year) {
  const old = state.answered.filter(({ period }) => period !== "once" && period < year);
  for (const mark of old) {
    const line = lineOf(state, mark);
    if (line !== undefined && mark.period > (line.through ?? "")) line.through = mark.period;
  }
  state.answered = state.answered.filter((mark) => !old.includes(mark));
}

/** Whether a question has its answer in a period. @param {State} state @param {any} mark */
export const isAnswered = (state, mark) =>
  mark.period <= (lineOf(state, mark)?.through ?? "") || state.answered.some((other) => isSame(other, mark));

/** The ledger's line of a question version. @param {State} state @returns {Spent | undefined} */
export const lineOf = ({ ledger }, { survey, question, version }) =>
  ledger.find((line) => line.survey === survey && line.question === question && line.version === version);

/** Whether two marks, or a mark and a report, are of one question and period. */
export const isSame = (a, b) =>
  a.survey === b.survey && a.question === b.question && a.version === b.version && a.period === b.period;

/** Add to the counts of what became of answers and reports. */
export function count(state, name, n = 1) {
  if (n > 0) state.counts[name] = (state.counts[name] ?? 0) + n;
}

/** @param {string} text @returns {State} */
function parsed(text) {
  let state = null;
  try {
    state = JSON.parse(text);
  } catch {
    // said below
  }
  if (Number.isInteger(state?.format) && state.format > FORMAT) {
    throw new StoreError("the store was written by a newer client; upgrade the app");
  }
  if (!isState(state)) throw new StoreError("the store is damaged; put back a copy of it");
  return state;
}

function isState(state) {
  if (typeof state !== "object" || state === null || state.format !== FORMAT) return false;
  const { secret, consent, ledger, answered, queue, since, clock, pause, counts, sending = null } = state;
  const lists = [ledger, answered, queue].every((list) => Array.isArray(list) && list.every(isTable));
  return (
    (secret === null || (typeof secret === "string" && fromBase64url(secret)?.length === SECRET_BYTES)) &&
    ["on", "off", null].includes(consent) && scaled(state.ceiling) !== null &&
    lists && ledger.every((line) => scaled(line.epsilon) !== null) &&
    Number.isInteger(begun(state)) && [since, clock, pause, counts, sending ?? {}].every(isTable)
  );
}

const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

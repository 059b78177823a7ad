/**
 * The door for app developers. Nothing behind it throws into the app, unless `strict`.
 */

import { believed } from "./clock.js";
import { Consent } from "./consent.js";
import { BusyStore, DeniableError, StoreError } from "./errors.js";
import { assemble } from "./parts.js";
import { describe, silent } from "./status.js";
import {
  begun, count, erase, forgetUnconsented, isErased, lowerCeiling, sayNo, sayYes, secretOf, Store,
} from "./store.js";
import { Turns } from "./turns.js";
import { veto } from "./vetoes.js";

/** Answers a survey's questions for one device, so that nobody learns an answer for sure. */
export class Client {
  #strict = false;
  #background = true;
  #reason = "";
  #clock = Date.now;
  #counts = {};
  #consent = new Consent("off", null);
  #store = null;
  /** What changes the store does so in the order of the calls, however soon they follow. */
  #turns = new Turns();
  /** What a yes that is not stored yet will make of the store's `begun`. */
  #beginning = null;
  /** @type {import("./parts.js").Parts | null} null once there is a reason for silence */
  #parts = null;

  /**
   * @param {import("./parts.js").Options} options
   * @returns {Promise<Client>}
   */
  static async open(options = {}) {
    const client = new Client();
    client.#strict = options?.strict === true;
    await client.#guarded(() => client.#open(options ?? {}));
    return client;
  }

  /**
   * Answer a question: perturb the value, keep the report. The first answer in a period counts.
   * @param {string} question
   * @param {boolean | string} value stored nowhere
   * @returns {Promise<void>} when the report is durable
   */
  async record(question, value) {
    await this.#guarded(async ({ recorder }) => {
      const answer = this.#answer(recorder, question, value);
      const [now, called] = [this.#clock(), this.#begun()];
      const outcome = await this.#changing(async (state, consent) => {
        if (begun(state) !== (await called)) return "before_consent";
        if (!believed(state.clock, now)) return "clock";
        const recorded = await recorder.record(state, answer, now, consent === "on");
        await recorder.decideDefaults(state, now, consent === "on");
        return recorded;
      });
      if (!["queued", "answered", "off"].includes(outcome)) this.#refuse(outcome);
      if (outcome === "queued") this.#wake();
    });
  }

  /**
   * Send what is due now.
   * @param {{force?: boolean, timeout?: number}} [options] force: everything, due or not, for tests and
   *   demonstrations, for it gives away when answers were recorded. timeout: seconds
   * @returns {Promise<{sent: number, kept: number, dropped: number}>}
   */
  async flush(options = {}) {
    const force = options?.force === true;
    const timeout = Number.isFinite(options?.timeout) ? options.timeout : 1;
    const nothing = { sent: 0, kept: 0, dropped: 0 };
    const flushed = await this.#guarded(async (parts) => {
      const consent = await this.#prepare();
      if (consent === "off") return nothing;
      const how = { force, milliseconds: timeout * 1000 };
      const total = consent === "on" ? await parts.outbox.flush(how) : await parts.outbox.flushNothing();
      return { sent: total.sent, kept: await waiting(parts), dropped: total.dropped };
    });
    return flushed ?? nothing;
  }

  /**
   * Store that the person said yes: what is recorded from now on will be sent.
   * @returns {Promise<boolean>} whether it was stored
   */
  async optIn() {
    const told = this.#consent.yes();
    const stored = await this.#guarded(async ({ store }) => {
      const now = this.#clock();
      const beginning = this.#turns.run(() => store.change((state) => {
        sayYes(state, now, this.#consent.in(state) === "on");
        return begun(state);
      }));
      this.#beginning = beginning;
      try {
        await beginning;
      } finally {
        if (this.#beginning === beginning) this.#beginning = null;
      }
      this.#consent.stored(told);
      this.#wake();
      return true;
    });
    return stored === true;
  }

  /**
   * Store that the person said no: what waits is erased. This client obeys all the same, and a
   * later call tries again.
   * @returns {Promise<boolean>} whether it was stored
   */
  optOut() {
    return this.#refusing(sayNo);
  }

  /**
   * Destroy the secret and all that waits. What was spent stays, and nothing is answered twice.
   * @returns {Promise<boolean>} whether it was stored
   */
  erase() {
    return this.#refusing(erase);
  }

  /** @returns {Promise<import("./status.js").Status>} what the client does, did, and why not */
  async status() {
    const found = await this.#guarded(async (parts) => {
      const state = this.#consent.veto === null ? await parts.store.read() : null;
      const consent = this.#consent.in(state);
      return describe(parts, state, consent, this.#consent.reason(state), this.#counts);
    });
    return found ?? silent(this.#reason);
  }

  /** Stop; what waits is kept. Gives up an exchange under way. @returns {Promise<void>} */
  async close() {
    const parts = this.#parts;
    parts?.uploader.stop();
    parts?.transport.abandon();
    await this.#guarded(() => this.#prepare());
    this.#shut("the client was closed");
  }

  async #open({ store, consent = "ask", background = true, clock = Date.now, environment, ...rest }) {
    this.#clock = clock;
    this.#background = background;
    this.#store = new Store(store);
    if (!["off", "ask", "on"].includes(consent)) throw new DeniableError('consent: must be "off", "ask" or "on"');
    const consented = (state) => this.#consent.in(state) === "on";
    const parts = await assemble(rest, this.#store, clock, consented, () => this.#round());
    this.#consent = new Consent(consent, veto(environment ?? globalThis.process?.env ?? {}, globalThis.navigator));
    this.#parts = parts;
    if ((await this.#prepare()) === "on") this.#wake();
  }

  /** Bring the store up to date; a client that is off makes none and changes none. */
  async #prepare() {
    const [{ recorder }, now] = [this.#parts, this.#clock()];
    return this.#changing(async (state, consent) => {
      if (consent === "on") forgetUnconsented(state);
      if (!isErased(state)) secretOf(state);
      if (believed(state.clock, now)) await recorder.decideDefaults(state, now, consent === "on");
      for (const [name, n] of Object.entries(this.#counts)) count(state, name, n);
      this.#counts = {};
      return consent;
    });
  }

  /** Change the store, in turn, under what holds then; a client that is off does not touch it. */
  #changing(change) {
    const { store, survey } = this.#parts;
    return this.#turns.run(async () => {
      if (!this.#consent.open || this.#consent.in(await store.read()) === "off") return "off";
      return store.change((state) => {
        const consent = this.#consent.in(state);
        if (consent === "off") return "off";
        lowerCeiling(state, survey.maxEpsilon);
        return change(state, consent);
      });
    });
  }

  /** How often sending had begun at this call, by the store or a yes on its way there; null if unknown. */
  #begun() {
    if (this.#consent.veto !== null) return null;
    return (this.#beginning ?? this.#store.read().then(begun)).catch(() => null);
  }

  #answer(recorder, question, value) {
    const answer = recorder.read(question, value);
    if (answer.error === undefined) return answer;
    this.#refuse(answer.reason);
    throw answer.error;
  }

  #refuse(reason) {
    this.#counts[reason] = (this.#counts[reason] ?? 0) + 1;
  }

  /** Obey a no at once, and store it if that is possible: also one of a client that is silent. */
  async #refusing(say) {
    const told = this.#consent.no();
    this.#parts?.uploader.stop();
    this.#parts?.transport.abandon();
    try {
      const now = this.#clock();
      await this.#turns.run(() => this.#store.change((state) => say(state, now), { anew: true }));
    } catch {
      return false;
    }
    this.#consent.stored(told);
    return true;
  }

  #wake() {
    if (this.#background && this.#consent.open && !this.#parts.outbox.paused) this.#parts.uploader.wake();
  }

  /** One look of the uploader at what is due. */
  async #round() {
    const found = await this.#guarded(async ({ store, outbox, recorder, uploader }) => {
      if ((await this.#prepare()) !== "on" || outbox.paused) {
        uploader.stop();
        return null;
      }
      const { tried } = await outbox.sendOne();
      const next = Math.min(outbox.nextDeparture(await store.read()), recorder.nextDefaults(this.#clock()));
      return { tried, wait: next - this.#clock() };
    });
    return found ?? { tried: false, wait: Infinity };
  }

  /** Do something with the parts; what goes wrong stays here, unless the app wants to know. */
  async #guarded(act) {
    if (this.#parts === null && this.#reason !== "") return undefined;
    try {
      return await act(this.#parts);
    } catch (error) {
      const mistake = error instanceof DeniableError && !(error instanceof StoreError);
      if (error instanceof BusyStore) this.#refuse("busy");
      else if (this.#parts === null || !mistake) this.#shut(inWords(error));
      if (this.#strict && mistake) throw error;
      return undefined;
    }
  }

  #shut(reason) {
    this.#parts?.uploader.stop();
    this.#parts?.transport.abandon();
    this.#parts = null;
    this.#reason = this.#reason || reason;
  }
}

/** How many reports of the survey wait. */
async function waiting({ store, survey }) {
  const state = await store.read();
  return state?.queue.filter((report) => report.survey === survey.id).length ?? 0;
}

/** What went wrong, in words that hold nothing of the person. */
const inWords = (error) =>
  error instanceof DeniableError ? error.message : `an error inside deniable (${error?.name})`;

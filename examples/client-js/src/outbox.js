/**
 * From the queue to the collector: which reports share a request, and what the reply does to them.
 *
 * What must never change: a request holds reports of one period and one pseudonym; a report leaves
 * the queue only when the collector has accounted for it, or it can never count again; one that
 * was recorded without consent is never sent; one client of a store sends at a time.
 */

import { bodies } from "./bodies.js";
import { base64url } from "./bytes.js";
import { believed } from "./clock.js";
import { deviceName } from "./derivation.js";
import { freshDraws } from "./draws.js";
import { backoff, later } from "./pacing.js";
import { judge, trouble } from "./replies.js";
import { Turns } from "./turns.js";
import { begun, count, isSame, secretOf } from "./store.js";

const TURN = 45_000; // longer than an exchange may take; then whoever held it was killed
const NOTHING = { sent: 0, dropped: 0, tried: false, failed: false };

/** Sends what is due to one collector. */
export class Outbox {
  paused = false;
  trouble = "";
  #turns = new Turns();
  #name = base64url(crypto.getRandomValues(new Uint8Array(16)));

  /**
   * @param {string} survey
   * @param {import("./store.js").Store} store
   * @param {import("./transport.js").Transport} transport
   * @param {() => number} clock
   * @param {(state: import("./store.js").State) => boolean} consented
   */
  constructor(survey, store, transport, clock, consented) {
    Object.assign(this, { survey, store, transport, clock, consented });
  }

  /**
   * Send every parcel that is due, or all that waits, until the collector stops answering.
   * @param {{force: boolean, milliseconds: number}} how
   */
  flush({ force, milliseconds }) {
    return this.#turns.run(async () => {
      const total = { ...NOTHING, dropped: await this.dropClosed() };
      const tried = new Set();
      const until = Date.now() + milliseconds;
      while (!total.failed && Date.now() < until && (force || !this.paused)) {
        const parcel = await this.#next(force, tried);
        if (parcel === null) break;
        tried.add(parcel.group);
        await this.#deliver(parcel, total, until);
      }
      return total;
    });
  }

  /** Without consent: only throw away what no longer counts. */
  async flushNothing() {
    return { ...NOTHING, dropped: await this.dropClosed() };
  }

  /** Send one parcel that is due, any of them. */
  sendOne() {
    return this.#turns.run(async () => {
      const total = { ...NOTHING, dropped: await this.dropClosed() };
      const parcel = this.paused ? null : await this.#next(false, new Set());
      if (parcel !== null) await this.#deliver(parcel, total, Infinity);
      return total;
    });
  }

  /** Erase the reports that can never count any more. @returns {Promise<number>} */
  dropClosed() {
    return this.store.change((state) => {
      const now = this.clock();
      if (!believed(state.clock, now)) return 0;
      const dropped = this.#remove(state, (report) => report.closes <= now);
      count(state, "period_closed", dropped);
      return dropped;
    });
  }

  /** When the next report may leave. @param {import("./store.js").State} state @returns {number} */
  nextDeparture(state) {
    const free = this.#isTaken(state) ? state.sending.until : 0;
    return Math.max(free, state.pause.resume, Math.min(...this.#mine(state).map((report) => report.notBefore)));
  }

  /** @param {import("./store.js").State} state @returns {import("./store.js").Queued[]} */
  #mine(state) {
    return state.queue.filter((report) => report.survey === this.survey && report.consented);
  }

  #remove(state, chosen) {
    const before = state.queue.length;
    state.queue = state.queue.filter((report) => report.survey !== this.survey || !chosen(report));
    return before - state.queue.length;
  }

  /** Whether another client of the store is sending. */
  #isTaken({ sending }) {
    const left = (sending?.until ?? 0) - this.clock();
    return sending?.by !== this.#name && left > 0 && left <= TURN;
  }

  /** One of the parcels that are due, at random, and the turn to send; none unless the person said yes. */
  #next(force, tried) {
    const ticket = this.transport.ticket(); // before the decision is read
    return this.store.change(async (state) => {
      const now = this.clock();
      if (!this.consented(state) || !believed(state.clock, now) || this.#isTaken(state)) return null;
      const due = this.#mine(state).filter((report) => force || Math.max(report.notBefore, state.pause.resume) <= now);
      const groups = [...new Set(due.map(groupOf))].filter((group) => !tried.has(group));
      if (groups.length === 0) return null;
      const group = groups[await freshDraws().below(groups.length)];
      const reports = due.filter((report) => groupOf(report) === group);
      const { period, alone, question, version } = reports[0];
      const own = alone ? [question, version] : null;
      const device = await deviceName(secretOf(state), this.survey, period, own);
      state.sending = { by: this.#name, until: now + TURN };
      return { group, period, device, reports, ticket, begun: begun(state) };
    });
  }

  async #deliver(parcel, total, until) {
    total.tried = true;
    try {
      await this.#send(parcel, total, until);
    } finally {
      await this.store.change((state) => {
        if (state.sending?.by === this.#name) state.sending = null;
      });
    }
  }

  async #send({ period, device, reports, ticket, begun: agreed }, total, until) {
    for (const [shared, body] of bodies({ survey: this.survey, period, device }, reports)) {
      if (until <= Date.now() || !(await this.#mayLeave(shared, agreed))) return;
      const left = until - Date.now();
      const reply = await this.transport.post(body, ticket, left);
      const verdict = judge(reply, shared.length, this.clock());
      this.trouble = trouble(reply, verdict);
      if (verdict.action === "keep" || verdict.action === "pause") {
        await this.#hold(verdict, shared[0]);
        total.failed = true;
        return;
      }
      this.paused = false;
      await this.#settle(verdict, shared, total);
    }
  }

  /** Whether consent is what it was, the reports still wait, and it is still this client's turn. */
  #mayLeave(reports, agreed) {
    return this.store.change((state) => {
      const { sending, queue } = state;
      if (!this.consented(state) || begun(state) !== agreed || sending?.by !== this.#name) return false;
      sending.until = this.clock() + TURN;
      return reports.every((report) => queue.some((other) => isSame(other, report)));
    });
  }

  /** Let nobody who uses the store try again too soon. */
  async #hold({ action, notBefore }, { closes }) {
    this.paused = this.paused || action === "pause";
    const now = this.clock();
    const asked = notBefore == null ? now : await later(notBefore, now, closes);
    await this.store.change(async ({ pause }) => {
      pause.failures += 1;
      pause.resume = Math.max(asked, now + (await backoff(pause.failures)));
    });
  }

  async #settle({ reason, refused = new Map(), later: again = new Set() }, reports, total) {
    await this.store.change(async (state) => {
      reports.forEach((report, index) => {
        if (again.has(index)) return;
        const name = refused.get(index) ?? reason ?? "sent";
        const removed = this.#remove(state, (other) => isSame(other, report));
        count(state, name, removed);
        total[name === "sent" ? "sent" : "dropped"] += removed;
      });
      const failures = again.size > 0 ? state.pause.failures + 1 : 0;
      state.pause = { failures, resume: failures && this.clock() + (await backoff(failures)) };
    });
  }
}

/** What one pseudonym sends: a period's reports, or one that travels alone. */
const groupOf = ({ period, alone, question, version }) => (alone ? `${period} ${question} ${version}` : period);

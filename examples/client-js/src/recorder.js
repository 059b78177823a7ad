/**
 * From an answer to a report: what is refused, what is spent, what waits.
 *
 * What must never change: a true value is a local variable here and nothing else.
 */

import { BEHIND } from "./clock.js";
import { scaled } from "./decimals.js";
import { instantaneousResponse, permanentResponse } from "./derivation.js";
import { DeniableError } from "./errors.js";
import { pack } from "./mechanisms.js";
import { departure, departureWindow, dueDefaults } from "./pacing.js";
import { closes, DAY, expiry, periodAt } from "./periods.js";
import { isAnswered, isErased, lineOf, secretOf, spent, trimMarks } from "./store.js";
import { encoded } from "./survey.js";

/** @typedef {{question: import("./survey.js").Question, symbol: number}} Answer */

/** Turns answers into reports, once for each question and period. */
export class Recorder {
  /** @param {import("./survey.js").Survey} survey @param {string | null} segment */
  constructor(survey, segment) {
    this.survey = survey;
    this.segment = segment;
  }

  /**
   * @param {string} name
   * @param {unknown} value
   * @returns {Answer | {reason: string, error: DeniableError}} nothing is kept yet
   */
  read(name, value) {
    const { questions, refused } = this.survey;
    const question = questions.get(name);
    try {
      if (question !== undefined) return { question, symbol: encoded(question, value) };
    } catch (error) {
      return { reason: "wrong_value", error };
    }
    if (refused.has(name)) {
      return { reason: "cannot_answer", error: new DeniableError(`${name}: ${refused.get(name)}`) };
    }
    const unknown = `question: the survey has no such question; use one of ${[...questions.keys()].join(", ")}`;
    return { reason: "no_such_question", error: new DeniableError(unknown) };
  }

  /**
   * @param {import("./store.js").State} state
   * @param {Answer} answer
   * @param {number} now
   * @param {boolean} consented
   * @returns {Promise<string>} "queued", "answered", or why it was refused
   */
  async record(state, { question, symbol }, now, consented) {
    if (now >= expiry(question)) return "expired";
    return this.#answer(state, question, periodAt(question.period, now), symbol, now, consented);
  }

  /** Answer with its default each question that was left unanswered in a past period. */
  async decideDefaults(state, now, consented) {
    for (const question of this.survey.questions.values()) {
      if (question.default === null) continue;
      const key = `${this.survey.id} ${question.id} ${question.version}`;
      if (!(state.since[key] <= now + BEHIND)) state.since[key] = now; // new, or the clock was set back
      for (const period of dueDefaults(question, state.since[key], now)) {
        await this.#answer(state, question, period, encoded(question, question.default), now, consented);
      }
    }
  }

  /** When the next period ends in which a question may be left to its default. */
  nextDefaults(now) {
    const asked = [...this.survey.questions.values()].filter((question) => question.default !== null);
    return Math.min(...asked.map((question) => periodAt(question.period, now).end));
  }

  async #answer(state, question, period, symbol, now, consented) {
    const mark = { survey: this.survey.id, question: question.id, version: question.version, period: period.key };
    if (isErased(state)) return "erased";
    if (isAnswered(state, mark)) return "answered";
    const refusal = this.#spend(state, question);
    if (refusal !== null) return refusal;
    const permanent = await permanentResponse(secretOf(state), question, symbol);
    const response = pack(question.mechanism, await instantaneousResponse(question, permanent));
    trimMarks(state, String(new Date(now).getUTCFullYear() - 1));
    state.answered.push(mark);
    state.queue.push(await this.#report(state, question, period, response, now, consented));
    return "queued";
  }

  async #report(state, question, period, response, now, consented) {
    const alone = period.kind === "once" || this.survey.batch === "question";
    const together = (other) => !other.alone && other.survey === this.survey.id && other.period === period.key;
    const shared = alone ? undefined : state.queue.find(together)?.notBefore;
    const since = Math.max(now, state.clock.born + DAY); // nothing leaves on the day of its store
    const window = departureWindow(this.survey, question, since);
    return {
      survey: this.survey.id,
      period: period.key,
      question: question.id,
      version: question.version,
      alone,
      segment: this.segment,
      hash: question.wireHash,
      response,
      consented,
      notBefore: shared ?? (await departure(period, since, window)),
      closes: closes(question, period),
    };
  }

  /** Enter a question version in the ledger, or say why it is refused. */
  #spend(state, question) {
    const { survey, id, version, hash, epsilon } = question;
    const known = lineOf(state, { survey, question: id, version });
    if (known !== undefined) {
      if (known.hash !== hash) return "changed";
      return known.erased ? "erased" : null;
    }
    const ceiling = [state.ceiling, this.survey.maxEpsilon].map(scaled).reduce((a, b) => (a < b ? a : b));
    if (spent(state) + scaled(epsilon) > ceiling) return "ceiling";
    state.ledger.push({ survey, question: id, version, hash, epsilon, erased: false });
    return null;
  }
}

/**
 * When things happen: the moment a report may leave, and the periods whose default is due.
 *
 * What must never change: a departure never depends on when something was recorded, except for a
 * `once` question, whose answer has no period end to wait for.
 */

import { freshDraws } from "./draws.js";
import { asksIn, closes, DAY, ONCE, periodAt } from "./periods.js";

const SPREAD = DAY;
const SECOND = 1000;
const HOUR = 3600 * SECOND;

/** Longest pause between two requests, so that they do not leave as one. */
export const BETWEEN = 30 * SECOND;

/** @param {number} length @returns {Promise<number>} uniform on 0..length, in milliseconds */
export const uniform = (length) => freshDraws().below(Math.max(0, Math.floor(length)) + 1);

/**
 * @param {import("./periods.js").Period} period
 * @param {number} now
 * @param {number} window over how long departures are drawn
 * @returns {Promise<number>} the moment from which a report may leave
 */
export async function departure(period, now, window) {
  return (period.kind === "once" ? now : period.end) + (await uniform(window));
}

/** Over how long the departure of a report, or of those it travels with, is drawn. */
export function departureWindow(survey, question, now) {
  if (question.period === "once") return Math.min(SPREAD, closes(question, ONCE) - now);
  const together = [...survey.questions.values()].filter(({ period }) => period === question.period);
  return Math.min(SPREAD, (Math.min(...together.map(({ grace }) => grace)) * DAY) / 2);
}

/** The periods that ended and still count, from the one in which `since` lies. */
export function* dueDefaults(question, since, now) {
  let period = periodAt(question.period, Math.max(since, now - question.grace * DAY));
  for (; period.end <= now; period = periodAt(question.period, period.end)) {
    if (asksIn(question, period)) yield period;
  }
}

/**
 * A drawn moment no earlier than the one a collector asked for, and not beyond the close of the
 * period that was refused: later by up to a tenth of the wait, an hour at most, half a minute at least.
 */
export async function later(notBefore, now, closes) {
  const asked = Math.max(now, Math.min(notBefore, closes));
  const spread = Math.max(30 * SECOND, Math.min((asked - now) / 10, HOUR));
  return asked + (await uniform(closes > asked ? Math.min(spread, (closes - asked) / 2) : spread));
}

/** The pause after so many failures in a row: exponential, with full jitter. */
export const backoff = (failures) => uniform(Math.min(HOUR, 5 * SECOND * 2 ** Math.min(failures, 16)));

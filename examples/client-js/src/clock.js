/**
 * Whether a clock can be believed. A moment before the last day seen, or more than a year after
 * it, is held until the clock has gone on from there for a day: nothing is recorded, sent or
 * thrown away. Of a moment, the store keeps the day only, except while the clock is odd.
 */

import { DAY } from "./periods.js";

const AHEAD = 366 * DAY;

/** How far back a clock may go: clocks are corrected, and answers stored late. */
export const BEHIND = 600_000;
const CONSISTENT = DAY;

/**
 * @typedef {object} Seen
 * @property {number | null} born the day on which the store was made
 * @property {number | null} last the last day seen
 * @property {number | null} odd since when the clock has shown another time than it could
 */

/**
 * @param {Seen} seen what is noted here is kept in the store
 * @param {number} now
 * @returns {boolean}
 */
export function believed(seen, now) {
  const year = new Date(now).getUTCFullYear();
  if (!(year >= 2020 && year <= 2900)) return false;
  if (seen.last === null || follows(seen.last, now)) return accept(seen, now);
  if (seen.odd === null || now < seen.odd || now > seen.odd + AHEAD) seen.odd = now;
  return now - seen.odd >= CONSISTENT && accept(seen, now);
}

const follows = (last, now) => now >= last - BEHIND && now <= last + AHEAD;

function accept(seen, now) {
  const day = Math.floor(now / DAY) * DAY;
  seen.last = seen.odd === null ? Math.max(day, seen.last ?? day) : day;
  seen.odd = null;
  seen.born = Math.min(seen.born ?? day, day);
  return true;
}

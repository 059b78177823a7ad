/**
 * Whether a clock can be believed. A moment before the last day seen, or more than 90 days after
 * it, is held until the clock has gone on from there for a day: nothing is recorded or sent.
 */

import { DAY } from "./periods.js";

const JUMP = 90 * DAY;
const CONSISTENT = DAY;

/** @typedef {{last: number | null, suspect: number | null}} Seen */

/**
 * @param {Seen} seen what is noted here is kept in the store
 * @param {number} now
 * @returns {boolean}
 */
export function believed(seen, now) {
  const year = new Date(now).getUTCFullYear();
  if (!(year >= 2020 && year <= 2900)) return false;
  if (seen.last === null || follows(seen.last, now)) return accept(seen, now);
  if (seen.suspect === null || now < seen.suspect || now > seen.suspect + JUMP) seen.suspect = now;
  return now - seen.suspect >= CONSISTENT && accept(seen, now);
}

const follows = (last, now) => now >= last && now <= last + JUMP;

function accept(seen, now) {
  seen.last = Math.floor(now / DAY) * DAY;
  seen.suspect = null;
  return true;
}

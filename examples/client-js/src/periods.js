/**
 * Periods: the days, weeks and months in which a device answers a question once. All in UTC.
 *
 * Moments are milliseconds since 1970. What must never change: the text of a period.
 */

export const DAY = 86_400_000;

/** @typedef {{kind: string, key: string, start: number, end: number}} Period */

/** @type {Period} */
export const ONCE = { kind: "once", key: "once", start: -Infinity, end: Infinity };

/**
 * @param {string} kind "day", "week", "month" or "once"
 * @param {number} moment
 * @returns {Period} the period of that kind that contains the moment
 */
export function periodAt(kind, moment) {
  if (kind === "once") return ONCE;
  const day = Math.floor(moment / DAY) * DAY;
  if (kind === "day") return { kind, key: date(day), start: day, end: day + DAY };
  if (kind === "week") return week(day);
  const at = new Date(day);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  const start = Date.UTC(year, month, 1);
  return { kind, key: date(start).slice(0, 7), start, end: Date.UTC(year, month + 1, 1) };
}

/** ISO 8601: weeks begin on Monday, and belong to the year of their Thursday. */
function week(day) {
  const weekday = (new Date(day).getUTCDay() + 6) % 7;
  const monday = day - weekday * DAY;
  const thursday = monday + 3 * DAY;
  const year = new Date(thursday).getUTCFullYear();
  const number = 1 + Math.floor((thursday - Date.UTC(year, 0, 1)) / (7 * DAY));
  const key = `${year}-W${String(number).padStart(2, "0")}`;
  return { kind: "week", key, start: monday, end: monday + 7 * DAY };
}

/** @param {number} moment @returns {string} such as 2026-11-30 */
export const date = (moment) => new Date(moment).toISOString().slice(0, 10);

/** The first moment after a question's last day. @param {{expires: string}} question */
export const expiry = (question) => Date.parse(`${question.expires}T00:00:00Z`) + DAY;

/** Whether the question is still asked when the period begins. */
export const asksIn = (question, period) => period.start < expiry(question);

/** The moment from which no report of the period counts any more. */
export function closes(question, period) {
  return period.kind === "once" ? expiry(question) : period.end + question.grace * DAY;
}

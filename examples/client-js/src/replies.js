/**
 * What a collector's reply means for the reports that were sent. No reply can do more than that.
 *
 * A reply is untrusted: it may be a captive portal's page, a proxy's error or an attack. Anything
 * that does not account for exactly the reports of its request leaves them where they are.
 */

const CODES = new Set([
  "unknown_question", "wrong_version", "wrong_hash", "bad_response", "wrong_period",
  "period_closed", "period_future", "expired", "segment", "sealing_key",
]);
const RETRY_CODES = new Set(["period_future"]);
const KEEP_STATUS = new Set([408, 425, 429]);
const PAUSE_STATUS = new Set([401, 403]);
const THREE_CENTURIES = 1e10;
const HTTP_DATE = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/;

/** @typedef {{status: number, body: string, retryAfter: string | null, failure: string}} Reply */

/**
 * @typedef {object} Verdict
 * @property {"settle" | "keep" | "pause" | "drop"} action
 * @property {string} [reason] under which name dropped reports are counted
 * @property {Map<number, string>} [refused] code by index of reports that will never count
 * @property {Set<number>} [later] reports worth sending again
 * @property {number | null} [notBefore] the earliest next attempt that was asked for
 */

/** @param {Reply} reply @param {number} count @param {number} now @returns {Verdict} */
export function judge(reply, count, now) {
  const { status } = reply;
  if (status >= 200 && status < 300) return settled(reply.body, count) ?? { action: "keep" };
  if (PAUSE_STATUS.has(status)) return { action: "pause" };
  if (status >= 400 && status < 500 && !KEEP_STATUS.has(status)) {
    return { action: "drop", reason: `http_${status}` };
  }
  return { action: "keep", notBefore: retryAfter(reply.retryAfter, now) };
}

/** Why a reply settled nothing, without any word of the reply; else "". */
export function trouble(reply, verdict) {
  if (verdict.action === "settle" || reply.status === 0) return reply.failure;
  return reply.status >= 200 && reply.status < 300 ? "garbled reply" : `HTTP ${reply.status}`;
}

/** The moment a `Retry-After` names, in seconds or as a date; null if it is garbled. */
export function retryAfter(header, now) {
  const text = (header ?? "").trim();
  if (/^[0-9]+$/.test(text)) return now + Math.min(Number(text), THREE_CENTURIES) * 1000;
  const moment = HTTP_DATE.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(moment) ? null : moment;
}

/** Read a reply to a stored request; null unless it accounts for every report once. */
function settled(body, count) {
  let document;
  try {
    document = JSON.parse(body);
  } catch {
    return null;
  }
  const { accepted, duplicate, rejected } = document ?? {};
  const codes = codesOf(rejected, count);
  if (!isCount(accepted) || !isCount(duplicate) || codes === null) return null;
  if (accepted + duplicate + codes.size !== count) return null;
  const later = new Set([...codes.keys()].filter((index) => RETRY_CODES.has(codes.get(index))));
  const final = [...codes].filter(([index]) => !later.has(index));
  const refused = new Map(final.map(([index, code]) => [index, CODES.has(code) ? code : "rejected"]));
  return { action: "settle", refused, later };
}

function codesOf(rejected, count) {
  if (!Array.isArray(rejected) || rejected.length > count) return null;
  const codes = new Map();
  for (const entry of rejected) {
    const { index, code } = entry ?? {};
    if (!isCount(index) || index >= count || codes.has(index) || typeof code !== "string") return null;
    codes.set(index, code);
  }
  return codes;
}

const isCount = (value) => Number.isInteger(value) && value >= 0;

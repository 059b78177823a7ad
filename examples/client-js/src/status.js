/** What a client does, did, and why not: in numbers and in words that hold nothing of the person. */

import { bill } from "./store.js";

/**
 * @typedef {object} Status
 * @property {"on" | "local" | "off" | "silent"} state
 * @property {string} reason
 * @property {string | null} decidedOn
 * @property {number} queued
 * @property {number} sent
 * @property {Record<string, number>} dropped answers and reports that will never count, by reason
 * @property {string} epsilonSpent by this device over all questions: the sum of their permanent losses
 * @property {string} epsilonCeiling
 * @property {Record<string, string>} refused questions that this client does not answer, and why
 */

/**
 * @param {{survey: import("./survey.js").Survey, outbox: import("./outbox.js").Outbox}} parts
 * @param {import("./store.js").State | null} state null if there is no store
 * @param {"on" | "local" | "off"} consent
 * @param {string | null} objection what else says no
 * @param {Record<string, number>} counts not yet stored
 * @returns {Status}
 */
export function describe({ survey, outbox }, state, consent, objection, counts) {
  const { sent = 0, ...dropped } = added(state?.counts ?? {}, counts);
  return {
    ...silent(objection ?? reason(consent, state, outbox)),
    state: consent,
    decidedOn: state?.decidedOn ?? null,
    queued: state?.queue.length ?? 0,
    sent,
    dropped,
    ...(state === null ? { epsilonCeiling: survey.maxEpsilon } : bill(state)),
    refused: Object.fromEntries(survey.refused),
  };
}

/** The state of a client that can do nothing. @param {string} reason @returns {Status} */
export function silent(reason) {
  const numbers = { queued: 0, sent: 0, dropped: {}, epsilonSpent: "0", epsilonCeiling: "0" };
  return { state: "silent", reason, decidedOn: null, ...numbers, refused: {} };
}

function reason(consent, state, { paused, trouble }) {
  if (consent === "off") return state?.decidedOn ? `the answer was no, on ${state.decidedOn}` : "the app said off";
  if (consent === "local") return "nobody has said yes yet";
  if (paused) return "the collector wants no reports (401 or 403); tried again at the next start";
  return trouble && `the last exchange with the collector failed (${trouble})`;
}

/** @param {Record<string, number>} a @param {Record<string, number>} b */
function added(a, b) {
  const sum = { ...a };
  for (const [name, n] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + n;
  return sum;
}

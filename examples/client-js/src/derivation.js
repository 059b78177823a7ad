/**
 * From the secret to the draws: which keyed bytes decide what, and under which name.
 *
 * What must never change: these fields and their order. A device that derived other bytes after
 * an upgrade would draw a second permanent response and spend its epsilon twice.
 */

import { base64url } from "./bytes.js";
import { digest, freshDraws, keyedDraws } from "./draws.js";

const DEVICE_BYTES = 16;

/**
 * What this device remembers for ever about one symbol of one question.
 * @param {Uint8Array} secret
 * @param {import("./survey.js").Question} question
 * @param {number} symbol
 */
export async function permanentResponse(secret, question, symbol) {
  const { mechanism } = question;
  const names = [question.survey, question.id, String(question.version), question.hash];
  const setups = keyedDraws(secret, ["setup", ...names, "", ""]);
  const setup = await setups.below(mechanism.rows);
  const memo = mechanism.memo(setup, symbol);
  const keyed = keyedDraws(secret, ["permanent", ...names, String(setup), String(memo)]);
  return mechanism.permanent(setup, memo, keyed);
}

/** One report: the permanent response, through the second round if there is one. */
export function instantaneousResponse(question, permanent) {
  return question.mechanism.instant(permanent, freshDraws());
}

/**
 * The name under which this device is known in one period, and no longer.
 * @param {Uint8Array} secret
 * @param {string} survey
 * @param {string} period
 * @param {[string, number] | null} alone id and version of a question that travels alone
 */
export async function deviceName(secret, survey, period, alone) {
  const own = alone === null ? [] : [alone[0], String(alone[1])];
  const bytes = await digest(secret, ["device", survey, period, ...own]);
  return base64url(bytes.slice(0, DEVICE_BYTES));
}

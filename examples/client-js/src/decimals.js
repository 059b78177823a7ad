/** Decimals as they stand in a survey, exact: whole numbers of 10^-18. */

const PLACES = 18;
const FORM = /^([0-9]{1,16})(?:\.([0-9]{1,18}))?$/;

export const ONE = 10n ** BigInt(PLACES);

/**
 * @param {unknown} text
 * @returns {bigint | null} null if it is no canonical decimal of 0 or more
 */
export function scaled(text) {
  const match = typeof text === "string" ? FORM.exec(text) : null;
  if (match === null) return null;
  const number = BigInt(match[1]) * ONE + BigInt((match[2] ?? "").padEnd(PLACES, "0"));
  return canonical(number) === text ? number : null;
}

/** @param {bigint} number @returns {string} without exponent or trailing zeros */
export function canonical(number) {
  const places = String(number % ONE).padStart(PLACES, "0").replace(/0+$/, "");
  return places === "" ? String(number / ONE) : `${number / ONE}.${places}`;
}

/** Who says no before anybody was asked: the environment of a process, or a browser's setting. */

const NOTHING = new Set(["", "0", "false", "no", "off"]);
const NO = new Set(["0", "false", "no", "off"]);

/**
 * @param {Record<string, string | undefined>} environment
 * @param {{doNotTrack?: string | null, globalPrivacyControl?: boolean} | undefined} browser
 * @returns {string | null} what says no, or null
 */
export function veto(environment, browser) {
  const word = (name) => (environment[name] ?? "").trim().toLowerCase();
  if (NO.has(word("DENIABLE"))) return "DENIABLE says no";
  for (const name of ["DO_NOT_TRACK", "CI"]) {
    if (!NOTHING.has(word(name))) return `${name} is set`;
  }
  if (browser?.globalPrivacyControl === true) return "the browser's Global Privacy Control is on";
  return browser?.doNotTrack === "1" ? "the browser's Do Not Track is on" : null;
}

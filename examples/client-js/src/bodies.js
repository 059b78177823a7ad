/**
 * The bodies of requests: which reports share one, and the bytes it travels as.
 *
 * What must never change: reports are sorted by name, so that their order tells nothing, and a
 * body has one of four sizes.
 */

import { joined, utf8 } from "./bytes.js";
import { canonicalJson } from "./survey.js";

const SIZES = [1024, 4096, 16384, 65536];
const MAX_REPORTS = 200;

/**
 * As few bodies as segments and the limits of a request allow.
 * @param {{survey: string, period: string, device: string}} envelope
 * @param {import("./store.js").Queued[]} reports
 * @returns {Generator<[import("./store.js").Queued[], Uint8Array]>}
 */
export function* bodies(envelope, reports) {
  const ordered = [...reports].sort(byName);
  for (const segment of [...new Set(ordered.map((report) => report.segment))].sort()) {
    const named = segment === null ? envelope : { ...envelope, segment };
    yield* split(named, ordered.filter((report) => report.segment === segment));
  }
}

/** A body and the spaces that bring it to one of the sizes; null if it is too large for all. */
export function padded(text) {
  const body = utf8(text);
  const size = SIZES.find((one) => one >= body.length);
  return size === undefined ? null : joined([body, new Uint8Array(size - body.length).fill(0x20)]);
}

function* split(envelope, reports) {
  const documents = reports.map(({ question, version, hash, response }) => ({ question, version, hash, response }));
  const body = padded(canonicalJson({ ...envelope, reports: documents }));
  if (body !== null && reports.length <= MAX_REPORTS) {
    yield [reports, body];
    return;
  }
  const middle = Math.floor(reports.length / 2);
  yield* split(envelope, reports.slice(0, middle));
  yield* split(envelope, reports.slice(middle));
}

const byName = (a, b) => compared(a.question, b.question) || a.version - b.version;
const compared = (a, b) => (a < b ? -1 : Number(a > b));

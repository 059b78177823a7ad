/** What a client is made of, from what the app wants. */

import { DeniableError } from "./errors.js";
import { Outbox } from "./outbox.js";
import { Recorder } from "./recorder.js";
import { readSurvey } from "./survey.js";
import { Transport } from "./transport.js";
import { Uploader } from "./uploader.js";

/**
 * @typedef {object} Options
 * @property {string | object} survey the compiled survey that ships inside the app
 * @property {string} url of the collector
 * @property {{load: Function, save: Function, exclusive: Function}} store one for each app
 * @property {"off" | "ask" | "on"} [consent] until the person decides: "ask" keeps reports for
 *   preview and never sends them, "on" sends what is recorded. A stored decision wins
 * @property {string | null} [segment] one of the survey's
 * @property {string | null} [appKey] what the collector knows this app's builds by
 * @property {boolean} [background] send by a timer what is due; otherwise in `flush()` only
 * @property {boolean} [strict] throw for mistakes of the app, while it is developed
 * @property {() => number} [clock] milliseconds since 1970
 * @property {Record<string, string | undefined>} [environment]
 */

/**
 * @typedef {object} Parts
 * @property {import("./survey.js").Survey} survey
 * @property {import("./store.js").Store} store
 * @property {Recorder} recorder
 * @property {Transport} transport
 * @property {Outbox} outbox
 * @property {Uploader} uploader
 */

/**
 * @param {Options} options
 * @param {import("./store.js").Store} store
 * @param {() => number} clock
 * @param {(state: import("./store.js").State) => boolean} consented
 * @param {() => Promise<{tried: boolean, wait: number}>} round what the uploader does
 * @returns {Promise<Parts>}
 */
export async function assemble({ survey: source, url, segment = null, appKey = null }, store, clock, consented, round) {
  const survey = await readSurvey(source);
  if (segment !== null && !survey.segments.includes(segment)) {
    throw new DeniableError(`segment: must be one of the survey's (${survey.segments.join(", ") || "none"})`);
  }
  const transport = new Transport(url, appKey);
  const recorder = new Recorder(survey, segment);
  const outbox = new Outbox(survey.id, store, transport, clock, consented);
  return { survey, store, recorder, transport, outbox, uploader: new Uploader(round) };
}

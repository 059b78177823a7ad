/** What the tests share: a survey, a clock that is set, and a collector that obeys. */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

import { Client } from "../src/index.js";
import { MemoryStorage } from "../src/stores/memory.js";

const FILE = new URL("../../../protocol/test_vectors.json", import.meta.url);
const VECTORS = JSON.parse(readFileSync(FILE, "utf8")).survey;

export const NOON = Date.parse("2026-11-30T12:00:00Z");
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** A compiled survey of some questions of the vectors. */
export function surveyOf(names, head = {}) {
  const questions = VECTORS.questions.filter(({ id }) => names.includes(id));
  return structuredClone({ ...VECTORS, ...head, questions });
}

/** A clock that stands still until it is set. */
export function clockAt(moment = NOON) {
  const clock = () => clock.now;
  clock.now = moment;
  return clock;
}

/** Opens clients that raise their mistakes and send when told, and whose environment says nothing. */
export function open(options) {
  const usual = { survey: surveyOf(["coin"]), store: new MemoryStorage(), clock: clockAt() };
  const careful = { url: "http://127.0.0.1:9", strict: true, background: false, environment: {} };
  return Client.open({ ...usual, ...careful, ...options });
}

/** What a store holds. */
export const stored = async (store) => JSON.parse(await store.load());

export const accept = ({ document }, reply) =>
  settle(reply, { accepted: document.reports.length, duplicate: 0, rejected: [] });

export function settle(reply, document) {
  reply.setHeader("Content-Type", "application/json");
  reply.end(JSON.stringify(document));
}

/** A real server that notes what it is sent and answers as it is told; closed after the test. */
export async function collector(t, answer = accept) {
  const heard = { requests: [], answer, url: "" };
  const server = createServer(async (request, reply) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const { headers, socket } = request;
    const noted = { headers, port: socket.remotePort, length: body.length, document: JSON.parse(body) };
    heard.requests.push(noted);
    heard.answer(noted, reply);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  heard.url = `http://127.0.0.1:${server.address().port}`;
  return heard;
}

/** The known answers that every implementation shares. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { bodies, padded } from "../src/bodies.js";
import { deviceName, permanentResponse } from "../src/derivation.js";
import { Draws, keyedDraws } from "../src/draws.js";
import { digits, field } from "../src/galois.js";
import { pack, unpack } from "../src/mechanisms.js";
import { asksIn, closes, ONCE, periodAt } from "../src/periods.js";
import { canonicalJson, encoded, privacyDocument, privacyHash, readSurvey } from "../src/survey.js";

const FILE = new URL("../../../protocol/test_vectors.json", import.meta.url);
const vectors = JSON.parse(readFileSync(FILE, "utf8"));
const survey = await readSurvey(vectors.survey);
const documents = new Map(vectors.survey.questions.map((question) => [question.id, question]));
const known = ({ question }) => survey.questions.has(question);
const KNOWN = vectors.permanent.filter(known);

const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));

/** Draws from words that are given. */
function given(words) {
  const left = words.map(bytes);
  return new Draws(() => left.shift() ?? assert.fail("more words were drawn than there are"));
}

test("all questions are answered but those that this client lacks", () => {
  const lacking = ({ type, horizon }) => horizon || !["boolean", "choice"].includes(type);
  const refused = [...documents.values()].filter(lacking).map(({ id }) => id);
  assert.equal(refused.length, 15);
  assert.deepEqual([...survey.refused.keys()], refused);
  assert.equal(survey.questions.size, documents.size - refused.length);
  assert.equal(KNOWN.length, 3 * survey.questions.size);
});

test("privacy documents and hashes", async () => {
  for (const { question, canonical, hash } of vectors.hashes.filter(known)) {
    assert.equal(canonicalJson(privacyDocument(survey.id, documents.get(question))), canonical);
    assert.equal(await privacyHash(survey.id, documents.get(question)), hash);
  }
});

test("keyed words", async () => {
  for (const { secret, fields, words } of vectors.words) {
    const draws = keyedDraws(bytes(secret), fields);
    for (const word of words) assert.equal((await draws.word()).toString(16).padStart(16, "0"), word);
  }
});

test("uniform integers", async () => {
  for (const { n, limit, secret, fields, drawn } of vectors.below) {
    const draws = keyedDraws(bytes(secret), fields);
    for (const number of drawn) assert.equal(await draws.below(n), number);
    if (BigInt(limit) === 1n << 64n) continue;
    const words = [BigInt(limit), BigInt(limit) - 1n].map((word) => word.toString(16).padStart(16, "0"));
    assert.equal(await given(words).below(n), n - 1, "the limit itself is drawn again");
  }
});

test("finite fields", () => {
  for (const { g, modulus, elements, sums, products } of vectors.fields) {
    const gf = field(g);
    assert.deepEqual(gf.modulus, modulus);
    assert.deepEqual(elements.map((x) => elements.map((y) => gf.add(x, y))), sums);
    assert.deepEqual(elements.map((x) => elements.map((y) => gf.dot([x], [y]))), products);
  }
  assert.equal(field(6), null);
});

test("hash buckets", () => {
  for (const { question, digits: count, rows } of vectors.buckets) {
    const { mechanism, values } = survey.questions.get(question);
    assert.equal(mechanism.digits, count);
    assert.equal(mechanism.rows, rows.length);
    assert.deepEqual(rows.map((_, row) => values.map((_, symbol) => mechanism.memo(row, symbol))), rows);
  }
  assert.deepEqual(digits(11, 3, 3), [2, 0, 1]);
});

test("answers", () => {
  for (const { question, answer, symbol } of vectors.answers) {
    assert.equal(encoded(survey.questions.get(question), answer), symbol);
  }
});

test("permanent responses", async () => {
  for (const { secret, question: id, responses } of KNOWN) {
    const question = survey.questions.get(id);
    for (const [symbol, wire] of responses.entries()) {
      const response = await permanentResponse(bytes(secret), question, symbol);
      assert.deepEqual(pack(question.mechanism, response), wire, `${id}, symbol ${symbol}`);
      assert.deepEqual(unpack(question.mechanism, wire), response);
    }
  }
});

test("second rounds", async () => {
  for (const { question, permanent, fresh, response } of vectors.reports.filter(known)) {
    const { mechanism } = survey.questions.get(question);
    const report = await mechanism.instant(unpack(mechanism, permanent), given(fresh));
    assert.deepEqual(pack(mechanism, report), response);
  }
});

test("pseudonyms", async () => {
  for (const { secret, period, alone, device } of vectors.pseudonyms) {
    assert.equal(await deviceName(bytes(secret), survey.id, period, alone), device);
  }
});

test("periods", () => {
  for (const { moment, ...kinds } of vectors.periods) {
    for (const [kind, [key, start, end]] of Object.entries(kinds)) {
      const found = periodAt(kind, Date.parse(moment));
      assert.deepEqual(found, { kind, key, start: Date.parse(start), end: Date.parse(end) });
    }
  }
});

test("when periods close", () => {
  for (const { question: id, period: key, closes: moment, asked } of vectors.closes) {
    const question = survey.questions.get(id);
    const period = key === "once" ? ONCE : periodAt(question.period, startOf(key));
    assert.equal(period.key, key);
    assert.equal(closes(question, period), Date.parse(moment));
    assert.equal(asksIn(question, period), asked);
  }
});

/** A moment in a period, from its text. */
function startOf(key) {
  const [, year, week] = /^(\d{4})-W(\d\d)$/.exec(key) ?? [];
  return week ? Date.UTC(year, 0, 4) + (week - 1) * 7 * 86_400_000 : Date.parse(key);
}

test("requests", () => {
  for (const { period, segment, device, reports, body, size } of vectors.requests) {
    const queued = reports.map((report) => ({ ...report, segment })).reverse();
    const [[shared, sent], ...others] = bodies({ survey: survey.id, period, device }, queued);
    assert.deepEqual([shared.length, others], [reports.length, []]);
    assert.equal(new TextDecoder().decode(sent).trimEnd(), body);
    assert.equal(sent.length, size);
  }
});

test("padding", () => {
  for (const [length, size] of vectors.padding) assert.equal(padded("x".repeat(length)).length, size);
  assert.equal(padded("x".repeat(65537)), null);
});

/** What the app, the person and the collector can rely on. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, DeniableError, MemoryStorage } from "../src/index.js";
import { believed } from "../src/clock.js";
import { later } from "../src/pacing.js";
import { privacyHash } from "../src/survey.js";
import { Transport } from "../src/transport.js";
import { accept, clockAt, collector, DAY, HOUR, NOON, open, settle, stored, surveyOf } from "./kit.js";

const MIDNIGHT = Date.parse("2026-12-01T00:00:00Z");

test("a report leaves in the day after its period, padded and under a name of its own", async (t) => {
  const heard = await collector(t);
  const [store, clock] = [new MemoryStorage(), clockAt()];
  const survey = surveyOf(["coin", "plan", "bits"]);
  const client = await open({ url: heard.url, store, clock, consent: "on", survey });
  await client.record("coin", true);
  await client.record("plan", "team");
  await client.record("bits", "side 3");
  assert.equal((await client.flush()).sent, 0);
  const { queue } = await stored(store);
  const [coin, plan, bits] = queue.map(({ notBefore }) => notBefore);
  assert.equal(coin, plan, "reports of one pseudonym leave together");
  assert.ok(coin >= MIDNIGHT && coin <= MIDNIGHT + DAY && bits >= MIDNIGHT);
  clock.now = MIDNIGHT + 2 * DAY;
  assert.deepEqual(await client.flush({ timeout: 30 }), { sent: 3, kept: 0, dropped: 0 });
  const [one, other] = heard.requests;
  assert.deepEqual(heard.requests.map(({ length }) => length), [1024, 1024]);
  assert.notEqual(one.document.device, other.document.device);
  assert.notEqual(one.port, other.port);
  assert.deepEqual(
    [one.headers["user-agent"], one.headers["content-type"], one.headers.cookie, one.headers.referer],
    ["deniable/1", "application/json", undefined, undefined],
  );
  assert.deepEqual((await stored(store)).queue, []);
  await client.close();
});

test("the first answer of a period counts, and the same answer gives the same response for ever", async () => {
  const [store, clock, seen] = [new MemoryStorage(), clockAt(), []];
  for (let month = 0; month < 3; month += 1) {
    const client = await open({ store, clock, survey: surveyOf(["bits"]), consent: "on" });
    await client.record("bits", "side 4");
    await client.record("bits", "side 5");
    seen.push((await stored(store)).queue.at(-1));
    await client.close();
    clock.now += 31 * DAY;
  }
  assert.deepEqual(seen.map(({ period }) => period), ["2026-11", "2026-12", "2027-01"]);
  assert.equal(new Set(seen.map(({ response }) => response)).size, 1);
  assert.equal((await stored(store)).answered.length, 3);
});

test("off: no store, no request, nothing recorded; a stored decision wins", async (t) => {
  const heard = await collector(t);
  const store = new MemoryStorage();
  const vetoes = [{ DO_NOT_TRACK: "1" }, { CI: "true" }, { DENIABLE: "Off" }];
  for (const options of [{ consent: "off" }, ...vetoes.map((environment) => ({ environment }))]) {
    const client = await open({ url: heard.url, store, consent: "on", ...options });
    await client.record("coin", true);
    assert.deepEqual(await client.flush({ force: true }), { sent: 0, kept: 0, dropped: 0 });
    assert.equal((await client.status()).state, "off");
    assert.equal(await store.load(), null);
  }
  const vetoed = await open({ store, environment: { CI: "1" } });
  assert.equal(await vetoed.optOut(), true);
  const next = await open({ url: heard.url, store, consent: "on" });
  assert.deepEqual([(await next.status()).state, (await next.status()).decidedOn], ["off", "2026-11-30"]);
  await next.record("coin", true);
  assert.equal((await stored(store)).secret, null, "who says no has no secret");
  assert.equal(heard.requests.length, 0);
  for (const environment of [{ DO_NOT_TRACK: "0" }, { CI: "false" }, { DENIABLE: "" }]) {
    assert.equal((await (await open({ environment, consent: "on" })).status()).state, "on");
  }
});

test("what was kept before the yes is never sent, and its period can be answered again", async (t) => {
  const heard = await collector(t);
  const [store, clock] = [new MemoryStorage(), clockAt()];
  const client = await open({ url: heard.url, store, clock });
  await client.record("coin", true);
  assert.deepEqual(await client.flush({ force: true }), { sent: 0, kept: 1, dropped: 0 });
  assert.equal((await client.status()).state, "local");
  await client.optIn();
  assert.equal((await client.status()).queued, 0);
  await client.record("coin", true);
  assert.deepEqual(await client.flush({ force: true }), { sent: 1, kept: 0, dropped: 0 });
  await client.record("coin", true);
  await client.optOut();
  clock.now += DAY;
  await client.record("coin", true);
  assert.deepEqual([(await client.status()).state, (await client.status()).queued], ["off", 0]);
  assert.equal(heard.requests.length, 1);
});

test("an app that stops asking does not send what was kept while it asked", async (t) => {
  const heard = await collector(t);
  const store = new MemoryStorage();
  const asking = await open({ url: heard.url, store, consent: "ask" });
  await asking.record("coin", true);
  const client = await open({ url: heard.url, store, consent: "on" });
  assert.deepEqual(await client.flush({ force: true }), { sent: 0, kept: 0, dropped: 0 });
  assert.equal(heard.requests.length, 0);
});

test("the ceiling is pinned", async () => {
  const store = new MemoryStorage();
  const low = await open({ store, survey: surveyOf(["coin"], { max_epsilon: "3" }), consent: "on" });
  await low.record("coin", true);
  const high = await open({ store, survey: surveyOf(["coin", "plan"], { max_epsilon: "40" }), consent: "on" });
  await high.record("plan", "free");
  const { epsilonSpent, epsilonCeiling, dropped } = await high.status();
  assert.deepEqual([epsilonSpent, epsilonCeiling, dropped], ["2", "3", { ceiling: 1 }]);
  for (const max_epsilon of ["2.5", "40"]) {
    const client = await open({ store, survey: surveyOf(["coin"], { max_epsilon }), consent: "on" });
    assert.equal((await client.status()).epsilonCeiling, "2.5");
  }
});

const EDITS = {
  thresholds: (question) => (question.mechanism.thresholds.keep = String(2n ** 64n - 1n)),
  epsilon: (question) => (question.epsilon = "1"),
  shape: (question) => (question.mechanism.shape.rows = 2),
  derivation: (question) => (question.mechanism.derivation = "deniable/2"),
  mechanism: (question) => (question.mechanism.name = "sue"),
  sealed: (question) => (question.sealed = true),
  type: (question) => (question.type = "set"),
  horizon: (question) => (question.horizon = { start: "2026-11-30", periods: 8, changes: 2 }),
  fields: (question) => (question.extra = 1),
};

for (const [name, edit] of Object.entries(EDITS)) {
  test(`a question whose ${name} was edited is refused, hashed again or not, and no other`, async () => {
    for (const hashed of [false, true]) {
      const survey = surveyOf(["coin", "plan"]);
      const [coin] = survey.questions;
      edit(coin);
      if (hashed) coin.hash = await privacyHash(survey.id, coin);
      const client = await open({ survey, consent: "on" });
      assert.deepEqual(Object.keys((await client.status()).refused), ["coin"]);
      await assert.rejects(client.record("coin", true), DeniableError);
      await client.record("plan", "team");
      assert.equal((await client.status()).queued, 1);
    }
  });
}

test("a question whose words were edited is refused", async () => {
  const survey = surveyOf(["coin"]);
  survey.questions[0].ask = "Another?";
  assert.match((await (await open({ survey })).status()).refused.coin, /hash/);
});

test("a question that was changed under its version is not answered a second time", async () => {
  const store = new MemoryStorage();
  const client = await open({ store, consent: "on" });
  await client.record("coin", true);
  const state = await stored(store);
  state.ledger[0].hash = "0".repeat(64);
  state.answered = [];
  const other = await open({ store: new MemoryStorage(JSON.stringify(state)), consent: "on" });
  await other.record("coin", true);
  assert.deepEqual((await other.status()).dropped, { changed: 1 });
});

test("erase destroys the secret and keeps what was spent", async () => {
  const store = new MemoryStorage();
  const client = await open({ store, consent: "on" });
  await client.record("coin", true);
  const before = (await stored(store)).secret;
  await client.erase();
  assert.equal((await stored(store)).secret, null);
  await client.optIn();
  await client.record("coin", true);
  assert.notEqual((await stored(store)).secret, before);
  assert.deepEqual([(await client.status()).queued, (await client.status()).dropped], [0, { erased: 1 }]);
});

test("silence is answered with the default, once the period has ended", async (t) => {
  const heard = await collector(t);
  const clock = clockAt();
  const client = await open({ url: heard.url, clock, survey: surveyOf(["coin_twice"]), consent: "on" });
  clock.now = MIDNIGHT + HOUR;
  await client.flush({ force: true });
  assert.deepEqual(heard.requests.map(({ document }) => document.period), ["2026-11-30"]);
});

test("replies: what is kept, dropped and counted", async (t) => {
  const heard = await collector(t);
  const client = await open({ url: heard.url, survey: surveyOf(["coin", "plan", "prime"]), consent: "on" });
  await client.record("coin", true);
  await client.record("plan", "team");
  await client.record("prime", "p3");
  heard.answer = (_, reply) => settle(reply, "garbage");
  assert.deepEqual(await client.flush({ force: true }), { sent: 0, kept: 3, dropped: 0 });
  assert.match((await client.status()).reason, /garbled reply/);
  heard.answer = (_, reply) => settle(reply, { accepted: 2, duplicate: 0, rejected: [] });
  assert.equal((await client.flush({ force: true })).kept, 3);
  heard.answer = (_, reply) => reply.destroy();
  assert.equal((await client.flush({ force: true })).kept, 3);
  const rejected = [{ index: 1, code: "period_future", detail: "" }, { index: 2, code: "bad_response", detail: "" }];
  heard.answer = (_, reply) => settle(reply, { accepted: 1, duplicate: 0, rejected });
  assert.deepEqual(await client.flush({ force: true }), { sent: 1, kept: 1, dropped: 1 });
  assert.deepEqual((await client.status()).dropped, { bad_response: 1 });
  heard.answer = accept;
  assert.equal((await client.flush({ force: true })).sent, 1);
  assert.deepEqual(heard.requests.map(({ document }) => document.reports.length), [3, 3, 3, 3, 1]);
  assert.equal(new Set(heard.requests.map(({ document }) => document.device)).size, 1);
});

test("Retry-After is never early, also for what is recorded later, and ends with the grace", async (t) => {
  const heard = await collector(t);
  const [past, nextDay] = ["Mon, 30 Nov 2026 12:00:00 GMT", "Wed, 02 Dec 2026 12:00:00 GMT"];
  const asked = [["3600", HOUR], [nextDay, DAY], ["31536000", Infinity], ["soon", 0], ["-5", 0], [past, 0]];
  for (const [header, least] of asked) {
    const [store, clock] = [new MemoryStorage(), clockAt()];
    const client = await open({ url: heard.url, store, clock, consent: "on" });
    await client.record("coin", true);
    clock.now = NOON + DAY;
    heard.answer = (_, reply) => reply.writeHead(503, { "Retry-After": header }).end();
    await client.flush({ force: true });
    const { queue, pause } = await stored(store);
    assert.ok(pause.resume >= Math.min(clock.now + least, queue[0].closes), header);
    assert.ok(pause.resume <= queue[0].closes + HOUR, header);
    heard.requests.length = 0;
    clock.now = Math.min(pause.resume, queue[0].closes) - 1;
    assert.deepEqual([(await client.flush()).kept, heard.requests.length], [1, 0]);
    heard.answer = accept;
    clock.now = Math.max(pause.resume, queue[0].notBefore);
    const late = clock.now >= queue[0].closes;
    await client.flush({ timeout: 30 });
    const { sent, dropped } = await client.status();
    assert.deepEqual([sent, dropped], late ? [0, { period_closed: 1 }] : [1, {}]);
    assert.equal((await stored(store)).pause.failures, late ? 1 : 0);
    await client.close();
  }
});

test("an hour's wait is drawn out, so that devices do not come back at once", async () => {
  const drawn = new Set();
  for (let n = 0; n < 20; n += 1) {
    const moment = await later(NOON + HOUR, NOON, NOON + 10 * DAY);
    assert.ok(moment >= NOON + HOUR && moment <= NOON + 1.1 * HOUR);
    drawn.add(moment);
  }
  assert.ok(drawn.size > 10); // of 360 001 milliseconds: twice the same are odds of 1 in 1 900
});

test("nothing leaves on the day its store was made", async () => {
  for (let n = 0; n < 30; n += 1) {
    const store = new MemoryStorage();
    const client = await open({ store, survey: surveyOf(["bits_twice"]), consent: "on" });
    await client.record("bits_twice", "item 3");
    assert.ok((await stored(store)).queue[0].notBefore >= MIDNIGHT);
  }
});

test("an app that begins to ask does not send what it recorded before", async (t) => {
  const heard = await collector(t);
  const store = new MemoryStorage();
  await (await open({ url: heard.url, store, consent: "on" })).record("coin", true);
  const asking = await open({ url: heard.url, store, consent: "ask" });
  await asking.optIn();
  await asking.record("coin", true);
  assert.deepEqual(await asking.flush({ force: true }), { sent: 0, kept: 0, dropped: 0 });
});

test("401 stops until the next start; 404 drops", async (t) => {
  const heard = await collector(t, (_, reply) => reply.writeHead(401).end());
  const [store, clock] = [new MemoryStorage(), clockAt()];
  const client = await open({ url: heard.url, store, clock, consent: "on" });
  await client.record("coin", true);
  clock.now = NOON + 2 * DAY;
  await client.flush();
  await client.flush();
  assert.equal(heard.requests.length, 1);
  heard.answer = (_, reply) => reply.writeHead(404).end();
  clock.now += HOUR;
  const next = await open({ url: heard.url, store, clock, consent: "on" });
  assert.deepEqual(await next.flush(), { sent: 0, kept: 0, dropped: 1 });
  assert.deepEqual((await next.status()).dropped, { http_404: 1 });
});

test("a collector that accepts and never answers holds nobody up", { timeout: 10_000 }, async (t) => {
  const heard = await collector(t, () => {});
  const store = new MemoryStorage();
  const client = await open({ url: heard.url, store, consent: "on" });
  await client.record("coin", true);
  assert.deepEqual(await client.flush({ force: true, timeout: 0.05 }), { sent: 0, kept: 1, dropped: 0 });
  const flushing = client.flush({ force: true, timeout: 600 });
  while (heard.requests.length < 2) await new Promise(setImmediate);
  await client.close();
  await flushing;
  assert.equal((await stored(store)).queue.length, 1);
});

test("what was given up before it began is not sent", async (t) => {
  const heard = await collector(t);
  const transport = new Transport(heard.url, null);
  const ticket = transport.ticket();
  transport.abandon();
  assert.equal((await transport.post(new Uint8Array(1), ticket)).status, 0);
  assert.equal(heard.requests.length, 0);
});

test("the timer sends what is due, and not before", async (t) => {
  let sent;
  const heard = await collector(t, (request, reply) => {
    accept(request, reply);
    sent();
  });
  const [store, clock] = [new MemoryStorage(), clockAt()];
  const client = await open({ url: heard.url, store, clock, consent: "on", background: true });
  await client.record("coin", true);
  await client.close();
  clock.now = NOON + 2 * DAY;
  const arrived = new Promise((resolve) => (sent = resolve));
  const next = await open({ url: heard.url, store, clock, consent: "on", background: true });
  await arrived;
  assert.equal(heard.requests.length, 1);
  await next.close();
});

test("a clock that jumps is held until it has gone on for a day", async () => {
  const [store, clock] = [new MemoryStorage(), clockAt()];
  const client = await open({ store, clock, consent: "on" });
  await client.record("coin", true);
  clock.now = NOON - 2 * DAY;
  await client.record("coin", true);
  assert.deepEqual([(await client.status()).queued, (await client.status()).dropped], [1, { clock: 1 }]);
  clock.now += DAY;
  await client.record("coin", true);
  assert.deepEqual((await stored(store)).queue.map(({ period }) => period), ["2026-11-30", "2026-11-29"]);
});

test("which clocks are believed", () => {
  const seen = { born: null, last: null, odd: null };
  const far = NOON + 367 * DAY;
  for (const [moment, believable] of [
    [0, false], [NOON, true], [NOON - 13 * HOUR, false], [NOON + HOUR, true],
    [far, false], [far + 23 * HOUR, false], [far + DAY, true], [NOON, false], [far, false], [far + DAY, true],
  ]) assert.equal(believed(seen, moment), believable, new Date(moment).toISOString());
  assert.equal(seen.born, NOON - 12 * HOUR);
});

test("mistakes raise only if strict, and no message holds a value", async () => {
  const client = await open({ consent: "on" });
  for (const value of ["SECRET-VALUE", 1, null, undefined, {}]) {
    await assert.rejects(
      client.record("coin", value),
      (error) => error instanceof DeniableError && !/SECRET/.test(error.stack),
    );
  }
  await assert.rejects(client.record("nothing", true), DeniableError);
  await assert.rejects(open({ url: "ftp://x" }), /url/);
  await assert.rejects(open({ survey: "{" }), /survey/);
  await assert.rejects(open({ segment: "other" }), /segment/);
  await assert.rejects(open({ consent: "yes" }), /consent/);
  await assert.rejects(open({ appKey: "short" }), /appKey/);
  const quiet = await Client.open({ survey: null, url: "", store: null });
  await quiet.record("coin", 1);
  assert.deepEqual(await quiet.flush(), { sent: 0, kept: 0, dropped: 0 });
  assert.deepEqual([await quiet.optIn(), (await quiet.status()).state], [false, "silent"]);
  const lenient = await open({ strict: false, consent: "on" });
  await lenient.record("coin", "wrong");
  await lenient.record("nothing", true);
  assert.deepEqual((await lenient.status()).dropped, { wrong_value: 1, no_such_question: 1 });
});

test("wrong arguments neither throw nor silence", async () => {
  assert.equal((await Client.open(null)).constructor, Client);
  const client = await open({ store: new MemoryStorage(), clock: clockAt(), consent: "on" });
  for (const wrong of [null, 7, { timeout: Symbol("s") }, { timeout: NaN }, { timeout: "1" }]) {
    assert.deepEqual(await client.flush(wrong), { sent: 0, kept: 0, dropped: 0 });
  }
  assert.equal((await client.status()).state, "on");
});

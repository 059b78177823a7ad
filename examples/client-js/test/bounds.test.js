/** What would otherwise change unnoticed: bounds, and what a browser alone would show. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { MemoryStorage } from "../src/index.js";
import { bodies } from "../src/bodies.js";
import { believed } from "../src/clock.js";
import { Outbox } from "../src/outbox.js";
import { dueDefaults, later } from "../src/pacing.js";
import { Store } from "../src/store.js";
import { Transport } from "../src/transport.js";
import { Uploader } from "../src/uploader.js";
import { veto } from "../src/vetoes.js";
import { clockAt, collector, DAY, HOUR, NOON, open, settle, stored, surveyOf } from "./kit.js";

const [MINUTE, TODAY] = [60_000, NOON - 12 * HOUR];

function defer() {
  const deferred = {};
  deferred.promise = new Promise((resolve) => {
    deferred.resolve = resolve;
  });
  return deferred;
}

test("a clock corrected by minutes over midnight is believed, and the day seen stays", () => {
  const seen = { born: null, last: null, odd: null };
  assert.ok(believed(seen, TODAY + MINUTE));
  assert.ok(believed(seen, TODAY - 9 * MINUTE));
  assert.equal(seen.last, TODAY);
  assert.ok(!believed(seen, TODAY - 11 * MINUTE));
});

test("failures in a row are counted, and a report that is too early is one", async (t) => {
  const heard = await collector(t, (_, reply) => reply.writeHead(503).end());
  const store = new MemoryStorage();
  const client = await open({ url: heard.url, store, consent: "on" });
  await client.record("coin", true);
  for (const failures of [1, 2, 3]) {
    await client.flush({ force: true });
    assert.equal((await stored(store)).pause.failures, failures);
  }
  const rejected = [{ index: 0, code: "period_future", detail: "" }];
  heard.answer = (_, reply) => settle(reply, { accepted: 0, duplicate: 0, rejected });
  await client.flush({ force: true });
  assert.equal((await stored(store)).pause.failures, 4);
});

test("a Retry-After in the past is one of now", async () => {
  assert.ok((await later(NOON - DAY, NOON, NOON + DAY)) >= NOON);
});

test("no request has more than 200 reports", () => {
  const report = { version: 1, segment: null, hash: "", response: 0 };
  const many = Array.from({ length: 201 }, (_, n) => ({ ...report, question: `q${n}` }));
  const sizes = [...bodies({ survey: "s", period: "p", device: "d" }, many)].map(([shared]) => shared.length);
  assert.ok(sizes.length === 2 && Math.max(...sizes) <= 200);
});

test("a browser's settings say no", () => {
  assert.match(veto({}, { globalPrivacyControl: true }), /Global Privacy Control/);
  assert.match(veto({}, { doNotTrack: "1" }), /Do Not Track/);
  for (const browser of [undefined, {}, { globalPrivacyControl: false, doNotTrack: "0" }, { doNotTrack: null }]) {
    assert.equal(veto({}, browser), null);
  }
});

test("a redirect is not followed", async (t) => {
  const elsewhere = await collector(t);
  const heard = await collector(t, (_, reply) => reply.writeHead(307, { Location: elsewhere.url }).end());
  const client = await open({ url: heard.url, consent: "on" });
  await client.record("coin", true);
  assert.deepEqual(await client.flush({ force: true }), { sent: 0, kept: 1, dropped: 0 });
  assert.deepEqual([heard.requests.length, elsewhere.requests.length], [1, 0]);
});

test("a browser is told to add nothing of the person", async (t) => {
  const fetched = mock.method(globalThis, "fetch", async () => new Response("{}"));
  t.after(() => fetched.mock.restore());
  const transport = new Transport("https://collector.example", null);
  await transport.post(new Uint8Array(1), transport.ticket());
  const { cache, credentials, redirect, referrerPolicy } = fetched.mock.calls[0].arguments[1];
  assert.deepEqual([cache, credentials, redirect, referrerPolicy], ["no-store", "omit", "error", "no-referrer"]);
});

test("an endless reply settles nothing", async (t) => {
  const heard = await collector(t, ({ document }, reply) => {
    const text = JSON.stringify({ accepted: document.reports.length, duplicate: 0, rejected: [] });
    reply.end(text + " ".repeat(70_000));
  });
  const client = await open({ url: heard.url, consent: "on" });
  await client.record("coin", true);
  assert.equal((await client.flush({ force: true })).kept, 1);
});

test("an erasure forgets since when a question is known", async () => {
  const store = new MemoryStorage();
  const client = await open({ store, survey: surveyOf(["coin_twice"]), consent: "on" });
  await client.record("coin_twice", true);
  assert.equal(Object.keys((await stored(store)).since).length, 1);
  await client.erase();
  assert.deepEqual((await stored(store)).since, {});
});

test("silence before the yes is never sent", async (t) => {
  const heard = await collector(t);
  const clock = clockAt();
  const client = await open({ url: heard.url, clock, survey: surveyOf(["coin_twice"]), consent: "ask" });
  clock.now += DAY;
  await client.optIn();
  assert.deepEqual(await client.flush({ force: true }), { sent: 0, kept: 0, dropped: 0 });
  assert.equal(heard.requests.length, 0);
  clock.now += DAY;
  await client.flush({ force: true });
  assert.deepEqual(heard.requests.map(({ document }) => document.period), ["2026-12-01"]);
});

test("a yes under a clock that was set back answers no day before it", async () => {
  const [store, clock, survey] = [new MemoryStorage(), clockAt(), surveyOf(["coin_twice"])];
  survey.questions[0].grace = 5;
  const client = await open({ store, clock, survey, consent: "ask" });
  clock.now = NOON - 4 * DAY;
  await client.optIn();
  clock.now = NOON + DAY;
  await client.flush();
  assert.deepEqual((await stored(store)).answered.map(({ period }) => period), ["2026-11-30"]);
});

test("no default is given for a period in which nothing is asked any more", () => {
  const question = { period: "day", grace: 5, expires: "2026-12-01" };
  const periods = [...dueDefaults(question, NOON, NOON + 4 * DAY)].map(({ key }) => key);
  assert.deepEqual(periods, ["2026-11-30", "2026-12-01"]);
});

test("requests do not leave one right after the other", async (t) => {
  const pauses = [];
  const set = mock.method(globalThis, "setTimeout", (again, milliseconds) => {
    pauses.push(milliseconds);
    if (pauses.length <= 30) setImmediate(again);
    return { unref() {} };
  });
  t.after(() => set.mock.restore());
  new Uploader(async () => ({ tried: true, wait: 0 })).wake();
  while (pauses.length <= 30) await new Promise(setImmediate);
  // after the first, each is one of 0..30 000: 30 all below a second are odds of 1 in 10 to the 44th
  assert.ok(pauses[0] === 0 && Math.max(...pauses) >= 1000 && Math.max(...pauses) <= 30_000);
});

test("a close gives up the request under way before it waits for the store", { timeout: 10_000 }, async (t) => {
  const [arrived, given] = [defer(), defer()];
  const heard = await collector(t, (_, reply) => reply.on("close", given.resolve) && arrived.resolve());
  const [store, gate] = [new MemoryStorage(), defer()];
  const client = await open({ url: heard.url, store, consent: "on" });
  await client.record("coin", true);
  const flushing = client.flush({ force: true, timeout: 60 });
  await arrived.promise;
  const exclusive = store.exclusive.bind(store);
  store.exclusive = (act) => gate.promise.then(() => exclusive(act));
  const closing = client.close();
  await given.promise;
  gate.resolve();
  await Promise.all([flushing, closing]);
  assert.equal((await stored(store)).queue.length, 1);
});

test("what closes now counts no more", async (t) => {
  const heard = await collector(t);
  const [store, clock] = [new MemoryStorage(), clockAt()];
  const client = await open({ url: heard.url, store, clock, consent: "on" });
  await client.record("coin", true);
  clock.now = (await stored(store)).queue[0].closes;
  assert.deepEqual(await client.flush({ force: true }), { sent: 0, kept: 0, dropped: 1 });
  assert.equal(heard.requests.length, 0);
});

test("a report that was recorded without consent is in no parcel, whoever left it there", async (t) => {
  const heard = await collector(t);
  const [storage, clock] = [new MemoryStorage(), clockAt()];
  const asking = await open({ store: storage, clock, consent: "ask" });
  await asking.record("coin", true);
  const store = new Store(storage, "100");
  const { survey } = (await store.read()).queue[0];
  const outbox = new Outbox(survey, store, new Transport(heard.url, null), clock, () => true);
  assert.equal((await outbox.flush({ force: true, milliseconds: 5000 })).sent, 0);
  assert.equal(heard.requests.length, 0);
});

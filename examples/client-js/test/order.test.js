/** Calls that follow each other at once, other tabs and processes, and clocks that are set. */

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { MemoryStorage } from "../src/index.js";
import { Outbox } from "../src/outbox.js";
import { FileStorage } from "../src/stores/file.js";
import { accept, clockAt, collector, DAY, HOUR, NOON, open, stored, surveyOf } from "./kit.js";

const MIDNIGHT = Date.parse("2026-12-01T00:00:00Z");
const FORCED = { force: true, timeout: 30 };

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "deniable-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

const STORES = {
  memory: () => new MemoryStorage(),
  file: (t) => new FileStorage(join(folder(t), "acme.json")),
};

for (const [name, make] of Object.entries(STORES)) {
  test(`${name}: calls hold in their order, awaited or not`, async (t) => {
    const heard = await collector(t);
    const client = await open({ url: heard.url, store: make(t) });
    await Promise.all([client.record("coin", true), client.optIn()]);
    assert.equal((await client.flush(FORCED)).sent, 0, "an answer before the yes");
    await Promise.all([client.optOut(), client.record("coin", true), client.optIn()]);
    assert.equal((await client.flush(FORCED)).sent, 0, "an answer between no and yes");
    await Promise.all([client.optIn(), client.optOut(), client.optIn(), client.record("coin", true)]);
    assert.equal((await client.flush(FORCED)).sent, 1, "an answer after the yes");
    await Promise.all([client.optIn(), client.optOut()]);
    assert.equal((await client.status()).state, "off");
    assert.deepEqual((await client.status()).dropped, {});
  });
}

test("an answer on its way while another tab hears the yes is not sent", async (t) => {
  const heard = await collector(t);
  for (const consent of ["ask", "on"]) {
    const store = new MemoryStorage();
    const [here, there] = [await open({ url: heard.url, store }), await open({ store, consent })];
    await Promise.all([there.optIn(), here.record("coin", true)]);
    assert.deepEqual((await here.status()).dropped, { before_consent: 1 });
    assert.equal((await here.flush(FORCED)).sent, 0);
    await here.record("coin", true);
    assert.equal((await here.flush(FORCED)).sent, 1);
  }
});

for (const again of [false, true]) {
  test(`a no in another tab${again ? ", and a yes after it," : ""} stops the rest of a parcel`, async (t) => {
    const heard = await collector(t);
    const store = new MemoryStorage();
    const survey = surveyOf(["coin", "prime"], { segments: ["beta"] });
    const plain = await open({ url: heard.url, store, survey, consent: "on" });
    await plain.record("coin", true);
    const beta = await open({ url: heard.url, store, survey, consent: "on", segment: "beta" });
    await beta.record("prime", "p3");
    const other = await open({ store, survey });
    heard.answer = async (request, reply) => {
      await other.optOut();
      if (again) await other.optIn();
      accept(request, reply);
    };
    await beta.flush(FORCED);
    assert.equal(heard.requests.length, 1);
    assert.deepEqual((await stored(store)).queue, []);
  });
}

test("one client of a store sends at a time, and one that was killed is not waited for", async (t) => {
  const heard = await collector(t);
  const [store, clock] = [new MemoryStorage(), clockAt()];
  const first = await open({ url: heard.url, store, clock, consent: "on" });
  const second = await open({ url: heard.url, store, clock, consent: "on" });
  await first.record("coin", true);
  const [report] = (await stored(store)).queue;
  heard.answer = async (request, reply) => {
    assert.deepEqual(await second.flush(FORCED), { sent: 0, kept: 1, dropped: 0 });
    accept(request, reply);
  };
  assert.equal((await first.flush(FORCED)).sent, 1);
  assert.equal(heard.requests.length, 1);
  const state = await stored(store);
  assert.equal(state.sending, null);
  const killed = { ...state, sending: { by: "killed", until: clock.now + 45_000 } };
  await store.save(JSON.stringify(killed));
  const outbox = new Outbox("vectors", null, null, clock, null);
  assert.equal(outbox.nextDeparture({ ...killed, queue: [{ ...report, notBefore: 0 }] }), clock.now + 45_000);
  clock.now += DAY;
  await second.record("coin", true);
  heard.answer = accept;
  assert.equal((await second.flush(FORCED)).sent, 1);
});

test("two processes on one file send each answer once", { timeout: 60_000 }, async (t) => {
  const heard = await collector(t);
  const path = join(folder(t), "acme.json");
  const worker = new URL("./worker.js", import.meta.url);
  const workers = [0, 1].map(() => fork(worker, [path, heard.url]));
  t.after(() => workers.forEach((child) => child.kill()));
  const days = [0, 1, 2, 3].map((n) => NOON + n * DAY);
  for (const day of days) {
    await Promise.all(workers.map(async (child) => {
      child.send(day);
      assert.deepEqual(await once(child, "message").then(([dropped]) => dropped), {});
    }));
  }
  const last = await open({ url: heard.url, store: new FileStorage(path), clock: clockAt(days[3]), consent: "on" });
  await last.flush(FORCED);
  const sent = heard.requests.flatMap(({ document }) =>
    document.reports.map(({ question }) => `${question} ${document.period}`));
  assert.equal(sent.length, 3 * days.length);
  assert.equal(new Set(sent).size, sent.length);
});

test("the lock of a killed process is broken once", async (t) => {
  const path = join(folder(t), "acme.json");
  let inside = 0;
  async function enter() {
    inside += 1;
    assert.equal(inside, 1);
    await new Promise(setImmediate);
    inside -= 1;
  }
  for (let round = 0; round < 10; round += 1) {
    writeFileSync(`${path}.lock`, "killed");
    utimesSync(`${path}.lock`, 1, 1);
    const entered = [];
    for (let n = 0; n < 8; n += 1) { // each a little later, so that some look while others remove
      entered.push(new FileStorage(path, { patience: 60_000 }).exclusive(enter));
      await new Promise(setImmediate);
    }
    await Promise.all(entered);
  }
});

test("an answer given before midnight and stored after it wins over the default", async () => {
  const [store, clock] = [new MemoryStorage(), clockAt()];
  const client = await open({ store, clock, survey: surveyOf(["coin_twice"]), consent: "on" });
  clock.now = MIDNIGHT - 1;
  const recording = client.record("coin_twice", true);
  clock.now = MIDNIGHT + HOUR;
  await recording;
  assert.deepEqual((await stored(store)).queue.map(({ period }) => period), ["2026-11-30"]);
});

test("after a clock was set back, defaults and departures follow it", async () => {
  const [store, clock] = [new MemoryStorage(), clockAt(NOON + 3000 * DAY)];
  const client = await open({ store, clock, survey: surveyOf(["coin_twice"]), consent: "on" });
  for (let day = 0; day < 3; day += 1) {
    clock.now = NOON + day * DAY;
    await client.flush();
  }
  assert.deepEqual((await stored(store)).answered.map(({ period }) => period), ["2026-12-01"]);
  assert.equal((await stored(store)).clock.born, MIDNIGHT);
});

test("a period whose mark was given up is not answered again", async () => {
  const [store, clock] = [new MemoryStorage(), clockAt(NOON - 2 * DAY)];
  const survey = surveyOf(["bits"]);
  survey.questions[0].expires = "2090-12-31";
  const client = await open({ store, clock, survey, consent: "on" });
  for (const moment of [0, 800 * DAY, 801 * DAY, 0, DAY + HOUR]) { // ahead and back, each held for a day
    clock.now = NOON - 2 * DAY + moment;
    await client.record("bits", "side 4");
  }
  const { queue, answered, counts } = await stored(store);
  assert.deepEqual(queue.map(({ period }) => period), ["2026-11", "2029-02"]);
  assert.deepEqual([answered.length, counts], [1, {}]);
  assert.deepEqual((await client.status()).dropped, { clock: 2 });
});

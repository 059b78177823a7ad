/** Where a device's secret is kept: whole, private, and never drawn twice. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { LocalStorage, MemoryStorage } from "../src/index.js";
import { FileStorage } from "../src/stores/file.js";
import { clockAt, DAY, NOON, open, stored, surveyOf } from "./kit.js";

/** What a browser's localStorage does, with a quota. */
function browserStorage(quota = Infinity) {
  const items = new Map();
  const storage = {
    quota,
    clear: () => items.clear(),
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, text) => {
      if (text.length > storage.quota) throw new DOMException("full", "QuotaExceededError");
      items.set(key, String(text));
    },
  };
  return storage;
}

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "deniable-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** Every storage, and how the same one is opened again. */
const STORAGES = {
  memory: () => {
    const store = new MemoryStorage();
    return () => store;
  },
  browser: () => {
    const storage = browserStorage();
    return () => new LocalStorage("acme", storage);
  },
  file: (t) => {
    const path = join(folder(t), "state", "acme.json");
    return () => new FileStorage(path);
  },
};

for (const [name, make] of Object.entries(STORAGES)) {
  test(`${name}: one secret and one answer, whoever opens it and however often`, async (t) => {
    const again = make(t);
    const asked = [["coin", true], ["coin_twice", true], ["one_row", "a"]];
    const survey = surveyOf(asked.map(([question]) => question));
    const clients = await Promise.all(asked.map(() => open({ store: again(), survey, consent: "on" })));
    const { secret } = await stored(again());
    await Promise.all(clients.flatMap((client, n) => [client.record(...asked[n]), client.record("coin", false)]));
    const { queue, ledger } = await stored(again());
    assert.deepEqual([queue.length, ledger.length], [3, 3]);
    await Promise.all(clients.map((client) => client.close()));
    const next = await open({ store: again(), clock: clockAt(NOON + DAY), consent: "on" });
    await next.record("coin", true);
    assert.equal((await stored(again())).secret, secret);
    assert.equal((await stored(again())).queue.filter(({ question }) => question === "coin").length, 2);
  });

  test(`${name}: what is no store is left alone, and the client is silent`, async (t) => {
    for (const text of ["", "{}", '{"format": 2}', "not JSON"]) {
      const store = make(t)();
      await store.exclusive(() => store.save(text));
      const client = await open({ store, consent: "on" });
      await client.record("coin", true);
      assert.equal((await client.status()).state, "silent");
      assert.equal(await store.load(), text);
    }
  });
}

test("a file is private, whole, and alone in its folder", async (t) => {
  const path = join(folder(t), "acme.json");
  const client = await open({ store: new FileStorage(path), consent: "on" });
  await client.record("coin", true);
  await client.close();
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(path, "..")), ["acme.json"]);
  writeFileSync(path, "");
  const silent = await open({ store: new FileStorage(path), consent: "on" });
  assert.equal((await silent.status()).state, "silent");
  assert.equal(readFileSync(path, "utf8"), "");
});

test("a lock that a killed process left is taken over, a fresh one is not", async (t) => {
  const path = join(folder(t), "acme.json");
  writeFileSync(`${path}.lock`, "other");
  const store = new FileStorage(path, { patience: 20 });
  await assert.rejects(store.exclusive(async () => {}), { name: "BusyStore" });
  utimesSync(`${path}.lock`, 1, 1);
  assert.equal(await store.exclusive(async () => "mine"), "mine");
  assert.deepEqual(readdirSync(join(path, "..")), []);
});

test("a store that lost its lock writes nothing", async (t) => {
  const path = join(folder(t), "acme.json");
  const store = new FileStorage(path);
  await assert.rejects(
    store.exclusive(async () => {
      writeFileSync(`${path}.lock`, "other");
      await store.save("text");
    }),
    { name: "BusyStore" },
  );
  assert.deepEqual(readdirSync(join(path, "..")), ["acme.json.lock"]);
  rmSync(`${path}.lock`);
  writeFileSync(path, "another's");
  await assert.rejects(store.exclusive(() => store.save("text", null)), { name: "BusyStore" });
  assert.equal(readFileSync(path, "utf8"), "another's");
});

test("a full browser storage silences the client and the app goes on", async () => {
  const store = new LocalStorage("acme", browserStorage(10));
  const client = await open({ store, consent: "on" });
  await client.record("coin", true);
  const { state, reason } = await client.status();
  assert.equal(state, "silent");
  assert.match(reason, /^the store failed/);
});

test("a no that finds the browser's storage full is obeyed, and stored by a later call", async () => {
  for (const say of ["optOut", "erase"]) {
    const storage = browserStorage();
    const page = () => open({ store: new LocalStorage("acme", storage), consent: "on" });
    const client = await page();
    await client.record("coin", true);
    storage.quota = 10;
    assert.equal(await client[say](), false);
    const { state, reason } = await client.status();
    assert.deepEqual([state, reason], ["off", "the answer was no, and could not be stored yet"]);
    storage.quota = Infinity;
    await client.record("coin", true);
    assert.equal(await client[say](), true);
    const next = await (await page()).status();
    assert.deepEqual([next.state, next.queued], ["off", 0]);
  }
});

test("a yes that is said before a no, and stored while the no cannot be, does not undo it", async () => {
  const storage = browserStorage();
  const client = await open({ store: new LocalStorage("acme", storage), consent: "on" });
  const { setItem } = storage;
  storage.setItem = (key, text) => { // there is room for one more change
    setItem(key, text);
    storage.quota = 10;
  };
  assert.deepEqual(await Promise.all([client.optIn(), client.optOut()]), [true, false]);
  assert.equal((await client.status()).state, "off");
});

test("a store that is made while somebody looks is not taken for one that has gone", async () => {
  const store = new MemoryStorage();
  const client = await open({ store, consent: "off" });
  const load = store.load.bind(store);
  let goOn;
  const held = new Promise((resolve) => (goOn = resolve));
  store.load = async () => {
    store.load = load;
    const text = await load();
    await held;
    return text;
  };
  const looking = client.status();
  assert.equal(await client.optIn(), true);
  goOn();
  assert.equal((await looking).state, "off");
  assert.equal((await client.status()).state, "on");
});

test("a client that is silent stores a no all the same", async () => {
  const storage = browserStorage(10);
  const store = new LocalStorage("acme", storage);
  const full = await open({ store, consent: "on" });
  assert.equal((await full.status()).state, "silent");
  storage.quota = Infinity;
  assert.equal(await full.optOut(), true);
  assert.equal((await (await open({ store, consent: "on" })).status()).state, "off");
  const other = new MemoryStorage();
  assert.equal(await (await open({ store: other, strict: false, survey: "{" })).optOut(), true);
  const next = await open({ store: other, consent: "on" });
  assert.equal((await next.status()).state, "off");
  await next.optIn();
  await next.record("coin", true);
  assert.equal((await next.status()).epsilonCeiling, surveyOf([]).max_epsilon);
});

test("a store that was cleared under a running client is not made anew, and a no holds", async () => {
  const storage = browserStorage();
  const [key, page] = ["deniable:acme", () => open({ store: new LocalStorage("acme", storage), consent: "on" })];
  const answering = await page();
  await answering.record("coin", true);
  storage.clear();
  await answering.record("coin", true);
  assert.deepEqual([storage.getItem(key), (await answering.status()).state], [null, "silent"]);
  assert.equal(await answering.optOut(), true, "a no makes a store, without a secret");
  assert.deepEqual([JSON.parse(storage.getItem(key)).secret, (await (await page()).status()).state], [null, "off"]);
  const refusing = await page();
  storage.clear();
  await page(); // another tab, which was never told
  await refusing.record("coin", true);
  assert.equal((await refusing.status()).state, "off");
  assert.deepEqual(JSON.parse(storage.getItem(key)).queue, []);
  assert.equal(await refusing.optIn(), true);
  assert.equal((await refusing.status()).state, "on");
});

test("where tabs have no locks, none undoes what another wrote meanwhile", async () => {
  const storage = browserStorage();
  const store = new LocalStorage("acme", storage);
  const client = await open({ store, consent: "on" });
  const load = store.load.bind(store);
  const no = JSON.stringify({ ...(await stored(store)), consent: "off" });
  let armed = false;
  store.exclusive = (act) => { // the other tab writes after this one has read
    armed = true;
    return act();
  };
  store.load = async () => {
    const text = await load();
    if (armed) storage.setItem("deniable:acme", no);
    return text;
  };
  await client.record("coin", true);
  store.load = load;
  assert.equal(storage.getItem("deniable:acme"), no);
  assert.equal((await client.status()).state, "off");
});

test("no store holds a true value", async () => {
  const store = new MemoryStorage();
  const client = await open({ store, survey: surveyOf(["plan", "bits"]), consent: "on" });
  await client.record("plan", "personal");
  await client.record("bits", "side 7");
  assert.doesNotMatch(await store.load(), /personal|side/);
});

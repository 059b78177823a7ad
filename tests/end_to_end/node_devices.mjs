/**
 * Devices whose secrets are known answer a survey and send until nothing waits. The test writes
 * what they are told to standard input and reads what they sent from standard output.
 */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { source, survey, url, moment, devices } = JSON.parse(readFileSync(0, "utf8"));
const { Client, MemoryStorage } = await import(pathToFileURL(`${source}/src/index.js`));
const TOGETHER = 16;

async function device({ secret, answers }) {
  const options = { survey, url, strict: true, clock: () => moment, environment: {}, consent: "on", background: false };
  const own = new MemoryStorage();
  await (await Client.open({ ...options, store: own })).close();
  const store = new MemoryStorage(JSON.stringify({ ...JSON.parse(await own.load()), secret }));
  const client = await Client.open({ ...options, store });
  for (const [question, value] of Object.entries(answers)) await client.record(question, value);
  const [first, again] = [await client.flush({ force: true, timeout: 30 }), await client.flush({ force: true, timeout: 30 })];
  await client.close();
  return { first, again };
}

const done = [];
for (let at = 0; at < devices.length; at += TOGETHER) {
  done.push(...(await Promise.all(devices.slice(at, at + TOGETHER).map(device))));
}
process.stdout.write(JSON.stringify(done));

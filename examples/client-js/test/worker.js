/** A process of an app: for each day that it is told, answers everything and sends it. */

import { FileStorage } from "../src/stores/file.js";
import { clockAt, open, surveyOf } from "./kit.js";

const ANSWERS = [["coin", true], ["prime", "p3"], ["coin_twice", false]];
const [path, url] = process.argv.slice(2);
const clock = clockAt();
const store = new FileStorage(path, { patience: 60_000 });
const survey = surveyOf(ANSWERS.map(([question]) => question));
const client = await open({ url, store, clock, survey, consent: "on" });

process.on("message", async (day) => {
  clock.now = day;
  for (const [question, value] of ANSWERS) {
    await client.record(question, value);
    await client.flush({ force: true, timeout: 30 });
  }
  process.send((await client.status()).dropped);
});
process.on("disconnect", () => process.exit());

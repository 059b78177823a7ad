/**
 * Serves the example page, and passes its reports on to a collector: `node serve.js COLLECTOR-URL
 * SURVEY.json [PORT]`. A page may only send to its own origin unless the other side agrees, so in
 * production your web server has a rule like this one. It logs nothing.
 */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".json": "application/json" };
const [collector, survey, port = "8000"] = process.argv.slice(2);

if (survey === undefined) {
  console.error("usage: node serve.js COLLECTOR-URL SURVEY.json [PORT]");
  process.exit(2);
}

const server = createServer(async (request, reply) => {
  try {
    if (request.method === "POST" && request.url === "/v1/reports") await passOn(request, reply);
    else await sendFile(request.url, reply);
  } catch {
    reply.writeHead(reply.headersSent ? 200 : 503).end();
  }
});

/** Hand a body to the collector, without the browser's headers, and its reply back. */
async function passOn(request, reply) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const headers = { "Content-Type": "application/json" };
  const url = new URL("/v1/reports", collector);
  const answer = await fetch(url, { method: "POST", headers, body: Buffer.concat(parts) });
  for (const name of ["Content-Type", "Retry-After"]) {
    if (answer.headers.has(name)) reply.setHeader(name, answer.headers.get(name));
  }
  reply.writeHead(answer.status);
  reply.end(await answer.text());
}

async function sendFile(url, reply) {
  const path = normalize(new URL(url, "http://localhost").pathname);
  const file = path === "/survey.json" ? survey : join(HERE, path === "/" ? "index.html" : path);
  const text = await readFile(file).catch(() => null);
  if (text === null) return reply.writeHead(404).end();
  reply.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "text/plain" });
  return reply.end(text);
}

server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));

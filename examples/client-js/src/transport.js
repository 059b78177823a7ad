/**
 * One exchange over HTTP, with no surprises: what is sent, what is read, how long it may take.
 *
 * What must never change: nothing of the person travels but the body. No cookies, no credentials,
 * no referrer, no redirects; headers are the same on all devices of an app, its key included.
 */

import { DeniableError } from "./errors.js";

const DEADLINE = 30_000;
const REPLY_BYTES = 64 * 1024;
const APP_KEY = /^[A-Za-z0-9_-]{16,128}$/;
const IN_NODE = typeof globalThis.process?.versions?.node === "string";

// A browser names itself, and keeps its connections, whatever a page asks for.
const NODE_HEADERS = { "User-Agent": "deniable/1", "Accept-Encoding": "identity", Connection: "close" };
const HEADERS = { "Content-Type": "application/json", Accept: "application/json", ...(IN_NODE ? NODE_HEADERS : {}) };

/** Posts bodies to one collector. */
export class Transport {
  #url;
  #headers;
  #under = new AbortController();

  /** @param {string} url of the collector @param {string | null} appKey */
  constructor(url, appKey) {
    this.#url = reportsUrl(url);
    this.#headers = appKey === null ? HEADERS : { ...HEADERS, "Deniable-App-Key": checkedKey(appKey) };
  }

  /** What a post needs; void once exchanges were given up. @returns {AbortSignal} */
  ticket() {
    return this.#under.signal;
  }

  /** Give up the exchange under way, and those about to begin. */
  abandon() {
    this.#under.abort();
    this.#under = new AbortController();
  }

  /**
   * Send one body; a failure of any kind is a reply with status 0.
   * @param {Uint8Array} body
   * @param {AbortSignal} ticket
   * @param {number} [milliseconds]
   * @returns {Promise<import("./replies.js").Reply>}
   */
  async post(body, ticket, milliseconds = DEADLINE) {
    if (ticket.aborted) return nothing("");
    const exchange = new AbortController();
    const end = () => exchange.abort();
    const timer = setTimeout(end, Math.min(milliseconds, DEADLINE));
    timer.unref?.();
    ticket.addEventListener("abort", end);
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: this.#headers,
        body,
        signal: exchange.signal,
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
      });
      const text = await bounded(response);
      return { status: response.status, body: text, retryAfter: response.headers.get("Retry-After"), failure: "" };
    } catch {
      if (ticket.aborted) return nothing("");
      return nothing(exchange.signal.aborted ? "timed out" : "no connection");
    } finally {
      clearTimeout(timer);
      ticket.removeEventListener("abort", end);
    }
  }
}

/** @param {string} failure @returns {import("./replies.js").Reply} */
const nothing = (failure) => ({ status: 0, body: "", retryAfter: null, failure });

/** The body of a reply, or nothing if it is longer than any honest one. */
async function bounded(response) {
  const [decoder, reader] = [new TextDecoder(), response.body?.getReader()];
  let [text, length] = ["", 0];
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > REPLY_BYTES) {
      await reader.cancel();
      return "";
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

function reportsUrl(text) {
  let url = null;
  try {
    url = new URL(text);
  } catch {
    // said below
  }
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new DeniableError("url: must be like https://collector.example");
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new DeniableError("url: must have no credentials, query or fragment");
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}/v1/reports`;
}

function checkedKey(key) {
  if (typeof key === "string" && APP_KEY.test(key)) return key;
  throw new DeniableError("appKey: must be 16..128 letters, digits, '-' and '_'");
}

/** What goes wrong. No message ever holds an answer, a pseudonym, an address or a response. */

/** A mistake of the app, or a store that cannot be used. */
export class DeniableError extends Error {
  name = "DeniableError";
}

/** Another process or tab held the store for too long; the next attempt may succeed. */
export class BusyStore extends DeniableError {
  name = "BusyStore";
}

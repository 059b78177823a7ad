/**
 * What goes wrong. No message ever holds an answer, a pseudonym, an address or a response.
 *
 *     DeniableError      a mistake of the app
 *     └── StoreError     the store is of no use in this run
 *         └── BusyStore  another process or tab is writing; the next attempt may succeed
 */

export class DeniableError extends Error {
  name = "DeniableError";
}

export class StoreError extends DeniableError {
  name = "StoreError";
}

export class BusyStore extends StoreError {
  name = "BusyStore";
}

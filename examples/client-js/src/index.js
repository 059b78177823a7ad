/** What an app imports. Storage in a file, for Node, is `./stores/file.js`. */

export { Client } from "./client.js";
export { DeniableError } from "./errors.js";
export { LocalStorage } from "./stores/local.js";
export { MemoryStorage } from "./stores/memory.js";

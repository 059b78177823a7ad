/** Bytes and the texts that stand for them. */

const encoder = new TextEncoder();

/** @param {string} text @returns {Uint8Array} */
export const utf8 = (text) => encoder.encode(text);

/** @param {Uint8Array[]} parts @returns {Uint8Array} */
export function joined(parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Join texts so that no two different sequences give the same bytes: each after its length in
 * four big-endian bytes.
 * @param {string[]} fields
 * @returns {Uint8Array}
 */
export function lengthPrefixed(fields) {
  const parts = [];
  for (const field of fields.map(utf8)) {
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, field.length);
    parts.push(length, field);
  }
  return joined(parts);
}

/** @param {Uint8Array} bytes @returns {string} */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {Uint8Array} bytes @returns {string} base64url without padding */
export function base64url(bytes) {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {string} text @returns {Uint8Array | null} null unless it is the one form of its bytes */
export function fromBase64url(text) {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return base64url(bytes) === text ? bytes : null;
}

/**
 * A compiled survey, as the app ships it. A question is answered only if its privacy hash covers
 * exactly what stands there, and its thresholds are those of its epsilons.
 */

import { hex, utf8 } from "./bytes.js";
import { ONE, scaled } from "./decimals.js";
import { DERIVATION } from "./draws.js";
import { DeniableError } from "./errors.js";
import { mechanism, shape } from "./mechanisms.js";
import { thresholds } from "./thresholds.js";

const WIRE_HASH = 32;
const ID = /^[a-z][a-z0-9_-]{0,63}$/;
const DATE = /^2[0-9]{3}-[0-9]{2}-[0-9]{2}$/;
const FIELDS = new Set([
  "id", "version", "hash", "ask", "type", "choices", "range", "mechanism", "epsilon", "epsilon_first",
  "period", "grace", "min_crowd", "default", "owner", "expires", "sealed",
]);
const LACKING = ["number", "set", "text", "joint"];
const MAX_K = 4096;
const MAX_QUESTIONS = 200;
const MAX_GRACE = 60;
const [EPSILON_MIN, EPSILON_MAX] = [ONE / 100n, 16n * ONE];

/**
 * @typedef {object} Question
 * @property {string} survey
 * @property {string} id
 * @property {number} version
 * @property {string} hash all 64 digits
 * @property {string} wireHash those that travel
 * @property {Array<boolean | string>} values by symbol
 * @property {ReturnType<typeof mechanism>} mechanism
 * @property {string} epsilon
 * @property {"day" | "week" | "month" | "once"} period
 * @property {number} grace
 * @property {boolean | string | null} default
 * @property {string} expires
 */

/**
 * @typedef {object} Survey
 * @property {string} id
 * @property {string} maxEpsilon
 * @property {string[]} segments
 * @property {"survey" | "question"} batch
 * @property {Map<string, Question>} questions those that this client answers
 * @property {Map<string, string>} refused why it does not answer the others
 */

/**
 * @param {string | object} source the compiled survey, or its JSON
 * @returns {Promise<Survey>}
 */
export async function readSurvey(source) {
  const document = typeof source === "string" ? parsed(source) : source;
  if (!isTable(document) || document.format !== 1) {
    throw new DeniableError("survey: must be a compiled survey of format 1; compile it, or upgrade this client");
  }
  const { id, max_epsilon: maxEpsilon, segments, batch, questions } = document;
  require(typeof id === "string" && ID.test(id), "id");
  require(scaled(maxEpsilon) !== null, "max_epsilon");
  require(Array.isArray(segments) && segments.every((one) => typeof one === "string"), "segments");
  require(batch === "survey" || batch === "question", "batch");
  require(Array.isArray(questions) && questions.length <= MAX_QUESTIONS && questions.every(isTable), "questions");
  const survey = { id, maxEpsilon, segments, batch, questions: new Map(), refused: new Map() };
  for (const question of questions) {
    require(typeof question.id === "string" && ID.test(question.id), "questions");
    require(!survey.questions.has(question.id) && !survey.refused.has(question.id), "questions");
    const fault = await faultOf(id, question);
    if (fault === null) survey.questions.set(question.id, made(id, question));
    else survey.refused.set(question.id, fault);
  }
  return survey;
}

/** JSON in one form: sorted keys, no spaces, text as it is. */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isTable(value)) return JSON.stringify(value);
  const entries = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${entries.join(",")}}`;
}

/** What a question's privacy hash covers. @param {string} survey @param {any} question */
export function privacyDocument(survey, question) {
  const { id, version, ask, type, choices, range, mechanism, epsilon, epsilon_first, period } = question;
  const covered = { survey, question: id, version: String(version), ask, type, choices, range, mechanism };
  const document = { ...covered, epsilon, epsilon_first, period, default: question.default };
  return question.sealed ? { ...document, sealed: true } : document;
}

/** @param {string} survey @param {any} question @returns {Promise<string>} 64 hex digits */
export async function privacyHash(survey, question) {
  const text = canonicalJson(privacyDocument(survey, question));
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text))));
}

/**
 * @param {Question} question
 * @param {unknown} value
 * @returns {number} the symbol of an answer
 */
export function encoded(question, value) {
  const composed = typeof value === "string" ? value.normalize("NFC") : value;
  const symbol = question.values.indexOf(composed);
  if (symbol >= 0) return symbol;
  const known = question.values.slice(0, 8).join(", ");
  throw new DeniableError(`${question.id}: the value must be one of its answers: ${known}`);
}

function made(survey, document) {
  const { id, version, hash, epsilon, period, grace, expires, choices, type } = document;
  return Object.freeze({
    survey, id, version, hash, epsilon, period, grace, expires,
    wireHash: hash.slice(0, WIRE_HASH),
    values: type === "boolean" ? [false, true] : choices,
    mechanism: mechanism(document.mechanism),
    default: document.default,
  });
}

/** Why a question is not answered, or null. */
async function faultOf(survey, question) {
  if (question.sealed) return "is sealed, which this client cannot do";
  if (LACKING.includes(question.type)) return `is a ${question.type} question, which this client lacks`;
  if (question.type !== "boolean" && question.type !== "choice") return "is of a type this client lacks";
  if (question.horizon) return "has a horizon, which this client lacks";
  if (!Object.keys(question).every((key) => FIELDS.has(key))) return "has a field this client does not know";
  if (!wellFormed(question)) return "is not as the compiler writes it; compile the survey again";
  const { mechanism: named } = question;
  if (named.derivation !== DERIVATION || !["grr", "oue", "olh"].includes(named.name)) {
    return "has a mechanism this client lacks";
  }
  if (!withinLimits(question)) return "is beyond what any device accepts";
  if (!resolves(question)) return "does not match its epsilons; compile the survey again";
  if ((await privacyHash(survey, question)) !== question.hash) {
    return "does not match its hash; compile the survey again";
  }
  return null;
}

function wellFormed(question) {
  const { version, ask, type, choices, mechanism: named, epsilon, epsilon_first: first } = question;
  const { period, grace, expires, default: silence } = question;
  const texts = [ask, ...(Array.isArray(choices) ? choices : [null])];
  const answers = type === "boolean" ? [false, true] : choices;
  return (
    Number.isInteger(version) && version >= 1 && version <= 1_000_000 &&
    texts.every((text) => typeof text === "string" && text.normalize("NFC") === text) &&
    isTable(named) && isTable(named.options) && isTable(named.thresholds) && isTable(named.shape) &&
    named.k === answers.length && new Set(answers).size === answers.length && named.k >= 2 &&
    scaled(epsilon) !== null && (first === null || scaled(first) !== null) &&
    ["day", "week", "month", "once"].includes(period) &&
    Number.isInteger(grace) && grace <= MAX_GRACE && (period === "once" ? grace === 0 : grace >= 1) &&
    typeof expires === "string" && DATE.test(expires) && !Number.isNaN(Date.parse(expires)) &&
    (silence === null || (period !== "once" && answers.includes(silence)))
  );
}

function withinLimits({ mechanism: named, epsilon, epsilon_first: first }) {
  const [all, one] = [scaled(epsilon), first === null ? null : scaled(first)];
  return (
    named.k <= MAX_K && EPSILON_MIN <= all && all <= EPSILON_MAX &&
    (one === null || (EPSILON_MIN <= one && one < all))
  );
}

/** Whether thresholds and shape are what epsilons, k and options make. */
function resolves(question) {
  const named = question.mechanism;
  const options = named.name === "olh" ? ["g"] : [];
  if (Object.keys(named.options).join() !== options.join()) return false;
  const { g } = named.options;
  if (named.name === "olh" && !(Number.isInteger(g) && g >= 2 && g <= MAX_K)) return false;
  if (canonicalJson(thresholds(question)) !== canonicalJson(named.thresholds)) return false;
  const known = mechanism(named);
  return known !== null && canonicalJson(shape(known)) === canonicalJson(named.shape);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function require(holds, key) {
  if (!holds) throw new DeniableError(`survey: ${key} is not as the compiler writes it; compile the survey again`);
}

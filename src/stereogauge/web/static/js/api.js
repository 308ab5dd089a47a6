// Questions to the server. In a static export the answers are files, and what was not exported says so.

import { drawing } from "./drawing.js";

const STATIC = document.querySelector('meta[name="stereogauge-mode"]').content === "static";
const BASE = "api/v1/";
const KEPT = 60;
const FRESH = 30_000; // ms: others may publish results meanwhile
const kept = new Map();
let index = null;

export const isStatic = STATIC;

/** A question that could not be answered; `allowed` lists names that exist where one does not. */
export class Problem extends Error {
  constructor(message, status, { allowed = [], reason = "" } = {}) {
    super(message);
    Object.assign(this, { status, allowed, reason });
  }
}

/** The selections that a static copy holds answers for. */
export const shipped = () => index?.selections ?? [];

/** The own token of a submitter, for this tab only. */
export const token = {
  get: () => sessionStorage.getItem("stereogauge-token") ?? "",
  set: (value) =>
    value ? sessionStorage.setItem("stereogauge-token", value) : sessionStorage.removeItem("stereogauge-token"),
};

/** Parameters in a fixed order, so that the same question has the same address. */
export function canonical(params) {
  const stated = new URLSearchParams([...new URLSearchParams(params)].filter(([, value]) => value !== ""));
  stated.sort();
  return stated.toString();
}

/** The address of a question or picture. */
export function url(path, params = "") {
  const query = canonical(params);
  if (STATIC) return index?.[`${path}${query ? `?${query}` : ""}`] ?? null;
  return `${BASE}${path}${query ? `?${query}` : ""}`;
}

async function answered(response) {
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Problem(body.detail ?? `The server answered ${response.status}.`, response.status, body);
}

/** Whether an address is about a submission: only its owner gets an answer, with the token, and nobody keeps it. */
export const isOwn = (address) => /[/?&]submission/.test(address);

/** The response to a question about the visitor's own submission. */
export async function asOwner(address, options = {}) {
  const headers = token.get() ? { Authorization: `Bearer ${token.get()}` } : {};
  return answered(await fetch(address, { ...options, headers }));
}

/** The answer to a question. Answers are kept for this visit unless they belong to somebody. */
export const ask = (path, params = "", options = {}) => drawing(answerTo(path, params, options));

async function answerTo(path, params, { signal, fresh = false }) {
  if (STATIC && index === null) index = await (await fetch("answers.json")).json();
  const address = url(path, params);
  if (address === null) {
    throw new Problem(
      "This selection was not exported: this copy of the site holds only some answers. " +
        "Run `stereogauge serve STORE` to select freely.",
      404,
    );
  }
  const mine = isOwn(address);
  const known = kept.get(address);
  if (!fresh && !mine && known && Date.now() - known.at < FRESH) return known.answer;
  const response = mine ? await asOwner(address, { signal }) : await answered(await fetch(address, { signal }));
  const answer = await response.json();
  if (!mine) {
    kept.delete(address);
    kept.set(address, { answer, at: Date.now() });
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }
  return answer;
}

/** A request that changes something, with the submitter's token. */
export async function send(method, path) {
  await drawing(asOwner(`${BASE}${path}`, { method }));
  kept.clear();
}

/** Server-sent events of a path with the submitter's token, as an async sequence of objects. */
export async function* events(path, signal) {
  const response = await asOwner(`${BASE}${path}`, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const data = part
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5))
        .join("");
      if (data) yield JSON.parse(data);
    }
  }
}

/** What a promise gives; where the server refused a question, what `refuse(problem)` makes of it. */
export const attempt = (promise, refuse) =>
  promise.catch((problem) => {
    if (!(problem instanceof Problem)) throw problem;
    return refuse(problem);
  });

/**
 * Asks the latest of several questions; earlier ones are dropped when a new one comes, and give undefined.
 * A question is a path with parameters, or a function of the signal that ends it.
 */
export function latest() {
  let controller = null;
  return async (work, params) => {
    controller?.abort();
    const own = new AbortController();
    controller = own;
    try {
      return await (typeof work === "string" ? ask(work, params, { signal: own.signal }) : work(own.signal));
    } catch (problem) {
      if (problem.name === "AbortError" || own.signal.aborted) return undefined;
      throw problem;
    }
  };
}

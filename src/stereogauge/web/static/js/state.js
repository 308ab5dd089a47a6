// The whole state of the page is the part of the address behind "#": view?name=value&name=value. Names may repeat.

export const VIEWS = [
  "answer",
  "leaderboard",
  "compare",
  "scene",
  "metrics",
  "confidence",
  "tuning",
  "protocol",
  "submit",
];
/** Views that are reached by links only. */
const LINKED = ["algorithm", "versus"];
export const SELECTION = [
  "scenes",
  "regions",
  "metrics",
  "algorithms",
  "protocol",
  "aggregation",
  "missing",
  "least_coverage",
  "need",
];
export const MODEL = ["model", "ties", "tau", "profile", "normalisation", "weights"];
const KEPT = [...SELECTION, ...MODEL, "submission", "completeness"];

const listeners = new Set();

function read() {
  const [view, query = ""] = location.hash.replace(/^#/, "").split("?");
  return { view: [...VIEWS, ...LINKED].includes(view) ? view : "answer", params: new URLSearchParams(query) };
}

let current = read();

export const view = () => current.view;
export const get = (name, otherwise = null) => current.params.get(name) ?? otherwise;
export const all = (name) => current.params.getAll(name);
export const has = (name) => current.params.has(name);
/** Whether the address selects nothing but a protocol and what is named besides. */
export const isBare = (besides = []) =>
  SELECTION.every((name) => name === "protocol" || besides.includes(name) || !current.params.has(name));
/** The model of the leaderboard: the weighted one unless the address names another. */
export const model = () => get("model", "weighted");

/** A profile or weights are those of the weighted model, so whoever chooses them leaves another model. */
const agreeing = (changes) =>
  (changes.profile || changes.weights?.length) && !("model" in changes) ? { ...changes, model: null } : changes;

/** The address of another state: changes map a name to a value, a list, or null (absent). */
export function address(given = {}, target = current.view) {
  const changes = agreeing(given);
  const params = new URLSearchParams();
  const names = target === current.view ? [...new Set([...current.params.keys()])] : KEPT;
  for (const name of names) {
    if (!(name in changes)) for (const value of current.params.getAll(name)) params.append(name, value);
  }
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, one);
  }
  const query = params.toString();
  return `#${target}${query ? `?${query}` : ""}`;
}

/**
 * Go to another state; returns whether it is another one. `quietly` replaces the present entry of the history, as for a
 * slider that is being dragged.
 */
export function update(changes, { target = current.view, quietly = false } = {}) {
  const next = address(changes, target);
  if (next === location.hash) return false;
  history[quietly ? "replaceState" : "pushState"](null, "", next);
  changed();
  return true;
}

/** Write something into the address that is already on the screen, such as where a pane looks. */
export function note(changes) {
  history.replaceState(null, "", address(changes));
  current = read();
}

/** Call `listener(previous view)` after every change. */
export const onChange = (listener) => listeners.add(listener);

function changed() {
  const before = current.view;
  current = read();
  for (const listener of listeners) listener(before);
}

addEventListener("hashchange", changed);

/** The parameters of a selection, as the API takes them. */
export function selection(extra = []) {
  const params = new URLSearchParams();
  for (const name of [...SELECTION, "submission", ...extra]) {
    for (const value of current.params.getAll(name)) params.append(name, value);
  }
  return params;
}

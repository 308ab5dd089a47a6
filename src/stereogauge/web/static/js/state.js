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
/** The parts of a scope, as the command line and the API call them. */
export const SCOPE = [
  "dataset",
  "protocol",
  "scenes",
  "regions",
  "metrics",
  "algorithms",
  "aggregation",
  "missing",
  "least_coverage",
  "need",
  "proportions",
];
export const PURPOSE = ["profile", "weights", "requirements", "proportions"];
export const MODEL = ["model", "ties", "tau", "normalisation", "missing_pixels"];
const KEPT = [...SCOPE, ...PURPOSE, ...MODEL, "submission"];

/** What the scope is where the address says nothing: set when it is known. */
export const defaults = { dataset: null, model: "weighted", profile: null, weights: null };

const listeners = new Set();

function read() {
  const [view, query = ""] = location.hash.replace(/^#/, "").split("?");
  const params = new URLSearchParams(query);
  if (params.has("completeness")) params.set("need", params.get("completeness")); // as older links call it
  params.delete("completeness");
  return { hash: location.hash, view: [...VIEWS, ...LINKED].includes(view) ? view : "answer", params };
}

let current = read();

export const view = () => current.view;
export const get = (name, otherwise = null) => current.params.get(name) ?? otherwise;
export const all = (name) => current.params.getAll(name);
export const has = (name) => current.params.has(name);
/** The model of the leaderboard: the one of the address, the weighted one for a stated purpose, else the protocol's. */
export const impliedModel = () => (["profile", "weights", "proportions"].some(has) ? "weighted" : defaults.model);
export const model = () => get("model") ?? impliedModel();

/**
 * A purpose takes the place of another one. A profile, weights and proportions are those of the weighted model, so
 * whoever chooses them leaves another model.
 */
function agreeing(changes) {
  const chosen = PURPOSE.filter((name) => changes[name]?.length);
  if (!chosen.length) return changes;
  const others = chosen.includes("proportions") ? PURPOSE : ["proportions"];
  const model = chosen.some((name) => name !== "requirements") ? { model: null } : {};
  return { ...Object.fromEntries(others.map((name) => [name, null])), ...model, ...changes };
}

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

/**
 * Write into the address what a view already shows, such as where a pane looks. Another address that has been opened
 * meanwhile stays, also before its change is announced.
 */
export function note(view, changes) {
  if (current.view !== view || location.hash !== current.hash) return;
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

/** The scope, as the API takes it. */
export function scope(extra = {}) {
  const params = new URLSearchParams();
  for (const name of [...SCOPE, "submission"])
    for (const value of current.params.getAll(name)) params.append(name, value);
  if (!params.has("dataset") && defaults.dataset) params.set("dataset", defaults.dataset);
  for (const [name, value] of Object.entries(extra)) if (value !== null && value !== undefined) params.set(name, value);
  return params;
}

/** The weights of an address, as it writes them. */
export const written = (weights) =>
  Object.entries(weights).map(([term, value]) => `${term}=${Number(value.toPrecision(4))}`);

/** The scope with the weights in force: those of the address, of its profile, or the default ones. */
export function weighed(extra = {}) {
  const params = scope(extra);
  if (has("proportions")) return params;
  const own = has("weights") ? all("weights") : has("profile") || !defaults.weights ? [] : written(defaults.weights);
  for (const one of own) params.append("weights", one);
  if (!own.length) params.set("profile", get("profile", defaults.profile));
  return params;
}

/** The scope with the purpose of the address: requirements need no weights. */
export function purpose() {
  if (!has("requirements")) return weighed();
  const params = has("profile") || has("weights") ? weighed() : scope();
  params.set("requirements", get("requirements"));
  return params;
}

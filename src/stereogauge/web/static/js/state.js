// The whole state of the page is the part of the address behind "#": view?name=value&name=value. Names may repeat.

/** The views and their titles; the last two are reached by links only. */
export const VIEWS = {
  answer: "Answer",
  leaderboard: "Leaderboard",
  compare: "Compare",
  scene: "Scene",
  metrics: "Metrics",
  confidence: "Confidence",
  tuning: "Tuning",
  protocol: "Protocol",
  submit: "Submit",
  algorithm: "Algorithm",
  versus: "A against B",
};
export const LINKED = ["algorithm", "versus"];
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
/** Changes of the address that remove some of its names. */
export const without = (...names) => Object.fromEntries(names.map((name) => [name, null]));
export const NO_PURPOSE = { ...without(...PURPOSE), form: null };
export const MODEL = ["model", "ties", "tau", "normalisation", "missing_pixels"];
const KEPT = [...SCOPE, ...PURPOSE, ...MODEL, "submission"];

/** What the scope is where the address says nothing: set when it is known. */
export const defaults = { dataset: null, model: "weighted", profile: null, weights: null };

function read() {
  const [view, query = ""] = location.hash.replace(/^#/, "").split("?");
  const params = new URLSearchParams(query);
  if (params.has("completeness")) params.set("need", params.get("completeness")); // as older links call it
  params.delete("completeness");
  const known = Object.hasOwn(VIEWS, view);
  return { hash: location.hash, view: known ? view : "answer", unknown: known ? "" : view, params };
}

let current = read();

export const view = () => current.view;
/** A page that the address names and nobody knows; the first page is shown instead. */
export const unknownView = () => current.unknown;
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
  return { ...without(...others), ...model, ...changes };
}

/** The address of another state: changes map a name to a value, a list, or null (absent). */
export function address(given = {}, target = current.view) {
  const changes = agreeing(given);
  const names = target === current.view ? current.params.keys() : KEPT;
  const text = query({ ...Object.fromEntries([...names].map((name) => [name, all(name)])), ...changes }).toString();
  return `#${target}${text ? `?${text}` : ""}`;
}

/** Parameters from their values, which may be lists; those without a value are left out. */
export function query(values) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    for (const one of [value ?? []].flat()) if (one !== "") params.append(name, one);
  return params;
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

/** After every change the window hears "scope". */
function changed() {
  current = read();
  dispatchEvent(new Event("scope"));
}

addEventListener("hashchange", changed);

/** The scope, as the API takes it, with other values where `extra` has them. */
export const scope = (extra = {}) =>
  query({
    ...Object.fromEntries([...SCOPE, "submission"].map((name) => [name, all(name)])),
    dataset: get("dataset", defaults.dataset),
    ...extra,
  });

/** The weights of an address, as it writes them. */
export const written = (weights) =>
  Object.entries(weights).map(([term, value]) => `${term}=${Number(value.toPrecision(4))}`);

/** The scope with the weights in force: those of the address, of its profile, or the default ones. */
export function weighed(extra = {}) {
  if (has("proportions")) return scope(extra);
  if (has("weights")) return scope({ ...extra, weights: all("weights") });
  if (defaults.weights && !has("profile")) return scope({ ...extra, weights: written(defaults.weights) });
  return scope({ ...extra, profile: get("profile", defaults.profile) });
}

/** The scope with the purpose of the address: requirements need no weights. */
export function purpose() {
  const requirements = get("requirements");
  return requirements && !has("profile") && !has("weights") ? scope({ requirements }) : weighed({ requirements });
}

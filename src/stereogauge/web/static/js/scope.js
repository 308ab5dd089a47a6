// The scope seen from the page: what can be chosen, what is chosen, and everything where the address says nothing.

import * as state from "./state.js";

export const PRESETS = {
  partition: ["boundary", "interior", "occluded"],
  Middlebury: ["nonocc", "all", "disc"],
  visible: ["nonocc"],
};

/** What each rule for missing scores does, in words. */
export const GAPS = {
  common: "use common scenes only",
  "drop-algorithm": "leave the algorithm out",
  "drop-column": "leave the column out",
  worst: "counts as the worst",
};

export const NEEDS = [
  ["every-pixel", "every pixel"],
  ["0.9", "≥ 90 % of pixels"],
  ["0.5", "≥ 50 % of pixels"],
  ["sure", "only sure pixels"],
];

/** Where values are needed, as NEEDS names it. */
export const need = () => state.get("need") ?? state.get("least_coverage", "0.9");

/** The declaration of a metric, with or without its parameters. */
export const declared = (context, metric) => context.catalogue.metrics.find((one) => one.id === metric.split("@")[0]);

/** Whether a column's metric has its own pixels, whatever region is chosen. */
export const bound = (context, column) => Boolean(declared(context, column.metric)?.region);

/** Whether a column's metric calls single pixels right or wrong. */
export const classifies = (context, column) => Boolean(declared(context, column.metric)?.classifies);

/** Regions and metrics that have scores, in order. */
export const regions = (context) => [
  ...new Set(context.columns.filter((one) => !bound(context, one)).map((one) => one.region)),
];
export const metrics = (context) => [...new Set(context.columns.map((one) => one.metric))];

/** A protocol and the others that make the same scoring choices. */
export const protocolTitle = (one) => [one.name, ...one.also].join(", ");

/** The names of algorithms or scenes. */
export const namesOf = (list) => list.map((one) => one.name);

/** The chosen names of one kind; all of them where the address names none. */
export const chosen = (name, everything) => (state.has(name) ? state.all(name) : everything);

/** The algorithms that the scope means. */
export const chosenAlgorithms = (context) => chosen("algorithms", namesOf(context.algorithms));

/** The columns that the scope means. */
export function chosenColumns(context) {
  const metric = new Set(chosen("metrics", metrics(context)).flatMap((one) => [one, one.split(":")[0]]));
  const region = new Set(chosen("regions", regions(context)));
  return context.columns.filter((one) => metric.has(one.metric) && (region.has(one.region) || bound(context, one)));
}

/** Those of some algorithms that are the visitor's own submission. */
export const owned = (context, names) => names.filter((name) => context.styles.get(name)?.own);

/**
 * The parameters of a question about maps of a scene: data set, protocol, and the visitor's own submission where one of
 * these algorithms is it.
 */
export function mapParams(context, given, names = [given.algorithm ?? []].flat()) {
  const { dataset, protocol } = Object.fromEntries(state.scope());
  const submission = owned(context, names).length ? state.get("submission") : null;
  return state.query({ dataset, protocol, submission, ...given });
}

/** The path of a question about a scene. */
export const scenePath = (scene, rest) => `scenes/${encodeURIComponent(scene)}/${rest}`;

/** The panes of a scene that show the errors of some algorithms. */
export const errorPanes = (...names) => names.map((name) => `error~${encodeURIComponent(name)}`);

/** The panes of a scene that show an algorithm's map, and the errors that a column counts where it has a picture. */
export function panesOf(context, algorithm, column = null) {
  const [name, metric] = [encodeURIComponent(algorithm), column?.split(":")[0]];
  const pictured = metric && declared(context, metric)?.picture;
  return [`estimate~${name}`, pictured ? `metric~${name}~${encodeURIComponent(metric)}` : `error~${name}`];
}

/** What single pages name beside the scope, by what it is. */
const NAMED = {
  algorithm: ["first", "second", "mark", "lines"],
  column: ["column", "duel", "glance", "histogram", "plot"],
};

/** The names in the address that nothing here has: of a page, an algorithm or a column. Others are shown instead. */
export function strayNames(context) {
  const known = { algorithm: namesOf(context.algorithms), column: context.columns.map((one) => one.id) };
  const strays = Object.entries(NAMED).flatMap(([kind, names]) => {
    const stated = new Set(names.flatMap(state.all)).difference(new Set(known[kind]));
    return [...stated].map((name) => ({ kind, name }));
  });
  return state.unknownView() ? [{ kind: "page", name: state.unknownView() }, ...strays] : strays;
}

/** What can be looked at, data set first: its key, words, and changes of the address. */
export function testBeds(context) {
  const none = state.without(...state.SCOPE, ...Object.values(NAMED).flat(), "scene", "pane", "at", "model");
  return context.datasets.flatMap((one) =>
    one.protocols.map((key, at) => {
      const protocol = context.catalogue.protocols.find((other) => other.key === key);
      const under = one.protocols.length > 1 ? ` · ${protocolTitle(protocol)}` : "";
      return {
        key: `${key} ${one.name}`,
        title: one.title,
        text: one.title + under,
        changes: { ...none, dataset: one === context.datasets[0] && !at ? null : one.name, protocol: at ? key : null },
      };
    }),
  );
}

/** The data set that is looked at. */
export const testBed = (context) =>
  testBeds(context).find((one) => one.key === `${context.protocol.key} ${context.dataset}`) ?? testBeds(context)[0];

/** The weights in force: those of the address, of its profile, or the default ones. */
export function weights(context) {
  if (state.has("proportions")) return { ...context.composed };
  const stated = state.all("weights").map((text) => text.match(/^(.*?)=?([^=]*)$/s).slice(1));
  if (stated.length) return Object.fromEntries(stated.map(([term, weight]) => [term, Number(weight)]));
  if (state.defaults.weights && !state.has("profile")) return { ...state.defaults.weights };
  return { ...profile(context)?.weights };
}

/** The profile in force. */
const profile = (context) => {
  const named = state.get("profile", state.defaults.profile);
  return context.catalogue.profiles.find((one) => one.id === named);
};

/** The purpose in a few words: "driver assistance". */
export function purposeWords(context) {
  if (state.has("requirements") || state.get("form") === "requirements") return "my requirements";
  if (state.has("weights")) return "my own weights";
  if (state.has("proportions")) return "my proportions";
  if (state.defaults.weights && !state.has("profile")) return "accuracy, as measured";
  return profile(context)?.name ?? state.get("profile");
}

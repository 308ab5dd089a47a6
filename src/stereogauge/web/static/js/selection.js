// What is selected, seen from the page: everything where the address says nothing.

import { isStatic } from "./api.js";
import * as state from "./state.js";

const WIDE = 14;
export const PRESETS = {
  partition: ["boundary", "interior", "occluded"],
  Middlebury: ["nonocc", "all", "disc"],
  visible: ["nonocc"],
};

/** Regions and metrics that have scores, in order. */
export const regions = (context) => [
  ...new Set(context.columns.filter((one) => !bound(context, one)).map((one) => one.region)),
];
export const metrics = (context) => [...new Set(context.columns.map((one) => one.metric))];

/** Whether a column's metric has its own pixels, whatever region is chosen. */
export function bound(context, column) {
  return Boolean(context.catalogue.metrics.find((one) => one.id === column.metric.split("@")[0])?.region);
}

/** A protocol and the others that make the same scoring choices. */
export const protocolTitle = (one) => [one.name, ...one.also].join(", ");

/** The chosen names of one kind; all of them where the address names none. */
export const chosen = (name, everything) => (state.has(name) ? state.all(name) : everything);

/** The columns that the present selection means. */
export function chosenColumns(context) {
  const metric = new Set(chosen("metrics", metrics(context)).flatMap((one) => [one, one.split(":")[0]]));
  const region = new Set(chosen("regions", regions(context)));
  return context.columns.filter((one) => metric.has(one.metric) && (region.has(one.region) || bound(context, one)));
}

/** The parameters of a question about maps: the visitor's submission is named where one of the algorithms is it. */
export function mapParams(context, params, names) {
  const all = new URLSearchParams(params);
  if (state.get("protocol")) all.set("protocol", state.get("protocol"));
  if (names.some((name) => context.styles.get(name)?.own)) all.set("submission", state.get("submission"));
  return all;
}

const started = new Set();
const switched = new Set();

/** Let a protocol start small again after a switch to it, in whatever view. */
export function startAgain(protocol) {
  started.delete(protocol);
  switched.add(protocol);
}

/**
 * A bare address of a store with very many columns starts with one region and one dataset, so that the first table
 * can be read; whoever then selects everything gets it.
 */
export function firstSelection(context) {
  if (!switched.delete(context.protocol.key) && state.view() !== "leaderboard") return false;
  const known = started.has(context.protocol.key);
  started.add(context.protocol.key);
  if (known || !state.isBare()) return false;
  const all = regions(context);
  const first = all.includes("nonocc") ? "nonocc" : all[0];
  const own = context.scenes.filter((one) => one.dataset === context.scenes[0].dataset).map((one) => one.name);
  const changes = {
    ...(context.columns.length > WIDE && all.length > 1 ? { regions: [first] } : {}),
    ...(own.length < context.scenes.length && !isStatic ? { scenes: own } : {}),
  };
  if (!Object.keys(changes).length) return false;
  state.update(changes, { quietly: true });
  return true;
}

/** The weights of the sliders: those of the address, of its profile, or the same for every metric. */
export function weights(context) {
  const stated = state.all("weights");
  if (stated.length)
    return Object.fromEntries(
      stated.map((text) => [text.slice(0, text.lastIndexOf("=")), Number(text.slice(text.lastIndexOf("=") + 1))]),
    );
  const profile = context.catalogue.profiles.find((one) => one.id === state.get("profile"));
  if (profile) return { ...profile.weights };
  const names = chosen("metrics", metrics(context)).map((one) => one.split(":")[0]);
  return Object.fromEntries([...new Set(names)].map((name) => [name, 1 / new Set(names).size]));
}

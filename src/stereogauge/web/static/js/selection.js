// What is selected, seen from the page: everything where the address says nothing.

import { isStatic } from "./api.js";
import { choose } from "./dom.js";
import { listed } from "./format.js";
import * as state from "./state.js";

const WIDE = 14;
const SELECTED = ["scenes", "regions", "metrics", "algorithms"];
/** Views of columns, which start with one region where there are many, and views of purposes, which start with all. */
const NARROWED = ["leaderboard", "compare", "metrics"];
const COMPARED = ["answer", "algorithm", "versus"];
export const PRESETS = {
  partition: ["boundary", "interior", "occluded"],
  Middlebury: ["nonocc", "all", "disc"],
  visible: ["nonocc"],
};

/** What each rule for missing scores does, in words. */
export const GAPS = {
  common: "compare on what is common",
  "drop-algorithm": "leave the algorithm out",
  "drop-column": "leave the column out",
  worst: "counts as the worst",
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

/** Whether a column's metric calls single pixels right or wrong. */
export function classifies(context, column) {
  return Boolean(context.catalogue.metrics.find((one) => one.id === column.metric.split("@")[0])?.classifies);
}

/** Whether a metric measures the map and not its making; by default only such ones are weighed. */
const aboutPixels = (context, metric) =>
  context.catalogue.metrics.find((one) => one.id === metric.split("@")[0])?.about_pixels ?? true;

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

/**
 * What can be looked at, data set first: [key, words, changes of the address]. A static copy has one answer per
 * protocol, whatever its data sets.
 */
export function testBeds(context) {
  const [usual] = context.catalogue.protocols;
  const none = Object.fromEntries(
    [...SELECTED, "scene", "pane", "column", "glance", "plot"].map((name) => [name, null]),
  );
  return context.catalogue.protocols.flatMap((protocol) => {
    const own = context.datasets.filter((one) => one.protocols.includes(protocol.key));
    const stated = protocol === usual ? null : protocol.key;
    const twice = (one) => one.protocols.length > 1;
    const under = ` · ${protocolTitle(protocol)}`;
    if (isStatic || own.length < 2)
      return [
        {
          key: protocol.key,
          text: (listed(own.map((one) => one.title)) || protocol.name) + (own.some(twice) ? under : ""),
          changes: { ...none, protocol: stated },
        },
      ];
    return own.map((one) => ({
      key: `${protocol.key} ${one.name}`,
      text: one.title + (twice(one) ? under : ""),
      changes: { ...none, protocol: stated, scenes: one.scenes },
    }));
  });
}

/** The key of the data set that is looked at; empty where several are. */
export function testBed(context) {
  const shown = new Set(
    context.scenes.filter((one) => chosen("scenes", [one.name]).includes(one.name)).map((one) => one.dataset),
  );
  const { key } = context.protocol;
  const keys = testBeds(context).map((one) => one.key);
  return [key, `${key} ${[...shown][0]}`].find((one) => keys.includes(one) && (one === key || shown.size === 1)) ?? "";
}

/** A list of the data sets, or null where there is nothing to choose. */
export function testBedChoice(context, properties = {}) {
  const beds = testBeds(context);
  if (beds.length < 2) return null;
  const now = testBed(context);
  return choose(
    [...(now ? [] : [["", "several data sets"]]), ...beds.map((one) => [one.key, one.text])],
    now,
    (value) => {
      const bed = beds.find((one) => one.key === value);
      if (!bed) return;
      startAgain(value.split(" ")[0]);
      state.update(bed.changes);
    },
    { "aria-label": "Data set", ...properties },
  );
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
 * can be read; selecting everything afterwards shows everything.
 */
export function firstSelection(context) {
  const narrowed = switched.delete(context.protocol.key) || NARROWED.includes(state.view());
  if (!narrowed && !COMPARED.includes(state.view())) return false;
  const known = started.has(context.protocol.key);
  if (narrowed) started.add(context.protocol.key);
  if (known) return false;
  const all = regions(context);
  const first = all.includes("nonocc") ? "nonocc" : all[0];
  const own = context.scenes.filter((one) => one.dataset === context.scenes[0].dataset).map((one) => one.name);
  const several = own.length < context.scenes.length;
  const bare = state.isBare() || (state.isBare(["scenes"]) && several && testBed(context) !== "");
  const changes = {
    ...(bare && narrowed && context.columns.length > WIDE && all.length > 1 ? { regions: [first] } : {}),
    ...(state.isBare() && several && !isStatic ? { scenes: own } : {}),
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
  const names = chosen(
    "metrics",
    metrics(context).filter((one) => aboutPixels(context, one)),
  ).map((one) => one.split(":")[0]);
  return Object.fromEntries([...new Set(names)].map((name) => [name, 1 / new Set(names).size]));
}

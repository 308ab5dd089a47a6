// The selection panel: scenes, regions, metrics, algorithms, model and weights.

import { isStatic } from "./api.js";
import { badge } from "./chart.js";
import { shippedPart } from "./copy.js";
import { choose, field, h, put } from "./dom.js";
import { defineColumn, defineModel, defineRegion } from "./popup.js";
import {
  chosen,
  GAPS,
  metrics,
  PRESETS,
  protocolTitle,
  regions,
  startAgain,
  testBedChoice,
  testBeds,
} from "./selection.js";
import * as state from "./state.js";
import { weightPart } from "./weights.js";
import { idMark, metricWords, regionWords } from "./words.js";

const NEEDS = [
  ["1", "every pixel"],
  ["0.9", "at least 90 %"],
  ["0.5", "at least 50 %"],
  ["sure", "only where it is sure"],
];

const searches = new Map();
const SEARCH_FROM = 12;
const open = { drawer: false };

function boxes({ name, title, all, group, swatch, about, tall, entries, words }) {
  const picked = new Set(chosen(name, all));
  const set = (next) => {
    const kept = all.filter((one) => next.has(one));
    state.update({ [name]: kept.length === all.length ? null : kept.length ? kept : [all[0]] });
  };
  const toggle = (one) => {
    const next = new Set(picked);
    next.has(one) ? next.delete(one) : next.add(one);
    set(next);
  };
  const list = h("div", { class: `choices${tall ? " tall" : ""}`, role: "group", "aria-label": title });
  const fill = (text) => {
    let last = null;
    put(
      list,
      all
        .filter((one) => `${one} ${words?.(one) ?? ""}`.toLowerCase().includes(text.toLowerCase()))
        .map((one) => {
          const heading = group?.(one);
          const head = heading && heading !== last ? h("div", { class: "group-name" }, heading) : null;
          last = heading;
          return [
            head,
            h(
              "label",
              { class: "choice", title: words ? `${words(one)} (${one})` : one },
              h("input", {
                type: "checkbox",
                checked: picked.has(one),
                "data-choice": `${name}:${one}`,
                onchange: () => toggle(one),
              }),
              swatch && badge(swatch(one)),
              h("span", { class: "name" }, words?.(one) ?? (heading ? one.slice(heading.length + 1) : one)),
              words && words(one) !== one && idMark(one),
              about &&
                h(
                  "button",
                  {
                    type: "button",
                    class: "about",
                    "aria-label": `What is ${one}?`,
                    onclick: (event) => {
                      event.preventDefault();
                      about(event.currentTarget, one);
                    },
                  },
                  "i",
                ),
            ),
          ];
        }),
    );
  };
  const search =
    all.length > SEARCH_FROM &&
    h("input", {
      type: "search",
      placeholder: "search",
      "aria-label": `Search ${title.toLowerCase()}`,
      value: searches.get(name) ?? "",
      oninput: (event) => {
        searches.set(name, event.target.value);
        fill(event.target.value);
      },
    });
  fill(all.length > SEARCH_FROM ? (searches.get(name) ?? "") : "");
  return h(
    "fieldset",
    { "data-part": name },
    h(
      "legend",
      {},
      h("span", {}, title),
      h("span", { class: "count" }, picked.size === all.length ? `${all.length}` : `${picked.size} of ${all.length}`),
      h(
        "div",
        { class: "tools" },
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () => state.update({ [name]: null }),
            "aria-label": `Select all ${title.toLowerCase()}`,
          },
          "all",
        ),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () => set(new Set(all.filter((one) => !picked.has(one)))),
            "aria-label": `Invert ${title.toLowerCase()}`,
          },
          "invert",
        ),
      ),
    ),
    entries && tagButtons(name, entries),
    search,
    list,
  );
}

/** Buttons that select whatever carries a tag; `entries` have a name and tags. */
function tagButtons(name, entries) {
  const there = new Map();
  for (const one of entries)
    for (const [tag, values] of Object.entries(one.tags ?? {}))
      for (const value of values) {
        const key = `${tag}=${value}`;
        there.set(key, [...(there.get(key) ?? []), one.name]);
      }
  if (!there.size) return null;
  const now = chosen(
    name,
    entries.map((one) => one.name),
  ).join("\n");
  return h(
    "div",
    { class: "tags", role: "group", "aria-label": `Select ${name} by tag` },
    [...there]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, names]) => {
        const pressed = now === names.join("\n");
        return h(
          "button",
          {
            type: "button",
            "data-tag": `${name}:${key}`,
            "aria-pressed": String(pressed),
            title: names.join(", "),
            onclick: () => state.update({ [name]: pressed || names.length === entries.length ? null : names }),
          },
          key.replace("=", ": "),
        );
      }),
  );
}

function presets(context) {
  const all = regions(context);
  const now = chosen("regions", all).join();
  const fitting = Object.entries(PRESETS).filter(([, names]) => names.every((one) => all.includes(one)));
  return fitting.length
    ? h(
        "div",
        { class: "row" },
        fitting.map(([title, names]) =>
          h(
            "label",
            { class: "choice" },
            h("input", {
              type: "radio",
              name: "region-preset",
              checked: now === names.join(),
              onchange: () => state.update({ regions: names }),
            }),
            title,
          ),
        ),
      )
    : null;
}

function modelPart(context, view) {
  const { catalogue } = context;
  const model = catalogue.models.find((one) => one.id === state.model()) ?? catalogue.models[0];
  const set = (name) => (value) => state.update({ [name]: value || null });
  const options = [];
  if ("ties" in model.options)
    options.push(
      field("ties", choose(catalogue.ties, state.get("ties", "min"), set("ties"), { "aria-label": "Rule for ties" })),
    );
  if ("tau" in model.options)
    options.push(
      field(
        "τ",
        h("input", {
          type: "number",
          min: 0.5,
          step: 0.5,
          value: state.get("tau", ""),
          placeholder: "number of metrics",
          "aria-label": "Threshold tau",
          onchange: (event) => set("tau")(event.target.value),
        }),
      ),
    );
  const needed = (value) =>
    state.update(value === "sure" ? { need: value, least_coverage: null } : { need: null, least_coverage: value });
  const gaps = choose(
    catalogue.missing_rules.map((rule) => [rule, GAPS[rule] ?? rule]),
    state.get("missing", "common"),
    set("missing"),
    { "aria-label": "What happens where a score is missing" },
  );
  const aggregations = catalogue.aggregations.filter(
    (one) => one !== "weighted" || Object.keys(context.protocol?.scene_weights ?? {}).length,
  );
  return h(
    "fieldset",
    { "data-part": "model" },
    h(
      "legend",
      {},
      h("span", {}, "Model"),
      h(
        "div",
        { class: "tools" },
        h(
          "button",
          {
            type: "button",
            class: "about",
            "aria-label": "What is this model?",
            onclick: (event) => defineModel(event.currentTarget, model),
          },
          "i",
        ),
      ),
    ),
    view === "compare"
      ? null
      : choose(
          catalogue.models.map((one) => [one.id, one.name]),
          model.id,
          (value) => state.update({ model: value, ...(value === "weighted" ? {} : { profile: null, weights: null }) }),
          { "aria-label": "Model", id: "model" },
        ),
    options,
    field(
      "scenes by",
      choose(aggregations, state.get("aggregation", "mean"), set("aggregation"), {
        "aria-label": "Aggregation over scenes",
        id: "aggregation",
      }),
    ),
    field(
      "I need a value at",
      choose(NEEDS, state.get("need") ?? state.get("least_coverage", "0.9"), needed, {
        "aria-label": "Where you need a value: scores that cover less are not ranked",
        id: "need",
      }),
    ),
    field("a missing score", gaps),
    (view === "compare" || model.id === "weighted") && state.get("need") !== "sure" ? weightPart(context) : null,
  );
}

/** Draw the panel, unless one of its sliders is being dragged. */
export function drawPanel(root, context, view) {
  const focus = document.activeElement;
  if (focus?.matches?.("#panel input[type=range]") && root.contains(focus) && root.dataset.view === view) return;
  const key = focus && root.contains(focus) ? (focus.dataset.choice ?? focus.id) : null;
  const scrolled = Object.fromEntries(
    [...root.querySelectorAll("fieldset")].map((one) => [
      one.dataset.part,
      one.querySelector(".choices")?.scrollTop ?? 0,
    ]),
  );
  root.dataset.view = view;
  root.hidden = ["answer", "algorithm", "versus", "scene", "protocol", "submit", "tuning"].includes(view);
  root.parentElement.style.setProperty("grid-template-columns", root.hidden ? "minmax(0, 1fr)" : "");
  if (root.hidden) return;
  const drawer = h(
    "button",
    {
      type: "button",
      class: "drawer",
      "aria-expanded": String(open.drawer),
      onclick: (event) => {
        open.drawer = !open.drawer;
        root.classList.toggle("open", open.drawer);
        event.target.setAttribute("aria-expanded", String(open.drawer));
      },
    },
    "Selection ▾",
  );
  root.classList.toggle("open", open.drawer);
  if (isStatic) return void put(root, drawer, h("div", { class: "parts" }, shippedPart(context, view)));
  const datasets = new Map(context.scenes.map((one) => [one.name, one.dataset]));
  const several = new Set(datasets.values()).size > 1;
  put(
    root,
    drawer,
    h(
      "div",
      { class: "parts" },
      testBedPart(context),
      ["leaderboard", "compare"].includes(view) && modelPart(context, view),
      boxes({
        name: "scenes",
        title: "Scenes",
        all: context.scenes.map((one) => one.name),
        group: several ? (one) => datasets.get(one) : null,
        entries: context.scenes,
      }),
      regionsPart(context),
      boxes({
        name: "metrics",
        title: "Metrics",
        all: metrics(context),
        tall: true,
        words: (one) => metricWords(context, one),
        about: (anchor, one) =>
          defineColumn(anchor, context.catalogue, one, context.columns.find((column) => column.metric === one)?.region),
      }),
      boxes({
        name: "algorithms",
        title: "Algorithms",
        all: context.algorithms.map((one) => one.name),
        tall: true,
        swatch: (one) => context.styles.get(one),
        entries: context.algorithms,
      }),
    ),
  );
  for (const part of root.querySelectorAll("fieldset"))
    part.querySelector(".choices")?.scrollTo(0, scrolled[part.dataset.part] ?? 0);
  if (key) root.querySelector(`[data-choice="${CSS.escape(key)}"], #${CSS.escape(key)}`)?.focus();
}

/** The data set first, then the protocol under which it was scored. */
function testBedPart(context) {
  const protocols = context.catalogue.protocols;
  return h(
    "fieldset",
    { "data-part": "dataset" },
    h("legend", {}, h("span", {}, "Data set")),
    testBedChoice(context, { id: "dataset" }) ?? h("div", { id: "dataset" }, testBeds(context)[0]?.text),
    field(
      "protocol",
      protocols.length > 1
        ? choose(
            protocols.map((one) => [one.key, protocolTitle(one)]),
            context.protocol.key,
            (value) => {
              startAgain(value);
              state.update({ protocol: value, regions: null, metrics: null, scenes: null, algorithms: null });
            },
            { "aria-label": "Protocol" },
          )
        : h("a", { href: state.address({}, "protocol") }, protocolTitle(context.protocol)),
    ),
  );
}

function regionsPart(context) {
  const all = regions(context);
  if (!all.length) return null;
  const part = boxes({
    name: "regions",
    title: "Regions",
    all,
    words: (one) => regionWords(context, one),
    about: (anchor, one) => defineRegion(anchor, context.catalogue, one),
  });
  const preset = presets(context);
  if (preset) part.querySelector("legend").after(preset);
  return part;
}

// The question bar: the whole scope of every number on the page. Each part opens a sheet with its choices; on a phone
// one button opens them all. What differs from the default is a chip that removes it.

import { canonical, isStatic, shipped } from "./api.js";
import { stated } from "./choices.js";
import { aboutButton, button, field, h, put } from "./dom.js";
import { listed, percent, plural } from "./format.js";
import { defineColumn, defineRegion } from "./popup.js";
import {
  chosen,
  GAPS,
  metrics,
  NEEDS,
  namesOf,
  need,
  PRESETS,
  protocolTitle,
  purposeWords,
  regions,
  testBed,
  testBeds,
  weights,
} from "./scope.js";
import * as state from "./state.js";
import { grouped } from "./weights.js";
import { badge, idMark, lowerFirst, metricWords, regionWords } from "./words.js";

const SEARCH_FROM = 12;
const FEW = 2; // names that a chip lists
/** What a figure says whose points are single scenes. */
export const SCENEWISE = "scene by scene";
const searches = new Map();
let opened = null; // the part with an open sheet, or "all"

const bar = () => document.getElementById("question");
const sheet = () => document.getElementById("sheet");

/** One choice of several, which excludes the others. */
const radio = (name, key, text, checked, onchange, note = "") =>
  h(
    "label.choice",
    h("input", { type: "radio", name, checked, "data-choice": `${name}:${key}`, onchange }),
    h("span.name", text),
    note && h("span.side", note),
  );

/** Any of several names; none chosen means all. */
function boxes({ name, title, all, style, about, entries, words = (one) => one }) {
  const picked = new Set(chosen(name, all));
  const what = title.toLowerCase();
  const set = (next) => {
    const kept = all.filter((one) => next.has(one));
    state.update({ [name]: kept.length === all.length ? null : kept.length ? kept : [all[0]] });
  };
  const toggle = (one) => set(picked.symmetricDifference(new Set([one])));
  const list = h("div.choices", { role: "group", "aria-label": title, "data-list": name });
  const choice = (one) =>
    h(
      "label.choice",
      { title: one },
      h("input", {
        type: "checkbox",
        checked: picked.has(one),
        "data-choice": `${name}:${one}`,
        onchange: () => toggle(one),
      }),
      style && badge(style(one)),
      h("bdi.name", words(one)),
      words(one) !== one && idMark(one),
      about && aboutButton((anchor) => about(anchor, one), `What is ${one}?`),
    );
  const fill = () => {
    const text = (searches.get(name) ?? "").toLowerCase();
    put(list, all.filter((one) => `${one} ${words(one)}`.toLowerCase().includes(text)).map(choice));
  };
  const search = h("input", {
    type: "search",
    placeholder: "search",
    "aria-label": `Search ${what}`,
    value: searches.get(name) ?? "",
    oninput: (event) => {
      searches.set(name, event.target.value);
      fill();
    },
  });
  fill();
  return [
    h(
      "div.tools",
      button("all", () => state.update({ [name]: null }), { "aria-label": `Select all ${what}` }),
      button("invert", () => set(new Set(all).difference(picked)), { "aria-label": `Invert ${what}` }),
      entries && tagButtons(name, entries),
    ),
    all.length > SEARCH_FROM && search,
    list,
  ];
}

/** Buttons that select whatever carries a tag; `entries` have a name and tags. */
function tagButtons(name, entries) {
  const tagged = entries.flatMap((one) =>
    Object.entries(one.tags ?? {}).flatMap(([tag, values]) => values.map((value) => [`${tag}=${value}`, one.name])),
  );
  const now = chosen(name, namesOf(entries)).join("\n");
  return grouped(tagged, ([key]) => key)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, members]) => {
      const names = members.map(([, one]) => one);
      const pressed = now === names.join("\n");
      const whole = pressed || names.length === entries.length;
      return button(key.replace("=", ": "), () => state.update({ [name]: whole ? null : names }), {
        "data-tag": `${name}:${key}`,
        "aria-pressed": String(pressed),
        title: names.join(", "),
      });
    });
}

function purposes(context) {
  const now = purposeWords(context);
  const requiring = now === "my requirements";
  const own = state.has("weights") || state.has("proportions") || requiring;
  const named = own ? null : state.get("profile", state.defaults.profile);
  const take = (changes, options) => () => state.update({ ...state.NO_PURPOSE, ...changes }, options);
  const measured = (id) => context.profiles.find((one) => one.id === id)?.measured_share ?? 0;
  const profile = ({ id, name, description }) => {
    const side = measured(id) === 1 ? "" : `${percent(measured(id))} measured`;
    const changes = { profile: id === state.defaults.profile ? null : id };
    return [radio("purpose", id, name, named === id, take(changes), side), h("p.choice-note", description)];
  };
  const weighing = take({ weights: state.written(weights(context)) });
  const stating = take({ form: "requirements" }, { target: "answer" });
  return [
    state.defaults.weights && radio("purpose", "measured", "Accuracy, as measured", !own && !named, take()),
    context.catalogue.profiles.map(profile),
    !isStatic && [
      radio("purpose", "weights", "My own weights", state.has("weights") && !requiring, weighing),
      h("p.choice-note", "They start from the profile in force; move them beside the reasons."),
      radio("purpose", "requirements", "My requirements", requiring, stating),
      h("p.choice-note", "Camera, distances, tolerance, smallest object, run time: who meets them?"),
    ],
  ];
}

function pixels(context) {
  const all = regions(context);
  const now = chosen("regions", all).join();
  const fitting = Object.entries(PRESETS).filter(([, names]) => names.every((one) => all.includes(one)));
  const preset = ([title, names]) =>
    button(title, () => state.update({ regions: names }), {
      "data-preset": title,
      "aria-pressed": String(now === names.join()),
    });
  return [
    fitting.length > 0 && h("div.tools", fitting.map(preset)),
    boxes({
      name: "regions",
      title: "Regions",
      all,
      words: (one) => regionWords(context, one),
      about: (anchor, one) => defineRegion(anchor, context.catalogue, one),
    }),
    proportions(context),
  ];
}

const PART = "part-";

/** Proportions of the parts of a scene, where scores are measured on parts. */
function proportions(context) {
  const parts = context.columns.filter((one) => one.region.startsWith(PART));
  if (!parts.length) return null;
  const names = [...new Set(parts.map((one) => one.region.slice(PART.length)))];
  return [
    field(
      "proportions of your images",
      h("input#proportions", {
        type: "text",
        value: state.get("proportions", ""),
        placeholder: "fine=0.3,disc=0.2,planar=0.3,other=0.2",
        onchange: (event) => state.update({ proportions: event.target.value.trim() }),
      }),
    ),
    h(
      "p.hint",
      `Scores on exclusive parts (${names.join(", ")}; disc is both sides of edges) are `,
      "composed in these shares instead of weights: those of your application, not of the scenes.",
    ),
  ];
}

function overScenes(context) {
  const weighted = Object.keys(context.protocol.scene_weights).length > 0;
  const all = context.catalogue.aggregations.filter((one) => one !== "weighted" || weighted);
  const now = state.get("aggregation");
  const take = (aggregation) => () => state.update({ aggregation });
  const rules = context.catalogue.missing_rules.map((rule) => [rule === "common" ? "" : rule, GAPS[rule] ?? rule]);
  return [
    radio("aggregation", "protocol", `As the protocol (${context.aggregation})`, !now, take(null)),
    all.map((one) => radio("aggregation", one, one, now === one, take(one))),
    h(
      "p.hint",
      "For scores of single columns, and for how much a scene counts in a weighted score: as much as every other, by ",
      "the protocol's weights, or by its pixels. Ranks are compared scene by scene.",
    ),
    field(
      "a missing score",
      stated("missing", "What happens where a score is missing", rules, state.get("missing"), { id: "missing" }),
    ),
  ];
}

const needWords = () => NEEDS.find(([key]) => key === need())?.[1] ?? `≥ ${percent(Number(need()))}`;

const values = () =>
  NEEDS.map(([key, text]) =>
    radio("need", key, text, need() === key, () =>
      state.update({ need: key === "0.9" ? null : key, least_coverage: null }),
    ),
  );

/** The selections that a copy on a plain web host has answers for. */
function copies() {
  const cleared = state.without("scenes", "regions", "metrics", "algorithms");
  const base = (params) => ["dataset", "protocol"].map((name) => new URLSearchParams(params).get(name)).join();
  const go = (params) => {
    const changes = Object.groupBy(params, ([name]) => name);
    for (const name of Object.keys(changes)) changes[name] = changes[name].map(([, value]) => value);
    state.update({ ...cleared, ...changes });
  };
  const scope = state.scope();
  const choice = ({ title, params }) =>
    radio("shipped", title, title, canonical(params) === canonical(scope), () => go(params));
  return [
    shipped()
      .filter((one) => base(one.params) === base(scope))
      .map(choice),
    h(
      "p.hint",
      "This is a fixed copy of the site. To choose scenes, regions, metrics, algorithms and weights freely, run the ",
      "server: stereogauge serve STORE.",
    ),
  ];
}

/** The names that can be chosen, by part of the scope. */
const lists = (context) => ({
  scenes: namesOf(context.scenes),
  regions: regions(context),
  metrics: metrics(context),
  algorithms: namesOf(context.algorithms),
});

function datasets(context) {
  const bed = testBed(context);
  const choice = ({ key, text, changes }) =>
    radio("dataset", key, text, key === bed.key, () => state.update({ ...changes, submission: null }));
  return [
    testBeds(context).map(choice),
    h("p.hint", `protocol ${protocolTitle(context.protocol)} `, idMark(context.protocol.key.slice(0, 8))),
  ];
}

/** The parts of the bar: what each is called, what it is now, its choices, and whether it differs. */
function parts(context) {
  const part = (id, label, value, body, changed = false) => ({ id, label, value, body, changed });
  const { scenes, regions, metrics, algorithms } = lists(context);
  const count = (name, all) => `${chosen(name, all).length} of ${all.length}`;
  const some = chosen("regions", regions).map((one) => regionWords(context, one));
  const pixelWords = some.length > FEW ? plural(some.length, "region") : some.join(", ") || "own pixels";
  const style = (one) => context.styles.get(one);
  const words = (one) => metricWords(context, one);
  const about = (anchor, one) =>
    defineColumn(anchor, context.catalogue, one, context.columns.find((own) => own.metric === one)?.region);
  const sceneBoxes = { name: "scenes", title: "Scenes", all: scenes, entries: context.scenes };
  const owners = { name: "algorithms", title: "Algorithms", all: algorithms, style, entries: context.algorithms };
  const measures = { name: "metrics", title: "Metrics", all: metrics, words, about };
  const how = state.get("aggregation") ?? `as the protocol (${context.aggregation})`;
  const purpose = lowerFirst(purposeWords(context));
  const first = [
    part("dataset", "Data set", testBed(context).text, () => datasets(context)),
    part("purpose", "Purpose", purpose, () => purposes(context), state.PURPOSE.some(state.has)),
  ];
  if (isStatic) return [...first, part("copies", "Selection", "in this copy", copies)];
  return [
    ...first,
    part("regions", "Pixels", pixelWords, () => pixels(context)),
    part("scenes", "Scenes", count("scenes", scenes), () => boxes(sceneBoxes)),
    part("algorithms", "Algorithms", count("algorithms", algorithms), () => boxes(owners)),
    part("metrics", "Metrics", count("metrics", metrics), () => boxes(measures)),
    part("aggregation", "Over scenes", how, () => overScenes(context)),
    part("need", "Values needed at", needWords(), values),
  ];
}

/** What differs from the default: its words, and the changes that remove it. */
function deviations(context) {
  const names = (kind, all) => {
    const picked = chosen(kind, all);
    const left = all.filter((one) => !picked.includes(one));
    if (left.length && left.length <= FEW) return `without ${left.join(", ")}`;
    return picked.length <= FEW ? `only ${picked.join(", ")}` : `${picked.length} of ${all.length} ${kind}`;
  };
  const found = Object.entries(lists(context))
    .filter(([kind]) => state.has(kind))
    .map(([kind, all]) => [names(kind, all), { [kind]: null }]);
  if (state.has("proportions"))
    found.push([`proportions of ${plural(state.get("proportions").split(",").length, "part")}`, { proportions: null }]);
  if (state.has("aggregation")) found.push([`${state.get("aggregation")} over scenes`, { aggregation: null }]);
  if (state.has("missing")) found.push([`a missing score: ${GAPS[state.get("missing")]}`, { missing: null }]);
  if (state.has("need") || state.has("least_coverage"))
    found.push([`values at ${needWords()}`, { need: null, least_coverage: null }]);
  if (state.has("submission")) found.push(["with your submission", { submission: null }]);
  return found;
}

const section = (one) => h("fieldset", { "data-part": one.id }, h("legend", one.label), h("div.part-body", one.body()));

/** Open the sheet of a part, or close it where it is open. */
function toggle(id, context) {
  opened = opened === id ? null : id;
  drawSheet(context);
  const found = ["input:checked", "input", "select", "button"].map((one) => sheet().querySelector(one));
  if (opened) found.find(Boolean).focus();
}

/** Close the sheet and give the focus back. */
export function closeSheet() {
  if (!opened) return;
  const own = bar().querySelector(`[data-open="${opened}"]`);
  opened = null;
  sheet().hidden = true;
  for (const one of bar().querySelectorAll("[aria-expanded]")) one.setAttribute("aria-expanded", "false");
  own?.focus();
}

addEventListener("keydown", (event) => event.key === "Escape" && closeSheet());
addEventListener("pointerdown", ({ target }) => {
  if (opened && !sheet().contains(target) && !bar().contains(target) && !target.closest?.("#popup")) closeSheet();
});

function drawSheet(context) {
  const box = sheet();
  const all = parts(context);
  const shown = opened === "all" ? all : all.filter((one) => one.id === opened);
  box.hidden = !shown.length;
  for (const one of bar().querySelectorAll("[data-open]"))
    one.setAttribute("aria-expanded", String(one.dataset.open === opened));
  if (!shown.length) return;
  const lists = Object.fromEntries(
    [...box.querySelectorAll("[data-list]")].map((one) => [one.dataset.list, one.scrollTop]),
  );
  const scrolled = box.scrollTop;
  box.setAttribute("aria-label", opened === "all" ? "Question" : shown[0].label);
  put(box, button("✕", closeSheet, { class: "close quiet", "aria-label": "Close" }), shown.map(section));
  box.scrollTop = scrolled;
  for (const one of box.querySelectorAll("[data-list]")) one.scrollTop = lists[one.dataset.list] ?? 0;
  const anchor = bar().querySelector(`[data-open="${opened}"]`).getBoundingClientRect();
  const left = Math.max(8, Math.min(anchor.left, document.documentElement.clientWidth - box.offsetWidth - 8));
  box.style.setProperty("--left", `${left}px`);
  box.style.setProperty("--top", `${bar().getBoundingClientRect().bottom}px`);
}

/** Draw the bar for the scope of the address; an open sheet stays open, and the focus where it is. */
export function drawBar(context) {
  const root = bar();
  const focus = document.activeElement;
  const key = sheet().contains(focus) ? (focus.dataset.choice ?? focus.id) : null;
  const within = root.contains(focus) ? focus.dataset.open : null;
  const found = deviations(context);
  const everything = Object.assign({}, ...found.map(([, changes]) => changes));
  const filters = found.length > 0 && plural(found.length, "filter");
  const summary = [testBed(context).title, lowerFirst(purposeWords(context)), filters].filter(Boolean).join(" · ");
  const opener = (id, content, own) =>
    button(content, () => toggle(id, context), {
      "data-open": id,
      "aria-expanded": "false",
      "aria-haspopup": "dialog",
      ...own,
    });
  const part = ({ id, label, value, changed }) =>
    opener(id, [h("span.part-label", label), h("span.part-value", h("bdi", value))], {
      class: `part${changed || id in everything ? " changed" : ""}`,
    });
  const filter = ([text, changes]) =>
    h(
      "a.filter",
      { href: state.address(changes), title: `Remove: ${text}` },
      h("bdi", text),
      h("span", { "aria-hidden": "true" }, " ✕"),
      h("span.unseen", " remove"),
    );
  root.hidden = false;
  put(
    root,
    opener("all", summary, { id: "question-all" }),
    h("div.parts", parts(context).map(part)),
    found.length > 0 && h("div.filters", found.map(filter), h("a.reset", { href: state.address(everything) }, "reset")),
  );
  drawSheet(context);
  if (key)
    sheet()
      .querySelector(`[data-choice="${CSS.escape(key)}"], [id="${CSS.escape(key)}"]`)
      ?.focus();
  else if (within) root.querySelector(`[data-open="${within}"]`)?.focus();
}

/** The scope in words, for captions of figures and tables; `over` says how scenes become one number there. */
export function scopeCaption(context, over = state.get("aggregation") ?? context.aggregation) {
  const scenes = chosen("scenes", context.scenes).length;
  return [
    testBed(context).title,
    `protocol ${context.protocol.name} ${context.protocol.key.slice(0, 8)}`,
    `regions ${listed(chosen("regions", regions(context)), 6)}`,
    `${plural(scenes, "scene")}, ${over}`,
    `Stereogauge ${context.catalogue.version}`,
  ].join(" · ");
}

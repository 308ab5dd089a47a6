// The selection panel: scenes, regions, metrics, algorithms, model and weights.

import { isStatic, shipped } from "./api.js";
import { badge } from "./diagrams.js";
import { calm, choose, h, put } from "./dom.js";
import { defineColumn, defineModel, defineRegion } from "./popup.js";
import { chosen, metrics, PRESETS, protocolTitle, regions, weights } from "./selection.js";
import * as state from "./state.js";

const searches = new Map();
const SEARCH_FROM = 12;
const open = { drawer: false };

function boxes({ name, title, all, group, swatch, about, tall }) {
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
        .filter((one) => one.toLowerCase().includes(text.toLowerCase()))
        .map((one) => {
          const heading = group?.(one);
          const head = heading && heading !== last ? h("div", { class: "group-name" }, heading) : null;
          last = heading;
          return [
            head,
            h(
              "label",
              { class: "choice", title: one },
              h("input", {
                type: "checkbox",
                checked: picked.has(one),
                "data-choice": `${name}:${one}`,
                onchange: () => toggle(one),
              }),
              swatch && badge(swatch(one)),
              h("span", { class: "name" }, heading ? one.slice(heading.length + 1) : one),
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
    search,
    list,
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

const field = (title, control) => h("div", { class: "field" }, h("label", {}, title), control);

function modelPart(context, view) {
  const { catalogue } = context;
  const model = catalogue.models.find((one) => one.id === state.get("model", "a-star")) ?? catalogue.models[0];
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
  const gaps = choose(catalogue.missing_rules, state.get("missing", "drop-algorithm"), set("missing"), {
    "aria-label": "What happens where a score is missing",
  });
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
          set("model"),
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
    field("if missing", gaps),
    view === "compare" || model.id === "weighted" ? weightPart(context) : null,
  );
}

/** Sliders: while one is dragged the address follows, and with it the order. */
export function weightPart(context) {
  const { catalogue } = context;
  const now = weights(context);
  const total = Object.values(now).reduce((sum, one) => sum + one, 0) || 1;
  const top = Math.max(...Object.values(now), 1e-9);
  const follow = calm((changes) => state.update(changes, { quietly: true }), 25);
  const list = h("div", { class: "weights" });
  const values = { ...now };
  const move = (name, input) => {
    values[name] = (Number(input.value) / 100) * top;
    const sum = Object.values(values).reduce((a, b) => a + b, 0) || 1;
    for (const other of list.querySelectorAll("[data-weight]"))
      other.parentElement.querySelector("output").textContent =
        `${Math.round((100 * values[other.dataset.weight]) / sum)} %`;
    if (sum > 1e-9)
      follow({
        weights: Object.entries(values).map(([key, value]) => `${key}=${Number(value.toPrecision(4))}`),
        profile: null,
      });
  };
  put(
    list,
    Object.entries(now).map(([name, value]) =>
      h(
        "div",
        { class: "weight" },
        h("span", { class: "name", title: name }, name),
        h("input", {
          type: "range",
          min: 0,
          max: 100,
          step: 1,
          value: Math.round((100 * value) / top),
          "data-weight": name,
          "aria-label": `Weight of ${name}`,
          oninput: (event) => move(name, event.target),
        }),
        h("output", {}, `${Math.round((100 * value) / total)} %`),
      ),
    ),
  );
  const available = new Set(metrics(context));
  return h(
    "div",
    { "data-part": "weights" },
    field(
      "profile",
      choose(
        [
          ["", state.has("weights") ? "your own weights" : "equal weights"],
          ...catalogue.profiles.map((one) => [one.id, one.name]),
        ],
        state.get("profile", ""),
        (value) => state.update({ profile: value || null, weights: null }),
        { "aria-label": "Profile", id: "profile" },
      ),
    ),
    field(
      "scale",
      choose(
        catalogue.normalisations,
        state.get("normalisation", "heuristic"),
        (value) => state.update({ normalisation: value }),
        { "aria-label": "Normalisation" },
      ),
    ),
    list,
    Object.keys(now).some((name) => !available.has(name.split(":")[0])) &&
      h("p", { class: "hint" }, "The weight of a metric without scores is shared among the others."),
  );
}

/** Draw the panel, unless one of its sliders is being dragged. */
export function drawPanel(root, context, view) {
  const focus = document.activeElement;
  if (focus?.matches?.("#panel input[type=range]") && root.contains(focus) && root.dataset.view === view) return;
  const key = focus && root.contains(focus) ? (focus.dataset.choice ?? focus.id) : null;
  const place = Object.fromEntries(
    [...root.querySelectorAll("fieldset")].map((one) => [
      one.dataset.part,
      one.querySelector(".choices")?.scrollTop ?? 0,
    ]),
  );
  root.dataset.view = view;
  root.hidden = ["scene", "protocol", "submit", "tuning"].includes(view);
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
  const protocols = context.catalogue.protocols;
  const datasets = new Map(context.scenes.map((one) => [one.name, one.dataset]));
  const several = new Set(datasets.values()).size > 1;
  put(
    root,
    drawer,
    h(
      "div",
      { class: "parts" },
      protocols.length > 1 &&
        h(
          "fieldset",
          {},
          h("legend", {}, h("span", {}, "Protocol")),
          choose(
            protocols.map((one) => [one.key, protocolTitle(one)]),
            context.protocol.key,
            (value) => state.update({ protocol: value, regions: null, metrics: null, scenes: null, algorithms: null }),
            { "aria-label": "Protocol" },
          ),
        ),
      ["leaderboard", "compare"].includes(view) && modelPart(context, view),
      boxes({
        name: "scenes",
        title: "Scenes",
        all: context.scenes.map((one) => one.name),
        group: several ? (one) => datasets.get(one) : null,
      }),
      regionsPart(context),
      boxes({
        name: "metrics",
        title: "Metrics",
        all: metrics(context),
        tall: true,
        about: (anchor, one) =>
          defineColumn(anchor, context.catalogue, one, context.columns.find((column) => column.metric === one)?.region),
      }),
      boxes({
        name: "algorithms",
        title: "Algorithms",
        all: context.algorithms.map((one) => one.name),
        tall: true,
        swatch: (one) => context.styles.get(one),
      }),
    ),
  );
  for (const part of root.querySelectorAll("fieldset"))
    part.querySelector(".choices")?.scrollTo(0, place[part.dataset.part] ?? 0);
  if (key) root.querySelector(`[data-choice="${CSS.escape(key)}"], #${CSS.escape(key)}`)?.focus();
}

// A copy on a plain web host has answers for these selections and models only.
function shippedPart(context, view) {
  const sorted = (params) => {
    const own = new URLSearchParams(params);
    own.sort();
    return own.toString();
  };
  const now = sorted(state.selection());
  const parted = shipped().map((one) => ({
    ...one,
    group: one.title.includes(": ") ? one.title.split(": ")[0] : null,
  }));
  const models = context.catalogue.models.filter(
    (one) => one.id !== "middlebury" || new Set(state.all("metrics")).size === 1,
  );
  const go = (params) =>
    state.update({
      ...Object.fromEntries([...state.SELECTION, "sort", "column"].map((name) => [name, null])),
      ...Object.fromEntries(
        params.map(([name]) => [name, params.filter(([other]) => other === name).map(([, value]) => value)]),
      ),
    });
  return [
    view !== "compare" &&
      h(
        "fieldset",
        {},
        h("legend", {}, h("span", {}, "Model")),
        choose(
          models.map((one) => [one.id, one.name]),
          state.get("model", "a-star"),
          (value) => state.update({ model: value, profile: null }),
          { "aria-label": "Model", id: "model" },
        ),
      ),
    (view === "compare" || state.get("model") === "weighted") &&
      h(
        "fieldset",
        {},
        h("legend", {}, h("span", {}, "Profile")),
        choose(
          [["", "equal weights"], ...context.catalogue.profiles.map((one) => [one.id, one.name])],
          state.get("profile", ""),
          (value) => state.update({ profile: value || null }),
          { "aria-label": "Profile" },
        ),
      ),
    h(
      "fieldset",
      {},
      h("legend", {}, h("span", {}, "Selections in this copy")),
      h(
        "div",
        { class: "choices endless" },
        parted.map((one, place) => [
          one.group && one.group !== parted[place - 1]?.group ? h("div", { class: "group-name" }, one.group) : null,
          h(
            "label",
            { class: "choice", title: one.title },
            h("input", {
              type: "radio",
              name: "shipped",
              checked: sorted(one.params) === now,
              onchange: () => go(one.params),
            }),
            h("span", { class: "name" }, one.group ? one.title.slice(one.group.length + 2) : one.title),
          ),
        ]),
      ),
    ),
    h(
      "p",
      { class: "hint" },
      "This is a fixed copy of the site. To select scenes, regions, metrics, algorithms and weights freely, ",
      "run the server: stereogauge serve STORE.",
    ),
  ];
}

function regionsPart(context) {
  const all = regions(context);
  if (!all.length) return null;
  const part = boxes({
    name: "regions",
    title: "Regions",
    all,
    about: (anchor, one) => defineRegion(anchor, context.catalogue, one),
  });
  const preset = presets(context);
  if (preset) part.querySelector("legend").after(preset);
  return part;
}

// The table of the leaderboard: one row per algorithm, in the order of the model or of a chosen column.

import { badge } from "../chart.js";
import { sparkline } from "../diagrams.js";
import { choose, h } from "../dom.js";
import { digits, drawable, full, number, percent, subscript, whole } from "../format.js";
import { defineColumn } from "../popup.js";
import { chosenColumns } from "../selection.js";
import * as state from "../state.js";
import { columnOption, columnWords, idMark, metricWords } from "../words.js";

const metricOf = (id) => id.split(":")[0];

/** The columns in which somebody has a score, each with its number. */
const shown = (table) => table.columns.map((one, column) => [one, column]).filter(([one]) => one.scenes > 0);

/** The further columns of the leaderboard, which the server declares. */
const facts = (rank) => rank.facts ?? [];

/** What the italics among scores mean, where there are any. */
export function italicsNote(faint) {
  if (!faint.some(Boolean)) return null;
  const least = percent(Number(state.get("least_coverage", "0.9")));
  return h(
    "p",
    { class: "caption" },
    "Scores in ",
    h("i", {}, "italics"),
    ` cover less than ${least} of their pixels on some scene, or too few, and have no rank in their column.`,
  );
}

/** The table of `data`: a ranking, the scores of the selection, and intervals where they are known. */
export function boardTable(data, context) {
  const pictured = (metric) => context.catalogue.metrics.find((one) => one.id === metric.split("@")[0])?.picture;
  const directionOf = (metric) => context.catalogue.metrics.find((one) => one.id === metric.split("@")[0])?.direction;
  const regions = new Set(data.table.columns.filter((one) => one.label !== one.metric).map((one) => one.region)).size;
  // A region is named where there are several.
  const wordsOf = (column) => (regions > 1 ? columnWords(context, column) : metricWords(context, column.metric));
  let dense = -1;
  const openScene = (scene, algorithm, column) => {
    const metric = metricOf(column);
    state.update(
      {
        scene,
        column,
        pane: algorithm
          ? [
              `estimate~${encodeURIComponent(algorithm)}`,
              pictured(metric)
                ? `metric~${encodeURIComponent(algorithm)}~${encodeURIComponent(metric)}`
                : `error~${encodeURIComponent(algorithm)}`,
            ]
          : null,
      },
      { target: "scene" },
    );
  };

  function order() {
    const { rank, table } = data;
    const rowOf = new Map(table.algorithms.map((name, row) => [name, row]));
    const rows = rank.rows
      .map((row, index) => ({ row, index, at: rowOf.get(row.algorithm) }))
      .filter((one) => one.at !== undefined);
    const [key, way] = (state.get("sort") ?? "").split("~");
    if (!key) return rows;
    const sign = way === "down" ? -1 : 1;
    const column = table.columns.findIndex((one) => one.id === key);
    const value =
      key === "algorithm"
        ? (one) => one.row.algorithm.toLowerCase()
        : column >= 0
          ? (one) => number(table.values[one.at][column])
          : (one) => number(one.row.value);
    return rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return x < y ? -sign : x > y ? sign : a.index - b.index;
    });
  }

  function header(title, key, { unit = "", about = null, text = false, pin = "", id = "" } = {}) {
    const [now, way] = (state.get("sort") ?? "").split("~");
    const next = now !== key ? `${key}~up` : way === "up" ? `${key}~down` : null;
    return h(
      "th",
      {
        class: `${text ? "text" : ""} ${pin} ${id ? "words" : ""}`.trim(),
        scope: "col",
        "aria-sort": now === key ? (way === "up" ? "ascending" : "descending") : null,
      },
      h(
        "button",
        { type: "button", "data-sort": key, onclick: () => state.update({ sort: next }) },
        title,
        now === key && h("span", { class: "arrow" }, way === "up" ? " ↑" : " ↓"),
      ),
      h(
        "span",
        { class: "unit" },
        id && idMark(id),
        about &&
          h(
            "button",
            {
              type: "button",
              class: "about",
              "aria-label": `What is ${title}${id ? ` (${id})` : ""}?`,
              onclick: (event) => about(event.currentTarget),
            },
            "i",
          ),
      ),
      h("span", { class: "unit" }, unit || " "),
    );
  }

  function build() {
    const { rank, table } = data;
    const expanded = state.get("scenewise") === "open";
    // Scene by scene, everything that was selected is shown, also what the order does not compare.
    const { scene_column: detail, scenes } = data.whole;
    const shownScenes = expanded ? scenes : [];
    dense = table.columns.findIndex((_, column) => table.coverage.some((row) => row[column] !== null));
    const sizes = detail
      ? detail.values
          .flat()
          .map(drawable)
          .filter((value) => value !== null)
          .map(Math.abs)
          .sort((a, b) => a - b)
      : [];
    const top = sizes[Math.floor(0.9 * (sizes.length - 1))] ?? 0;
    const unit = table.columns.find((one) => one.id === detail?.column)?.unit ?? "";
    const head = h(
      "tr",
      {},
      h(
        "th",
        { class: "pin pin0", scope: "col" },
        h("button", { type: "button", onclick: () => state.update({ sort: null }) }, "rank"),
        h("span", { class: "unit" }, rank.model === "a-star" ? "group" : " "),
      ),
      header("algorithm", "algorithm", {
        text: true,
        pin: "pin pin1",
        unit: dense >= 0 && h("span", { class: "complete" }, "pixels with a value"),
      }),
      header(rank.value_name, "value", {
        unit: data.intervals?.size && rank.model !== "a-star" ? "95 % interval" : " ",
      }),
      facts(rank).map((name) => h("th", { scope: "col" }, name, h("span", { class: "unit" }, " "))),
      shown(table).map(([one]) =>
        header(wordsOf(one), one.id, {
          id: one.label,
          unit: [
            one.unit,
            { higher: "higher is better", zero: "0 is best" }[directionOf(one.metric)],
            one.scenes < table.scenes.length ? `${one.scenes} scenes` : "",
          ]
            .filter(Boolean)
            .join(" · "),
          about: (anchor) => defineColumn(anchor, context.catalogue, one.metric, one.region),
        }),
      ),
      detail &&
        h(
          "th",
          { class: "text", scope: "col" },
          h(
            "button",
            {
              type: "button",
              id: "scenewise",
              "aria-expanded": String(expanded),
              onclick: () => state.update({ scenewise: expanded ? null : "open" }),
            },
            `per scene ${expanded ? "◂" : "▸"}`,
          ),
          h(
            "span",
            { class: "unit" },
            choose(
              chosenColumns(context).map((one) => columnOption(context, one)),
              detail.column,
              (value) => state.update({ column: value }),
              { "aria-label": "Column to show scene by scene" },
            ),
          ),
        ),
      shownScenes.map((scene) =>
        h(
          "th",
          { scope: "col" },
          h("a", { href: state.address({ scene, pane: null }, "scene") }, scene),
          h("span", { class: "unit" }, unit || " "),
        ),
      ),
    );
    let band = null;
    let odd = false;
    const ranked = new Set(rank.rows.map((row) => row.algorithm));
    const left = table.algorithms.filter((name) => !ranked.has(name));
    const rows = order().map(({ row, index, at }) => {
      const mark = row.group ?? row.rank;
      const start = band !== null && mark !== band && !state.get("sort");
      if (mark !== band) odd = !odd;
      band = mark;
      return h(
        "tr",
        {
          class: `${start && row.group ? "band-start" : ""} ${odd ? "odd" : ""}`.trim(),
          "data-algorithm": row.algorithm,
        },
        h("td", { class: "pin pin0" }, rankText(row)),
        h(
          "td",
          { class: "text pin pin1" },
          badge(context.styles.get(row.algorithm)),
          h("a", { href: state.address({ name: row.algorithm }, "algorithm") }, row.algorithm),
          alikeMark(rank, index),
          completeness(table, at),
        ),
        h("td", { class: "value", "data-name": rank.value_name, title: valueTitle(row) }, valueText(row)),
        row.facts.map((one, at) => h("td", { "data-label": rank.facts[at], title: one.note || null }, one.text)),
        shown(table).map(([one, column]) => cell(table, one, at, column)),
        detail &&
          h(
            "td",
            { class: "text" },
            sparkline(detail.values[at], top, scenes, (scene) => openScene(scene, row.algorithm, detail.column), unit),
          ),
        shownScenes.map((scene, column) => sceneCell(detail, at, column, scene, row.algorithm)),
      );
    });
    return h(
      "table",
      {},
      h("thead", {}, head),
      h(
        "tbody",
        {},
        rows,
        left.map((name) => unranked(name, table, detail, shownScenes, top, unit)),
      ),
    );
  }

  // An algorithm that the rule for gaps left out of the order is still in the table, with its gaps.
  function unranked(name, table, detail, scenes, top, unit) {
    const at = table.algorithms.indexOf(name);
    const reason =
      data.rank.dropped.find((one) => one.kind === "algorithm" && one.name === name)?.reason ?? "not ranked";
    return h(
      "tr",
      { class: "unranked", "data-unranked": name },
      h("td", { class: "pin pin0", title: reason }, "–"),
      h(
        "td",
        { class: "text pin pin1", title: reason },
        badge(context.styles.get(name)),
        name,
        completeness(table, at),
      ),
      h("td", { class: "gap", title: reason }, "–"),
      facts(data.rank).map(() => h("td", { class: "gap", title: reason }, "–")),
      shown(table).map(([one, column]) => cell(table, one, at, column)),
      detail &&
        h(
          "td",
          { class: "text" },
          sparkline(detail.values[at], top, data.whole.scenes, (scene) => openScene(scene, name, detail.column), unit),
        ),
      scenes.map((scene, column) => sceneCell(detail, at, column, scene, name)),
    );
  }

  // How much of the pixels of the first column that knows it has a value.
  function completeness(table, row) {
    const share = dense < 0 ? null : table.coverage[row][dense];
    if (share === null) return null;
    const low = share < Number(state.get("least_coverage", "0.9"));
    const about = `share of the pixels of ${table.columns[dense].id} with a value`;
    return h("span", { class: `complete${low ? " low" : ""}`, title: about }, percent(share));
  }

  function rankText(row) {
    const own = data.intervals?.get(row.algorithm);
    const span =
      own && own.rank_low !== own.rank_high ? h("span", { class: "pm" }, ` ${own.rank_low}–${own.rank_high}`) : null;
    return [row.group ? `A*${subscript(row.group)}` : row.rank, span];
  }

  function valueText(row) {
    const own = data.intervals?.get(row.algorithm);
    const known = own && drawable(own.value_low) !== null && data.rank.model !== "a-star";
    return [
      Number.isInteger(row.value) ? whole(row.value) : digits(row.value),
      known && h("span", { class: "pm" }, ` ${digits(own.value_low)}–${digits(own.value_high)}`),
    ];
  }

  function valueTitle(row) {
    const own = data.intervals?.get(row.algorithm);
    const facts = Object.entries(row.extra).map(
      ([name, value]) => `${name}: ${value === null || value === "" ? "–" : value}`,
    );
    return [
      `${data.rank.value_name} ${full(row.value)}`,
      own && `${data.rank.intervals_name}: 95 % interval ${digits(own.value_low)} to ${digits(own.value_high)}`,
      own && `ranked first in ${percent(own.first)} of the draws`,
      ...facts,
    ]
      .filter(Boolean)
      .join("\n");
  }

  function alikeMark(rank, index) {
    const others = rank.alike?.[index] ?? [];
    if (!others.length) return null;
    return h(
      "span",
      {
        class: "alike",
        title: `performs about as well as ${others.map((one) => rank.rows[one].algorithm).join(", ")}`,
      },
      `≈${others.length}`,
    );
  }

  function cell(table, info, row, column) {
    const value = table.values[row][column];
    if (value === null) {
      const reason = table.gaps[row][column]
        ? `no score on ${table.gaps[row][column]} of ${table.scenes.length} scenes`
        : `${info.metric} cannot be aggregated as ${table.aggregation}`;
      return h("td", { class: "gap", title: reason }, "–");
    }
    const best = info.best.includes(row);
    const last = Math.max(2, table.algorithms.length);
    const rank = table.ranks[row][column];
    const shade = rank === null ? 0 : Math.max(0, 1 - (rank - 1) / (last - 1));
    const count = table.counts[row][column];
    const coverage = table.coverage[row][column];
    const faint = table.faint[row][column];
    const about = [
      `${info.id}: ${full(value)} ${info.unit}`,
      rank === null
        ? state.get("need") === "sure"
          ? "not ranked: compared at equal density only"
          : "not ranked: covers too little, or too few pixels"
        : `rank ${rank} in this column`,
      count === null ? null : `${whole(count)} ${info.counts}`,
      coverage === null ? null : `covers ${percent(coverage)}`,
    ];
    return h(
      "td",
      {
        class: best ? "best" : faint ? "faint" : null,
        "data-label": `${wordsOf(info)} · ${info.label}`,
        "data-unit": info.unit,
        style: { background: `rgba(var(--tint), ${(0.3 * shade * shade).toFixed(3)})` },
        title: about.filter(Boolean).join("\n"),
      },
      digits(value),
      state.get("need") === "sure" &&
        coverage !== null &&
        h("span", { class: "pm" }, ` (${Math.round(100 * coverage)} %)`),
    );
  }

  function sceneCell(detail, row, column, scene, algorithm) {
    const value = detail.values[row][column];
    if (value === null) return h("td", { class: "gap", title: `${algorithm} has no score on ${scene}` }, "–");
    return h(
      "td",
      { title: full(value) },
      h(
        "button",
        {
          type: "button",
          class: "cell",
          "data-scene": scene,
          onclick: () => openScene(scene, algorithm, detail.column),
        },
        digits(value),
      ),
    );
  }

  return build();
}

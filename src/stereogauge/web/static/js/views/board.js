// The table of the leaderboard: one row per algorithm, in the order of the model or of a chosen column. Rank, name and
// score stay in view; columns are grouped by the property that they measure.

import { isStatic, url } from "../api.js";
import { columnOptions, stated } from "../choices.js";
import { sparkline } from "../diagrams.js";
import { aboutButton, button, h, link, placeBeside, put } from "../dom.js";
import { chance, digits, drawable, full, number, percent, subscript, whole } from "../format.js";
import { image } from "../pictures.js";
import { defineColumn } from "../popup.js";
import { declared, mapParams, need, panesOf, scenePath } from "../scope.js";
import { scoreIn } from "../scores.js";
import * as state from "../state.js";
import { grouped } from "../weights.js";
import { columnWords, idMark, linked, metricWords, named } from "../words.js";

const HOVER_WIDTH = 220;
const HOVER_PAUSE = 180; // ms before a picture is asked for
const unfolded = new Set(); // algorithms whose scores a phone shows in full
const BETTER = { higher: "higher is better", zero: "0 is best" };
const least = () => (need() === "every-pixel" ? 1 : need() === "sure" ? 0 : Number(need()));
const joined = (...texts) => texts.filter(Boolean).join(" · ");

/** A rank, in brackets where the answer gives none. */
export const bracketed = (rank, algorithm, place) => (algorithm in (rank.not_considered ?? {}) ? `(${place})` : place);

/** What the italics among scores mean, where there are any. */
export const italicsNote = (faint) =>
  faint.some(Boolean) &&
  h(
    "p.caption",
    "Scores in ",
    h("i", "italics"),
    " are too incomplete to be ranked: they cover less than ",
    `${percent(least())} of their pixels on some scene, or too few.`,
  );

/** The table of `data`: a ranking, the scores of the selection, and intervals where they are known. */
export function boardTable(data, context) {
  const { rank, table } = data;
  const { scene_column: detail, scenes } = data.whole;
  const expanded = state.get("scenewise") === "open";
  // Scene by scene, everything that was selected is shown, also what the order does not compare.
  const shownScenes = expanded ? scenes : [];
  // The columns in which somebody has a score, those of one property together.
  const groups = grouped(table.columns.filter((one) => one.scenes > 0));
  const columns = groups.flatMap(([, members]) => members);
  const facts = rank.facts ?? [];
  const dense = table.columns.findIndex((_, column) => table.coverage.some((row) => row[column] !== null));
  const regions = new Set(table.columns.filter((one) => one.label !== one.metric).map((one) => one.region)).size;
  // A region is named where there are several.
  const wordsOf = (column) => (regions > 1 ? columnWords(context, column) : metricWords(context, column.metric));
  const unit = table.columns.find((one) => one.id === detail?.column)?.unit || " ";
  const sizes = (detail?.values.flat() ?? []).filter(Number.isFinite).map(Math.abs);
  const top = sizes.sort((a, b) => a - b)[Math.floor(0.9 * (sizes.length - 1))] ?? 0;
  const [sortKey, way] = (state.get("sort") ?? "").split("~");

  const openScene = (scene, algorithm) =>
    state.update(
      { scene, column: detail.column, pane: panesOf(context, algorithm, detail.column) },
      { target: "scene" },
    );

  function order() {
    const rows = rank.rows
      .map((row, index) => ({ row, index, at: table.algorithms.indexOf(row.algorithm) }))
      .filter((one) => one.at >= 0);
    if (!sortKey) return rows;
    const sign = way === "down" ? -1 : 1;
    const column = table.columns.findIndex((one) => one.id === sortKey);
    const value = ({ row, at }) =>
      sortKey === "algorithm" ? row.algorithm.toLowerCase() : number(column < 0 ? row.value : table.values[at][column]);
    return rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return x < y ? -sign : x > y ? sign : a.index - b.index;
    });
  }

  function header(title, key, { unit = "", about = null, kind = null, id = "" } = {}) {
    const sorted = sortKey === key && (way === "up" ? "ascending" : "descending");
    const next = !sorted ? `${key}~up` : way === "up" ? `${key}~down` : null;
    return h(
      "th",
      { class: kind, scope: "col", "aria-sort": sorted },
      button([title, sorted && h("span.arrow", way === "up" ? " ↑" : " ↓")], () => state.update({ sort: next }), {
        "data-sort": key,
      }),
      h("span.unit", id && idMark(id), about && aboutButton(about, `What is ${title} (${id})?`)),
      h("span.unit", unit || " "),
    );
  }

  const columnHeader = (one) =>
    header(wordsOf(one), one.id, {
      id: one.label,
      kind: "words",
      unit: joined(one.unit, BETTER[one.direction], one.scenes < table.scenes.length && `${one.scenes} scenes`),
      about: (anchor) => defineColumn(anchor, context.catalogue, one.metric, one.region),
    });

  const sceneHeader = (scene) =>
    h("th", { scope: "col" }, link(state.address({ scene, pane: null }, "scene"), scene), h("span.unit", unit));

  const sceneChoice = () =>
    h(
      "th.text",
      { scope: "col" },
      button(`per scene ${expanded ? "◂" : "▸"}`, () => state.update({ scenewise: expanded ? null : "open" }), {
        id: "scenewise",
        "aria-expanded": String(expanded),
      }),
      h("span.unit", stated("column", "Column to show scene by scene", columnOptions(context), detail.column)),
    );

  // How much of the pixels of the first column that knows it has a value.
  function completeness(row) {
    const share = dense < 0 ? null : table.coverage[row][dense];
    if (share === null) return null;
    const about = `share of the pixels of ${table.columns[dense].id} with a value`;
    return h(`span.complete${share < least() ? ".low" : ""}`, { title: about }, percent(share));
  }

  function rankText(row, own) {
    const span = own && own.rank_low !== own.rank_high;
    const place = row.group ? `A*${subscript(row.group)}` : row.rank;
    return [bracketed(rank, row.algorithm, place), span && h("span.pm", ` ${own.rank_low}–${own.rank_high}`)];
  }

  function valueText(row, own) {
    const known = own && drawable(own.value_low) !== null && rank.model !== "a-star";
    return [
      Number.isInteger(row.value) && rank.model !== "weighted" ? whole(row.value) : digits(row.value),
      known && h("span.pm", ` ${digits(own.value_low)}–${digits(own.value_high)}`),
    ];
  }

  const valueTitle = (row, own) =>
    [
      own && `${rank.intervals_name}: 95 % interval ${digits(own.value_low)} to ${digits(own.value_high)}`,
      own && `ranked first in ${chance(own.first)} of the draws`,
      ...Object.entries(row.extra).map(([name, value]) => `${name}: ${value === "" ? "–" : (value ?? "–")}`),
    ]
      .filter(Boolean)
      .join("\n");

  function alikeMark(index) {
    const others = (rank.alike?.[index] ?? []).map((one) => rank.rows[one].algorithm);
    const title = `performs about as well as ${others.join(", ")}`;
    return others.length > 0 && h("span.alike", { title }, `≈${others.length}`);
  }

  function scoreCell(info, name) {
    const own = scoreIn(table, name, info.id);
    if (own.value === null) {
      const reason = own.gaps
        ? `no score on ${own.gaps} of ${table.scenes.length} scenes`
        : `${info.metric} cannot be aggregated as ${table.aggregation}`;
      return h("td.gap", { title: reason, "data-column": info.id }, "–");
    }
    const last = Math.max(2, table.algorithms.length) - 1;
    const shade = own.rank === null ? 0 : Math.max(0, 1 - (own.rank - 1) / last);
    return h(
      "td",
      {
        class: info.best.includes(table.algorithms.indexOf(name)) ? "best" : own.faint ? "faint" : null,
        "data-label": `${wordsOf(info)} · ${info.label}`,
        "data-unit": info.unit,
        "data-full": full(own.value),
        "data-column": info.id,
        "data-cell": name,
        style: { background: `rgba(var(--tint), ${(0.34 * shade * shade).toFixed(3)})` },
      },
      digits(own.value),
      need() === "sure" && own.coverage !== null && h("span.pm", ` (${Math.round(100 * own.coverage)} %)`),
    );
  }

  function sceneCell(value, scene, algorithm) {
    if (value === null) return h("td.gap", { title: `${algorithm} has no score on ${scene}` }, "–");
    const open = () => openScene(scene, algorithm);
    return h(
      "td",
      { "data-full": full(value), "data-cell": algorithm, "data-on": scene },
      button(digits(value), open, { class: "cell", "data-scene": scene }),
    );
  }

  const expand = (name) =>
    button(
      "scores",
      ({ currentTarget }) => {
        const open = currentTarget.closest("tr").classList.toggle("open");
        unfolded[open ? "add" : "delete"](name);
        currentTarget.setAttribute("aria-expanded", String(open));
      },
      { class: "expand quiet", "aria-expanded": String(unfolded.has(name)) },
    );

  /** A row: rank, name and score, and behind them further facts, scores, and scenes. */
  function rowOf(name, { place, score, title, mark, cells, kind, ...own }) {
    const at = table.algorithms.indexOf(name);
    const open = unfolded.has(name) && "open";
    return h(
      "tr",
      { class: [...kind, open].filter(Boolean).join(" "), ...own },
      h("td.pin.pin0", { title: score ? null : title }, place),
      h(
        "td.text.pin.pin1",
        { title: score ? null : title },
        linked(context, name),
        mark,
        completeness(at),
        expand(name),
      ),
      h(`td.pin.pin2.${score ? "value" : "gap"}`, { title: title || null, ...score?.own }, score?.text ?? "–"),
      cells,
      columns.map((one) => scoreCell(one, name)),
      detail &&
        h(
          "td.text",
          sparkline(detail.values[at], top, scenes, (scene) => openScene(scene, name), unit),
        ),
      shownScenes.map((scene, column) => sceneCell(detail.values[at][column], scene, name)),
    );
  }

  // An algorithm that the rule for gaps left out of the order is still in the table, with its gaps.
  function unranked(name) {
    const title = rank.dropped.find((one) => one.kind === "algorithm" && one.name === name)?.reason ?? "not ranked";
    const cells = facts.map(() => h("td.gap", { title }, "–"));
    return rowOf(name, { place: "–", title, cells, kind: ["unranked"], "data-unranked": name });
  }

  let band = null;
  let odd = false;
  function ranked({ row, index }) {
    const mark = row.group ?? row.rank;
    const start = band !== null && mark !== band && !sortKey;
    if (mark !== band) odd = !odd;
    band = mark;
    const own = data.intervals?.get(row.algorithm);
    return rowOf(row.algorithm, {
      place: rankText(row, own),
      score: { text: valueText(row, own), own: { "data-name": rank.value_name, "data-full": full(row.value) } },
      title: valueTitle(row, own),
      mark: alikeMark(index),
      cells: row.facts.map((one, place) => h("td", { "data-label": facts[place], title: one.note || null }, one.text)),
      kind: [start && row.group && "band-start", odd && "odd"],
      "data-algorithm": row.algorithm,
    });
  }

  const known = new Set(rank.rows.map((row) => row.algorithm));
  const made = h(
    "table",
    h(
      "thead",
      h(
        "tr.groups",
        h("td.pin.pin0", { colspan: 3 }),
        facts.length > 0 && h("td", { colspan: facts.length }),
        groups.map(([property, members]) => h("th.property", { colspan: members.length, scope: "colgroup" }, property)),
        detail && h("td", { colspan: 1 + shownScenes.length }),
      ),
      h(
        "tr",
        h(
          "th.pin.pin0",
          { scope: "col" },
          button("rank", () => state.update({ sort: null })),
          h("span.unit", rank.model === "a-star" ? "group" : " "),
        ),
        header("algorithm", "algorithm", {
          kind: "text pin pin1",
          unit: dense >= 0 && h("span.complete", "pixels with a value"),
        }),
        header(rank.value_name, "value", {
          kind: "pin pin2",
          unit: data.intervals?.size && rank.model !== "a-star" ? "95 % interval" : " ",
        }),
        facts.map((name) => h("th.words", { scope: "col" }, name, h("span.unit", " "))),
        columns.map(columnHeader),
        detail && sceneChoice(),
        shownScenes.map(sceneHeader),
      ),
    ),
    h("tbody", order().map(ranked), table.algorithms.filter((name) => !known.has(name)).map(unranked)),
  );
  if (!isStatic) hover(made, data, context);
  return made;
}

/** A card beside the pointer: what a score is, and the picture of its errors on a scene. */
function hover(element, { table, whole: all }, context) {
  const card = h("div.hover-card", { hidden: true });
  let timer = 0;
  const open = new Set(context.scenes.filter((one) => !one.hidden).map((one) => one.name));
  const close = () => {
    clearTimeout(timer);
    card.hidden = true;
  };
  const picture = (algorithm, column, scene) => {
    const layer = declared(context, column.metric)?.picture ? "metric" : "error";
    const region = column.label === column.metric ? null : column.region;
    const own = mapParams(context, { algorithm, metric: column.metric, width: HOVER_WIDTH, region });
    return [
      image(url(scenePath(scene, `layers/${layer}.png`), own), {
        alt: `errors on ${scene}`,
        onerror: (event) => event.target.remove(),
      }),
      h("div.hint", `errors on ${scene}`),
    ];
  };
  const facts = (algorithm, column) => {
    const { rank, counts, coverage } = scoreIn(table, algorithm, column.id);
    return joined(
      rank === null ? "not ranked: too incomplete" : `rank ${rank} in this column`,
      counts !== null && `${whole(counts)} ${column.counts}`,
      coverage !== null && `covers ${percent(coverage)}`,
    );
  };
  const fill = (cell) => {
    const { cell: algorithm, on, column: id = all.scene_column.column } = cell.dataset;
    const column = table.columns.find((one) => one.id === id);
    if (!column) return;
    const scene = on ?? table.scenes.find((one) => open.has(one));
    put(
      card,
      h("strong", named(context, algorithm)),
      h("div", `${columnWords(context, column)}: ${digits(Number(cell.dataset.full))} ${column.unit}`),
      !on && h("div.hint", facts(algorithm, column)),
      open.has(scene) && picture(algorithm, column, scene),
    );
    card.hidden = false;
    placeBeside(card, cell);
  };
  element.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td[data-cell]");
    close();
    if (!cell || event.pointerType === "touch") return;
    timer = setTimeout(() => {
      if (!element.isConnected) return;
      if (!card.isConnected) element.parentElement.append(card);
      fill(cell);
    }, HOVER_PAUSE);
  });
  element.addEventListener("pointerleave", close);
}

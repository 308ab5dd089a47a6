// The table of the leaderboard: one row per algorithm, in the order of the model or of a chosen column. Rank, name and
// score stay in view; columns are grouped by the property that they measure.

import { isStatic, url } from "../api.js";
import { sparkline } from "../diagrams.js";
import { button, choose, h } from "../dom.js";
import { chance, digits, drawable, full, number, percent, subscript, whole } from "../format.js";
import { image } from "../pictures.js";
import { defineColumn } from "../popup.js";
import { chosenColumns, declared, mapParams, need, panesOf, scenePath } from "../scope.js";
import * as state from "../state.js";
import { grouped } from "../weights.js";
import { columnOption, columnWords, idMark, metricWords, named } from "../words.js";

const HOVER_WIDTH = 220;
const HOVER_PAUSE = 180; // ms before a picture is asked for
const unfolded = new Set(); // algorithms of which a phone shows all scores
const BETTER = { higher: "higher is better", zero: "0 is best" };
const least = () => (need() === "every-pixel" ? 1 : need() === "sure" ? 0 : Number(need()));

/** The columns in which somebody has a score, each with its number, those of one property together. */
const shownColumns = (table) =>
  grouped(
    table.columns.map((one, column) => ({ one, column })).filter(({ one }) => one.scenes > 0),
    ({ one }) => one.property,
  );

/** What the italics among scores mean, where there are any. */
export const italicsNote = (faint) =>
  faint.some(Boolean) &&
  h(
    "p.caption",
    "Scores in ",
    h("i", "italics"),
    " are too incomplete to be ranked: ",
    `they cover less than ${percent(least())} of their pixels on some scene, or too few.`,
  );

/** The table of `data`: a ranking, the scores of the selection, and intervals where they are known. */
export function boardTable(data, context) {
  const { rank, table } = data;
  const { scene_column: detail, scenes } = data.whole;
  const expanded = state.get("scenewise") === "open";
  // Scene by scene, everything that was selected is shown, also what the order does not compare.
  const shownScenes = expanded ? scenes : [];
  const groups = shownColumns(table);
  const columns = groups.flatMap(([, members]) => members);
  const facts = rank.facts ?? [];
  const dense = table.columns.findIndex((_, column) => table.coverage.some((row) => row[column] !== null));
  const regions = new Set(table.columns.filter((one) => one.label !== one.metric).map((one) => one.region)).size;
  // A region is named where there are several.
  const wordsOf = (column) => (regions > 1 ? columnWords(context, column) : metricWords(context, column.metric));
  const unit = table.columns.find((one) => one.id === detail?.column)?.unit ?? "";
  const sizes = (detail?.values.flat() ?? [])
    .map(drawable)
    .filter((value) => value !== null)
    .map(Math.abs)
    .sort((a, b) => a - b);
  const top = sizes[Math.floor(0.9 * (sizes.length - 1))] ?? 0;

  const openScene = (scene, algorithm, column) =>
    state.update({ scene, column, pane: panesOf(context, algorithm, column) }, { target: "scene" });

  function order() {
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

  function header(title, key, { unit = "", about = null, kind = "", id = "" } = {}) {
    const [now, way] = (state.get("sort") ?? "").split("~");
    const next = now !== key ? `${key}~up` : way === "up" ? `${key}~down` : null;
    return h(
      "th",
      {
        class: kind || null,
        scope: "col",
        "aria-sort": now === key ? (way === "up" ? "ascending" : "descending") : null,
      },
      button([title, now === key && h("span.arrow", way === "up" ? " ↑" : " ↓")], () => state.update({ sort: next }), {
        "data-sort": key,
      }),
      h(
        "span.unit",
        id && idMark(id),
        about &&
          button("i", (event) => about(event.currentTarget), {
            class: "about",
            "aria-label": `What is ${title} (${id})?`,
          }),
      ),
      h("span.unit", unit || " "),
    );
  }

  const columnHeader = ({ one }) =>
    header(wordsOf(one), one.id, {
      id: one.label,
      kind: "words",
      unit: [one.unit, BETTER[one.direction], one.scenes < table.scenes.length ? `${one.scenes} scenes` : ""]
        .filter(Boolean)
        .join(" · "),
      about: (anchor) => defineColumn(anchor, context.catalogue, one.metric, one.region),
    });

  const sceneHeader = (scene) =>
    h(
      "th",
      { scope: "col" },
      h("a", { href: state.address({ scene, pane: null }, "scene") }, scene),
      h("span.unit", unit || " "),
    );

  const sceneChoice = () =>
    h(
      "th",
      { class: "text", scope: "col" },
      button(`per scene ${expanded ? "◂" : "▸"}`, () => state.update({ scenewise: expanded ? null : "open" }), {
        id: "scenewise",
        "aria-expanded": String(expanded),
      }),
      h(
        "span.unit",
        choose(
          chosenColumns(context).map((one) => columnOption(context, one)),
          detail.column,
          (value) => state.update({ column: value }),
          { "aria-label": "Column to show scene by scene" },
        ),
      ),
    );

  // How much of the pixels of the first column that knows it has a value.
  function completeness(row) {
    const share = dense < 0 ? null : table.coverage[row][dense];
    if (share === null) return null;
    const about = `share of the pixels of ${table.columns[dense].id} with a value`;
    return h("span", { class: `complete${share < least() ? " low" : ""}`, title: about }, percent(share));
  }

  function rankText(row) {
    const own = data.intervals?.get(row.algorithm);
    const span = own && own.rank_low !== own.rank_high;
    return [
      row.group ? `A*${subscript(row.group)}` : row.rank,
      span && h("span.pm", ` ${own.rank_low}–${own.rank_high}`),
    ];
  }

  function valueText(row) {
    const own = data.intervals?.get(row.algorithm);
    const known = own && drawable(own.value_low) !== null && rank.model !== "a-star";
    return [
      Number.isInteger(row.value) && rank.model !== "weighted" ? whole(row.value) : digits(row.value),
      known && h("span.pm", ` ${digits(own.value_low)}–${digits(own.value_high)}`),
    ];
  }

  function valueTitle(row) {
    const own = data.intervals?.get(row.algorithm);
    const others = Object.entries(row.extra).map(([name, value]) => `${name}: ${value === "" ? "–" : (value ?? "–")}`);
    return [
      own && `${data.rank.intervals_name}: 95 % interval ${digits(own.value_low)} to ${digits(own.value_high)}`,
      own && `ranked first in ${chance(own.first)} of the draws`,
      ...others,
    ]
      .filter(Boolean)
      .join("\n");
  }

  function alikeMark(index) {
    const others = rank.alike?.[index] ?? [];
    const names = others.map((one) => rank.rows[one].algorithm).join(", ");
    return (
      others.length > 0 &&
      h("span", { class: "alike", title: `performs about as well as ${names}` }, `≈${others.length}`)
    );
  }

  function scoreCell({ one: info, column }, row) {
    const value = table.values[row][column];
    if (value === null) {
      const reason = table.gaps[row][column]
        ? `no score on ${table.gaps[row][column]} of ${table.scenes.length} scenes`
        : `${info.metric} cannot be aggregated as ${table.aggregation}`;
      return h("td", { class: "gap", title: reason, "data-column": info.id }, "–");
    }
    const ranked = table.ranks[row][column];
    const shade = ranked === null ? 0 : Math.max(0, 1 - (ranked - 1) / (Math.max(2, table.algorithms.length) - 1));
    const coverage = table.coverage[row][column];
    return h(
      "td",
      {
        class: info.best.includes(row) ? "best" : table.faint[row][column] ? "faint" : null,
        "data-label": `${wordsOf(info)} · ${info.label}`,
        "data-unit": info.unit,
        "data-full": full(value),
        "data-column": info.id,
        "data-cell": `${row} ${column}`,
        style: { background: `rgba(var(--tint), ${(0.34 * shade * shade).toFixed(3)})` },
      },
      digits(value),
      need() === "sure" && coverage !== null && h("span.pm", ` (${Math.round(100 * coverage)} %)`),
    );
  }

  function sceneCell(row, column, scene, algorithm) {
    const value = detail.values[row][column];
    if (value === null) return h("td", { class: "gap", title: `${algorithm} has no score on ${scene}` }, "–");
    return h(
      "td",
      { "data-full": full(value), "data-picture": `${row} ${column}` },
      button(digits(value), () => openScene(scene, algorithm, detail.column), { class: "cell", "data-scene": scene }),
    );
  }

  /** The cells behind the score: further facts, scores, and scenes. */
  const scoresOf = (name, at, cells) => [
    cells,
    columns.map((one) => scoreCell(one, at)),
    detail &&
      h(
        "td.text",
        sparkline(detail.values[at], top, scenes, (scene) => openScene(scene, name, detail.column), unit),
      ),
    shownScenes.map((scene, column) => sceneCell(at, column, scene, name)),
  ];

  const expand = (name) =>
    button(
      "scores",
      (event) => {
        const open = event.currentTarget.closest("tr").classList.toggle("open");
        unfolded[open ? "add" : "delete"](name);
        event.currentTarget.setAttribute("aria-expanded", String(open));
      },
      { class: "expand quiet", "aria-expanded": String(unfolded.has(name)) },
    );
  const rowClass = (name, ...others) => [...others, unfolded.has(name) && "open"].filter(Boolean).join(" ");

  // An algorithm that the rule for gaps left out of the order is still in the table, with its gaps.
  function unranked(name) {
    const at = table.algorithms.indexOf(name);
    const reason = rank.dropped.find((one) => one.kind === "algorithm" && one.name === name)?.reason ?? "not ranked";
    return h(
      "tr",
      { class: rowClass(name, "unranked"), "data-unranked": name },
      h("td", { class: "pin pin0", title: reason }, "–"),
      h("td", { class: "text pin pin1", title: reason }, named(context, name), completeness(at), expand(name)),
      h("td", { class: "gap pin pin2", title: reason }, "–"),
      scoresOf(
        name,
        at,
        facts.map(() => h("td", { class: "gap", title: reason }, "–")),
      ),
    );
  }

  let band = null;
  let odd = false;
  const rows = order().map(({ row, index, at }) => {
    const mark = row.group ?? row.rank;
    const start = band !== null && mark !== band && !state.get("sort");
    if (mark !== band) odd = !odd;
    band = mark;
    return h(
      "tr",
      {
        class: rowClass(row.algorithm, start && row.group && "band-start", odd && "odd"),
        "data-algorithm": row.algorithm,
      },
      h("td.pin.pin0", rankText(row)),
      h(
        "td.text.pin.pin1",
        named(context, row.algorithm, state.address({ name: row.algorithm }, "algorithm")),
        alikeMark(index),
        completeness(at),
        expand(row.algorithm),
      ),
      h(
        "td",
        {
          class: "value pin pin2",
          "data-name": rank.value_name,
          "data-full": full(row.value),
          title: valueTitle(row) || null,
        },
        valueText(row),
      ),
      scoresOf(
        row.algorithm,
        at,
        row.facts.map((one, place) => h("td", { "data-label": facts[place], title: one.note || null }, one.text)),
      ),
    );
  });
  const ranked = new Set(rank.rows.map((row) => row.algorithm));
  const made = h(
    "table",
    h(
      "thead",
      h(
        "tr.groups",
        h("td", { class: "pin pin0", colspan: 3 }),
        facts.length > 0 && h("td", { colspan: facts.length }),
        groups.map(([property, members]) =>
          h("th", { colspan: members.length, scope: "colgroup", class: "property" }, property),
        ),
        detail && h("td", { colspan: 1 + shownScenes.length }),
      ),
      h(
        "tr",
        h(
          "th",
          { class: "pin pin0", scope: "col" },
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
        facts.map((name) => h("th", { scope: "col", class: "words" }, name, h("span.unit", " "))),
        columns.map(columnHeader),
        detail && sceneChoice(),
        shownScenes.map(sceneHeader),
      ),
    ),
    h("tbody", rows, table.algorithms.filter((name) => !ranked.has(name)).map(unranked)),
  );
  if (!isStatic) hover(made, data, context);
  return made;
}

/** A card beside the pointer: what a score is, and the picture of its errors on a scene. */
function hover(element, { table, whole: all }, context) {
  const card = h("div", { class: "hover-card", hidden: true });
  let timer = 0;
  const close = () => {
    clearTimeout(timer);
    card.hidden = true;
  };
  const picture = (algorithm, column, scene) => {
    const own = mapParams(context, { algorithm, metric: column.metric, width: HOVER_WIDTH }, [algorithm]);
    if (column.label !== column.metric) own.set("region", column.region);
    const layer = declared(context, column.metric)?.picture ? "metric" : "error";
    return url(scenePath(scene, `layers/${layer}.png`), own);
  };
  const fill = (cell) => {
    const of = cell.dataset.picture ? all : table;
    const [row, place] = (cell.dataset.cell ?? cell.dataset.picture).split(" ").map(Number);
    const detail = all.scene_column;
    const column =
      table.columns[cell.dataset.cell ? place : table.columns.findIndex((one) => one.id === detail.column)];
    if (!column) return;
    const algorithm = of.algorithms[row];
    const open = context.scenes.filter((one) => !one.hidden).map((one) => one.name);
    const scene = cell.dataset.picture ? all.scenes[place] : table.scenes.find((one) => open.includes(one));
    const at = table.columns.indexOf(column);
    const facts = cell.dataset.cell && [
      table.ranks[row][at] === null ? "not ranked: too incomplete" : `rank ${table.ranks[row][at]} in this column`,
      table.counts[row][at] !== null && `${whole(table.counts[row][at])} ${column.counts}`,
      table.coverage[row][at] !== null && `covers ${percent(table.coverage[row][at])}`,
    ];
    card.replaceChildren(
      h("strong", named(context, algorithm)),
      h("div", `${columnWords(context, column)}: ${digits(Number(cell.dataset.full))} ${column.unit}`),
      h("div.hint", (facts || []).filter(Boolean).join(" · ")),
    );
    if (scene && open.includes(scene))
      card.append(
        image(picture(algorithm, column, scene), {
          alt: `errors on ${scene}`,
          onerror: (event) => event.target.remove(),
        }),
        h("div.hint", `errors on ${scene}`),
      );
    const box = cell.getBoundingClientRect();
    card.hidden = false;
    card.style.left = `${Math.max(8, Math.min(box.left, innerWidth - card.offsetWidth - 12))}px`;
    const below = box.bottom + 4;
    const above = Math.max(8, box.top - card.offsetHeight - 4);
    card.style.top = `${below + card.offsetHeight < innerHeight ? below : above}px`;
  };
  element.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td[data-cell], td[data-picture]");
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

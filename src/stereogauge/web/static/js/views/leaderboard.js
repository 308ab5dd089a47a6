// The leaderboard: the order that the chosen model gives, with the scores behind it.

import { ask, isStatic, latest, Problem, token, url } from "../api.js";
import { badge, behind, criticalDifference, sparkline } from "../diagrams.js";
import { choose, h, put, save } from "../dom.js";
import { digits, full, listed, percent, plural, subscript, whole } from "../format.js";
import { defineColumn } from "../popup.js";
import { chosenColumns } from "../selection.js";
import * as state from "../state.js";
import { refused } from "../states.js";

const DRAWS = 1000;

/** The parameters of the ranking that the address means. */
export function rankParams(extra = {}) {
  const params = state.selection(state.MODEL);
  for (const [name, value] of Object.entries(extra)) params.set(name, value);
  return params;
}

export function create(root, context) {
  const head = h("div", { class: "row", id: "headline" });
  const board = h("div", {
    class: "scroll board",
    id: "board",
    tabindex: 0,
    role: "region",
    "aria-label": "Leaderboard",
  });
  const lack = h("div", { id: "no-order" });
  const notes = h("div", { id: "notes" });
  const below = h("div", { class: "section beside" });
  put(root, head, lack, board, notes, below);
  const main = latest();
  const sure = latest();
  const test = latest();
  let data = null;

  // Nobody has all of the selected scores: other rules for gaps still give an order.
  const wayOut = () =>
    h(
      "p",
      { class: "links" },
      "Scores are missing; a ranking needs another rule for them: ",
      context.catalogue.missing_rules
        .filter((rule) => rule !== state.get("missing", "drop-algorithm"))
        .map((rule) => h("a", { href: state.address({ missing: rule }) }, rule)),
    );

  // Where a model cannot order a selection, its scores and gaps are still shown.
  function withoutOrder(problem) {
    if (!(problem instanceof Problem) || problem.allowed.length || problem.status !== (isStatic ? 404 : 422))
      throw problem;
    const model = context.catalogue.models.find((one) => one.id === state.get("model", "a-star"));
    return {
      model: model?.id,
      name: model?.name ?? "",
      value_name: model?.value_name ?? "value",
      definition: "",
      caption: "",
      rows: [],
      dropped: [],
      reason: isStatic
        ? "This copy holds no ranking by this model; on the server another rule for missing scores may give one."
        : problem.message,
    };
  }

  const pictured = (metric) => context.catalogue.metrics.find((one) => one.id === metric.split("@")[0])?.picture;
  const openScene = (scene, algorithm, metric) =>
    state.update(
      {
        scene,
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

  async function refresh() {
    const columns = chosenColumns(context);
    const detail = columns.find((one) => one.id === state.get("column"))?.id ?? columns[0]?.id;
    const tableParams = state.selection();
    if (detail) tableParams.set("column", detail);
    try {
      data =
        (await main(async (signal) => {
          const [table, rank] = await Promise.all([
            ask("table", tableParams, { signal }),
            ask("rank", rankParams(), { signal }).catch(withoutOrder),
          ]);
          return { rank, table, intervals: null };
        })) ?? data;
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.allowed.length) throw problem;
      put(head);
      put(lack);
      put(notes);
      put(below);
      return put(board, refused(problem));
    }
    draw();
    later();
    return undefined;
  }

  // Intervals and tests take longer than the order itself, so they come after it and never hold it up.
  function later() {
    const own = data;
    if (!own.rank.reason)
      sure((signal) => ask("rank", rankParams({ draws: DRAWS }), { signal }))
        .then((answer) => {
          if (!answer || own !== data) return;
          data.intervals = new Map((answer.intervals ?? []).map((one) => [one.algorithm, one]));
          data.note = answer.intervals_note;
          draw();
          root.dataset.intervals = "ready";
        })
        .catch((problem) => {
          if (!(problem instanceof Problem)) throw problem;
        });
    test((signal) => ask("significance", state.selection(), { signal }))
      .then((answer) => answer && drawBelow(answer))
      .catch((problem) => {
        if (!(problem instanceof Problem)) throw problem;
      });
  }

  function order() {
    const { rank, table } = data;
    const place = new Map(table.algorithms.map((name, row) => [name, row]));
    const rows = rank.rows
      .map((row, index) => ({ row, index, at: place.get(row.algorithm) }))
      .filter((one) => one.at !== undefined);
    const [key, way] = (state.get("sort") ?? "").split("~");
    if (!key) return rows;
    const sign = way === "down" ? -1 : 1;
    const column = table.columns.findIndex((one) => one.id === key);
    const value =
      key === "algorithm"
        ? (one) => one.row.algorithm.toLowerCase()
        : column >= 0
          ? (one) => table.values[one.at][column]
          : (one) => one.row.value;
    return rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return x < y ? -sign : x > y ? sign : a.index - b.index;
    });
  }

  function header(title, key, { unit = "", about = null, text = false, pin = "" } = {}) {
    const [now, way] = (state.get("sort") ?? "").split("~");
    const next = now !== key ? `${key}~up` : way === "up" ? `${key}~down` : null;
    return h(
      "th",
      {
        class: `${text ? "text" : ""} ${pin}`.trim(),
        scope: "col",
        "aria-sort": now === key ? (way === "up" ? "ascending" : "descending") : null,
      },
      h(
        "button",
        { type: "button", "data-sort": key, onclick: () => state.update({ sort: next }) },
        title,
        now === key && h("span", { class: "arrow" }, way === "up" ? " ↑" : " ↓"),
      ),
      about &&
        h(
          "button",
          {
            type: "button",
            class: "about",
            "aria-label": `What is ${title}?`,
            onclick: (event) => about(event.currentTarget),
          },
          "i",
        ),
      h("span", { class: "unit" }, unit || " "),
    );
  }

  function draw() {
    const { rank, table } = data;
    drawHead();
    put(lack, rank.reason && [refused({ message: rank.reason }), rank.reason.includes("missing cells") && wayOut()]);
    const expanded = state.get("scenewise") === "open";
    const detail = table.scene_column;
    const shownScenes = expanded ? table.scenes : [];
    const sizes = detail
      ? detail.values
          .flat()
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
      header("algorithm", "algorithm", { text: true, pin: "pin pin1" }),
      header(rank.value_name, "value", {
        unit: data.intervals?.size && rank.model !== "a-star" ? "95 % interval" : " ",
      }),
      table.columns.map((one) =>
        header(one.metric, one.id, {
          unit: [
            one.label === one.metric ? "" : one.region,
            one.unit,
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
              chosenColumns(context).map((one) => [one.id, one.label]),
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
          row.algorithm,
          alikeMark(rank, index),
        ),
        h("td", { class: "value", title: valueTitle(row) }, valueText(row)),
        table.columns.map((column, place) => cell(table, column, at, place)),
        detail &&
          h(
            "td",
            { class: "text" },
            sparkline(
              detail.values[at],
              top,
              table.scenes,
              (scene) => openScene(scene, row.algorithm, column(detail.column)),
              unit,
            ),
          ),
        shownScenes.map((scene, place) => sceneCell(detail, at, place, scene, row.algorithm)),
      );
    });
    const scroll = [board.scrollLeft, board.scrollTop];
    put(
      board,
      h(
        "table",
        {},
        h("thead", {}, head),
        h(
          "tbody",
          {},
          rows,
          left.map((name) => unranked(name, table, detail, shownScenes, top, unit)),
        ),
      ),
    );
    board.scrollTo(...scroll);
    const dropped = [...rank.dropped].sort(
      (a, b) => (a.kind === "algorithm" ? 0 : 1) - (b.kind === "algorithm" ? 0 : 1),
    );
    put(
      notes,
      dropped.length > 0 &&
        h(
          "p",
          { class: "caption" },
          h("strong", {}, "Left out: "),
          listed(
            dropped.map((one) => `${one.kind} ${one.name} (${one.reason})`),
            3,
          ),
          ".",
        ),
      !rank.reason &&
        h(
          "p",
          { class: "caption" },
          rank.definition,
          " ",
          rank.caption.split(" · left out:")[0],
          data.note ? ` · intervals: ${data.note}` : "",
        ),
    );
  }

  const column = (id) => id.split(":")[0];

  // Whoever the rule for gaps left out of the order still stands in the table, with its gaps.
  function unranked(name, table, detail, scenes, top, unit) {
    const at = table.algorithms.indexOf(name);
    const reason =
      data.rank.dropped.find((one) => one.kind === "algorithm" && one.name === name)?.reason ?? "not ranked";
    return h(
      "tr",
      { class: "unranked", "data-unranked": name },
      h("td", { class: "pin pin0", title: reason }, "–"),
      h("td", { class: "text pin pin1", title: reason }, badge(context.styles.get(name)), name),
      h("td", { class: "gap", title: reason }, "–"),
      table.columns.map((one, place) => cell(table, one, at, place)),
      detail &&
        h(
          "td",
          { class: "text" },
          sparkline(
            detail.values[at],
            top,
            table.scenes,
            (scene) => openScene(scene, name, column(detail.column)),
            unit,
          ),
        ),
      scenes.map((scene, place) => sceneCell(detail, at, place, scene, name)),
    );
  }

  function rankText(row) {
    const own = data.intervals?.get(row.algorithm);
    const span =
      own && own.rank_low !== own.rank_high ? h("span", { class: "pm" }, ` ${own.rank_low}–${own.rank_high}`) : null;
    return [row.group ? `A*${subscript(row.group)}` : row.rank, span];
  }

  function valueText(row) {
    const own = data.intervals?.get(row.algorithm);
    const half =
      own && own.value_low !== null && data.rank.model !== "a-star" ? (own.value_high - own.value_low) / 2 : null;
    return [
      Number.isInteger(row.value) ? whole(row.value) : digits(row.value),
      half !== null && h("span", { class: "pm" }, ` ±${digits(half)}`),
    ];
  }

  function valueTitle(row) {
    const own = data.intervals?.get(row.algorithm);
    const facts = Object.entries(row.extra).map(
      ([name, value]) => `${name}: ${value === null || value === "" ? "–" : value}`,
    );
    return [
      `${data.rank.value_name} ${full(row.value)}`,
      own && `95 % interval ${digits(own.value_low)} to ${digits(own.value_high)}`,
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

  function cell(table, info, row, place) {
    const value = table.values[row][place];
    if (value === null) {
      const reason = table.gaps[row][place]
        ? `no score on ${table.gaps[row][place]} of ${table.scenes.length} scenes`
        : `${info.metric} cannot be aggregated as ${table.aggregation}`;
      return h("td", { class: "gap", title: reason }, "–");
    }
    const best = info.best.includes(row);
    const last = Math.max(2, table.algorithms.length);
    const shade = Math.max(0, 1 - (table.ranks[row][place] - 1) / (last - 1));
    const count = table.counts[row][place];
    const missing = table.missing[row][place];
    const about = [
      `${info.id}: ${full(value)} ${info.unit}`,
      `rank ${table.ranks[row][place]} in this column`,
      count === null
        ? null
        : `${whole(count)} pixels, ${percent(count + missing ? missing / (count + missing) : 0)} missing`,
    ];
    return h(
      "td",
      {
        class: best ? "best" : null,
        style: { background: `rgba(var(--tint), ${(0.3 * shade * shade).toFixed(3)})` },
        title: about.filter(Boolean).join("\n"),
      },
      digits(value),
    );
  }

  function sceneCell(detail, row, place, scene, algorithm) {
    const value = detail.values[row][place];
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
          onclick: () => openScene(scene, algorithm, column(detail.column)),
        },
        digits(value),
      ),
    );
  }

  function drawHead() {
    const { rank, table } = data;
    const regions = new Set(table.columns.filter((one) => one.label !== one.metric).map((one) => one.region)).size;
    const metrics = new Set(table.columns.map((one) => one.metric)).size;
    const counts = [
      plural(table.scenes.length, "scene"),
      regions && plural(regions, "region"),
      plural(metrics, "metric"),
    ];
    put(
      head,
      h("h1", {}, `Model: ${rank.name}`),
      h(
        "span",
        { class: "hint" },
        counts.filter(Boolean).join(" × "),
        ` · ${plural((rank.reason ? table.algorithms : rank.rows).length, "algorithm")}`,
      ),
      h(
        "span",
        { class: "end row" },
        h("button", { type: "button", id: "csv", onclick: () => download("csv", "text/csv") }, "CSV"),
        h("button", { type: "button", id: "latex", onclick: () => download("tex", "application/x-tex") }, "LaTeX"),
        h(
          "button",
          {
            type: "button",
            id: "json",
            onclick: () => save("ranking.json", JSON.stringify(data.rank, null, 1), "application/json"),
          },
          "JSON",
        ),
      ),
    );
  }

  async function download(form, kind) {
    const address = url(`rank.${form}`, rankParams());
    const response =
      address &&
      (await fetch(address, { headers: state.get("submission") ? { Authorization: `Bearer ${token.get()}` } : {} }));
    if (response?.ok) save(`leaderboard.${form}`, await response.text(), kind);
    else if (isStatic) put(notes, h("p", { class: "caption" }, "This selection was not exported as a file."));
  }

  function drawBelow(answer) {
    const spread = data.table.scene_column?.spread ?? [];
    put(
      below,
      h(
        "div",
        {},
        h("h2", {}, "Critical difference"),
        answer.note
          ? h("p", { class: "hint" }, answer.note)
          : [
              criticalDifference(
                answer,
                context.styles,
                Math.max(330, Math.min(720, below.clientWidth * (innerWidth > 860 ? 0.62 : 1) - 20)),
              ),
              h(
                "p",
                { class: "caption" },
                `Friedman's test over ${answer.blocks} columns, p = ${digits(answer.p_value)}; `,
                `bars join algorithms that Nemenyi's test at α = ${answer.alpha} does not tell apart.`,
              ),
              behind(
                ["algorithm", "average rank"],
                answer.algorithms.map((name, place) => [name, answer.average_rank[place]]),
              ),
            ],
      ),
      h(
        "div",
        {},
        h("h2", {}, "Where the algorithms differ most"),
        spread.length
          ? [
              h(
                "p",
                { class: "links" },
                spread.map((scene) => h("a", { href: state.address({ scene, pane: null }, "scene") }, scene)),
              ),
              h(
                "p",
                { class: "caption" },
                `Scenes with the largest standard deviation of ${data.table.scene_column.column} over the algorithms.`,
              ),
            ]
          : h("p", { class: "hint" }, "The algorithms do not differ on any scene."),
        gapsNote(),
      ),
    );
  }

  function gapsNote() {
    const own = context.algorithms.filter((one) => one.gaps?.length);
    return own.length
      ? h(
          "p",
          { class: "caption" },
          h("strong", {}, "Missing scores: "),
          listed(
            own.map((one) => `${one.name} on ${listed(one.gaps, 2)}`),
            4,
          ),
          ".",
        )
      : null;
  }

  function restyle() {
    if (!data) return;
    draw();
    later();
  }

  return { refresh, restyle };
}

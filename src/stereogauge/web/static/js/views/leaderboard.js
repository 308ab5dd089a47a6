// The leaderboard: the order that the chosen model gives, with the scores behind it.

import { ask, asOwner, isOwn, isStatic, latest, Problem, url } from "../api.js";
import { h, put, save } from "../dom.js";
import { listed, plural } from "../format.js";
import { onWeights, reweighted } from "../reweighted.js";
import { chosenColumns, GAPS, testBed, testBeds } from "../selection.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { columnWords } from "../words.js";
import { boardTable, italicsNote } from "./board.js";
import { drawDifference } from "./difference.js";
import { following } from "./following.js";

const DRAWS = 1000;

/** The parameters of the ranking that the address means. */
export function rankParams(extra = {}) {
  const params = state.selection(state.MODEL);
  params.set("model", state.model());
  for (const [name, value] of Object.entries(extra)) params.set(name, value);
  return params;
}

/** The selection that a test of differences is about: the columns of the ranking where a profile chose them. */
export function testParams(rank) {
  const params = state.selection();
  if (!rank.columns || !(state.has("profile") || state.has("weights"))) return params;
  params.delete("metrics");
  for (const column of rank.columns) params.append("metrics", column);
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
  const lacking = h("div", {});
  const lack = h("div", { id: "no-order" });
  const notes = h("div", { id: "notes" });
  const below = h("div", { class: "section beside" });
  put(root, head, lacking, lack, board, notes, below);
  const main = latest();
  const bootstrap = latest();
  const test = latest();
  let data = null;
  let follow = null; // while a weight is dragged: what moves the rows

  // Where scores are missing, the other rules for them are one click away.
  const wayOut = (text) =>
    !isStatic &&
    h(
      "p",
      { class: "links", id: "other-rules" },
      text,
      context.catalogue.missing_rules
        .filter((rule) => rule !== state.get("missing", "common"))
        .map((rule) => h("a", { href: state.address({ missing: rule }) }, GAPS[rule] ?? rule)),
    );

  // Where a model cannot order a selection, its scores and gaps are still shown.
  function withoutOrder(problem) {
    if (!(problem instanceof Problem) || problem.allowed.length || problem.status !== (isStatic ? 404 : 422))
      throw problem;
    const model = context.catalogue.models.find((one) => one.id === state.model());
    return {
      model: model?.id,
      name: model?.name ?? "",
      value_name: model?.value_name ?? "value",
      definition: "",
      caption: "",
      rows: [],
      dropped: [],
      gaps: problem.reason === "gaps",
      reason: isStatic
        ? "This copy holds no ranking by this model; on the server another rule for missing scores may give one."
        : problem.message,
    };
  }

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
          return { rank, table: await compared(table, rank, tableParams, signal), whole: table, intervals: null };
        })) ?? data;
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.allowed.length) throw problem;
      put(head);
      put(lacking);
      put(lack);
      put(notes);
      put(below);
      return put(board, refused(problem));
    }
    draw();
    later();
    return undefined;
  }

  // Where an order compares fewer scenes than were selected, its scores are those of the same scenes.
  async function compared(table, rank, params, signal) {
    const few = rank.scene_names?.length && rank.scene_names.length < table.scenes.length;
    if (!few) return table;
    for (const name of ["scenes", "column"]) params.delete(name);
    for (const scene of rank.scene_names) params.append("scenes", scene);
    return ask("table", params, { signal }).catch((problem) => {
      if (!(problem instanceof Problem)) throw problem;
      return table; // not in this copy, or some of the scenes are hidden and shown together only
    });
  }

  // Who lacks which scenes, and what that does to the order.
  function lacks() {
    const { whole, table, rank } = data;
    if (!whole.lacking.length) return null;
    const few = table.scenes.length < whole.scenes.length;
    return h(
      "p",
      { class: "caption", id: "lacking" },
      few &&
        `Compared on ${table.scenes.length} of ${whole.scenes.length} scenes, which all ranked algorithms have: ` +
          `${listed(table.scenes)}. `,
      rank.scenes < whole.scenes.length && !few && `The order compares ${plural(rank.scenes, "scene")}. `,
      h("strong", {}, "Without a score: "),
      whole.lacking.map((one) => `${listed(one.algorithms, 3)} on ${listed(one.scenes, 3)}`).join("; "),
      ".",
    );
  }

  // Intervals and tests take longer than the order itself, so they come after it and never hold it up.
  function later() {
    const own = data;
    delete root.dataset.intervals;
    if (!own.rank.reason)
      bootstrap((signal) => ask("rank", rankParams({ draws: DRAWS }), { signal }))
        .then((answer) => {
          if (!answer || own !== data) return;
          data.intervals = new Map((answer.intervals ?? []).map((one) => [one.algorithm, one]));
          data.note = answer.intervals_note;
          if (!follow) draw();
          root.dataset.intervals = "ready";
        })
        .catch((problem) => {
          if (!(problem instanceof Problem)) throw problem;
        });
    test((signal) => ask("significance", testParams(own.rank), { signal }))
      .then((answer) => answer && drawBelow(answer))
      .catch((problem) => {
        if (!(problem instanceof Problem)) throw problem;
      });
  }

  function draw() {
    const { rank } = data;
    drawHead();
    put(lacking, lacks());
    put(
      lack,
      rank.reason && [
        refused({ message: rank.reason }),
        rank.gaps && wayOut("Scores are missing; a ranking needs another rule for them:"),
      ],
    );
    const scroll = [board.scrollLeft, board.scrollTop];
    put(board, boardTable(data, context));
    follow = null;
    board.scrollTo(...scroll);
    const empty = data.table.columns.filter((one) => !one.scenes);
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
      dropped.some((one) => one.kind !== "score") && !rank.reason && wayOut("Where a score is missing, also possible:"),
      empty.length > 0 &&
        h(
          "p",
          { class: "caption" },
          h("strong", {}, "Without any score here: "),
          `${listed(
            empty.map((one) => columnWords(context, one)),
            6,
          )}.`,
        ),
      italicsNote(data.table.faint.flat()),
      !rank.reason &&
        h(
          "p",
          { class: "caption" },
          rank.definition,
          " ",
          rank.caption,
          rank.notes.map((note) => ` · ${note}`),
          data.note ? ` · intervals: ${data.note}` : "",
        ),
    );
  }

  function drawHead() {
    const { rank, table } = data;
    const regions = new Set(table.columns.filter((one) => one.label !== one.metric).map((one) => one.region)).size;
    const metrics = new Set(table.columns.map((one) => one.metric)).size;
    const all = data.whole.scenes.length;
    const counts = [
      table.scenes.length < all ? `${table.scenes.length} of ${all} scenes` : plural(all, "scene"),
      regions && plural(regions, "region"),
      plural(metrics, "metric"),
    ];
    const bed = testBeds(context).find((one) => one.key === testBed(context));
    put(
      head,
      h("h1", {}, bed ? `${bed.text}: ` : "", rank.name),
      h(
        "span",
        { class: "hint" },
        counts.filter(Boolean).join(" × "),
        ` · ${plural((rank.reason ? table.algorithms : rank.rows).length, "algorithm")} · lower is better`,
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
    const response = address && (await (isOwn(address) ? asOwner(address) : fetch(address)));
    if (response?.ok) save(`leaderboard.${form}`, await response.text(), kind);
    else if (isStatic) put(notes, h("p", { class: "caption" }, "This selection was not exported as a file."));
  }

  function drawBelow(answer) {
    const difference = h("div", {});
    const detail = data.whole.scene_column;
    const spread = detail?.spread ?? [];
    put(
      below,
      difference,
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
                `Scenes with the largest standard deviation of ${detail.column} over the algorithms.`,
              ),
            ]
          : h("p", { class: "hint" }, "The algorithms do not differ on any scene."),
      ),
    );
    drawDifference(difference, answer);
  }

  // While a weight is dragged the rows move; what the server says replaces this once the finger rests.
  const still = onWeights((weights) => {
    if (!weights && follow) draw();
    if (!weights || data?.rank.model !== "weighted" || data.rank.reason || state.get("sort")) return;
    const answer = reweighted(data.rank, weights);
    if (!answer) return;
    follow ??= following(board);
    follow(answer);
  });

  function restyle() {
    if (!data) return;
    draw();
    later();
  }

  return { refresh, restyle, leave: still };
}

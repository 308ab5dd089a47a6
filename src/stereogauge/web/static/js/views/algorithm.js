// An algorithm: what is known of it, its ranks and scores, how it does on every scene, and who stands beside it.

import { ask, latest } from "../api.js";
import { badge } from "../chart.js";
import { choose, h, put } from "../dom.js";
import { digits, full, listed, percent } from "../format.js";
import * as state from "../state.js";
import { columnWords, idMark } from "../words.js";
import { italicsNote } from "./board.js";
import { drawThumbnails } from "./thumbnails.js";

const NEIGHBOURS = 2;

export function create(root, context) {
  const head = h("div", { class: "row" });
  const facts = h("div", {});
  const standing = h("section", { class: "section", id: "standing" });
  const scores = h("section", { class: "section", id: "scores" });
  const scenes = h("section", { class: "section", id: "glance" });
  put(root, head, facts, standing, scores, scenes);
  const main = latest();

  async function refresh() {
    const names = context.algorithms.map((one) => one.name);
    const whole = context.algorithms.find((other) => !other.gaps.length) ?? context.algorithms[0];
    const name = names.includes(state.get("name")) ? state.get("name") : whole.name;
    const one = context.styles.get(name);
    put(
      head,
      h("h1", { class: "headline" }, badge(one), name),
      choose(names, name, (value) => state.update({ name: value }), {
        "aria-label": "Algorithm",
        id: "algorithm-choice",
      }),
    );
    put(facts, known(one));
    const params = state.selection();
    params.delete("algorithms");
    const ranking = new URLSearchParams(params);
    ranking.set("model", "weighted");
    if (state.has("profile")) ranking.set("profile", state.get("profile"));
    const found = await main(async (signal) => {
      const [table, rank] = await Promise.all([
        ask("table", params, { signal }),
        ask("rank", ranking, { signal }).catch(() => null),
      ]);
      return { table, rank };
    });
    if (!found) return;
    drawStanding(found.rank, name);
    drawScores(found.table, name);
    await drawThumbnails(scenes, context, found.table.columns, [name]);
  }

  function known(one) {
    const rows = [
      ["about", one.description],
      ["link", one.link && h("a", { href: one.link, rel: "noopener" }, one.link)],
      ...Object.entries(one.metadata ?? {}).map(([key, value]) => [key.replace(/_/g, " "), value]),
      ["run time", one.seconds ? `${digits(one.seconds)} s per pair` : null],
      ["no scores on", one.gaps?.length ? listed(one.gaps, 6) : null],
      ["first evaluated", one.added],
    ].filter(([, value]) => value);
    return h(
      "dl",
      { class: "facts" },
      rows.map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]),
    );
  }

  function drawStanding(rank, name) {
    const at = rank?.rows.findIndex((row) => row.algorithm === name) ?? -1;
    if (at < 0) {
      const reason = rank?.dropped.find((one) => one.kind === "algorithm" && one.name === name)?.reason;
      put(
        standing,
        h("h2", {}, "Its place"),
        h("p", {}, `It has no place in the weighted order${reason ? `: ${reason}` : ""}.`),
      );
      return;
    }
    const near = rank.rows.slice(Math.max(0, at - NEIGHBOURS), at + NEIGHBOURS + 1);
    const profile = context.catalogue.profiles.find((one) => one.id === state.get("profile"));
    const by = profile ? profile.name.toLowerCase() : "equal weights";
    put(
      standing,
      h("h2", {}, "Its place"),
      h(
        "p",
        {},
        `Rank ${rank.rows[at].rank} of ${rank.rows.length} by ${by}, score ${digits(rank.rows[at].value)}. `,
        "Beside it stand:",
      ),
      h(
        "ol",
        { class: "neighbours" },
        near.map((row) =>
          h(
            "li",
            { value: row.rank },
            badge(context.styles.get(row.algorithm)),
            row.algorithm === name
              ? h("strong", {}, name)
              : h("a", { href: state.address({ name: row.algorithm }) }, row.algorithm),
            ` ${digits(row.value)} `,
            row.algorithm !== name &&
              h("a", { href: state.address({ first: name, second: row.algorithm }, "versus") }, "why"),
          ),
        ),
      ),
    );
  }

  function drawScores(table, name) {
    const row = table.algorithms.indexOf(name);
    if (row < 0) return put(scores);
    const ranked = (column) => table.ranks.filter((own) => own[column] !== null).length;
    const line = (one, column) => {
      const value = table.values[row][column];
      const rank = table.ranks[row][column];
      return h(
        "tr",
        {},
        h("td", { class: "text wrap" }, columnWords(context, one), " ", idMark(one.id)),
        h("td", { title: full(value), class: table.faint[row][column] ? "faint" : null }, digits(value)),
        h("td", { class: "text" }, one.unit),
        h("td", {}, rank === null ? "–" : `${rank} of ${ranked(column)}`),
        h("td", {}, percent(table.coverage[row][column])),
      );
    };
    return put(
      scores,
      h("h2", {}, "Its scores"),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scores" },
        h(
          "table",
          { class: "why narrow" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { class: "text", scope: "col" }, "metric"),
              h("th", { scope: "col" }, "score"),
              h("th", { class: "text", scope: "col" }, "unit"),
              h("th", { scope: "col" }, "rank"),
              h("th", { scope: "col" }, "covers"),
            ),
          ),
          h("tbody", {}, table.columns.map(line)),
        ),
      ),
      italicsNote(table.faint[row]),
    );
  }

  return { refresh, restyle: refresh };
}

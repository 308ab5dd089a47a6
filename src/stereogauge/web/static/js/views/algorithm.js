// An algorithm: what is known of it, its ranks and scores, how it does on every scene, and its neighbours.

import { ask, latest } from "../api.js";
import { cell, choose, h, put, scroll, table } from "../dom.js";
import { digits, full, listed, percent } from "../format.js";
import { namesOf, purposeWords } from "../scope.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { columnWords, idMark, lowerFirst, named } from "../words.js";
import { italicsNote } from "./board.js";
import { drawThumbnails } from "./thumbnails.js";

const NEIGHBOURS = 2;

export function create(root, context) {
  const head = h("div.row");
  const facts = h("div");
  const standing = h("section.section#standing");
  const scores = h("section.section#scores");
  const scenes = h("section.section#glance");
  put(root, head, facts, standing, scores, scenes);
  const main = latest();

  async function refresh() {
    const names = namesOf(context.algorithms);
    const wanted = state.get("name");
    for (const part of [facts, standing, scores, scenes]) put(part);
    const pick = (name) =>
      choose(
        [...(name ? [] : [["", "choose an algorithm"]]), ...names],
        name ?? "",
        (value) => state.update({ name: value }),
        {
          "aria-label": "Algorithm",
          id: "algorithm-choice",
        },
      );
    if (wanted && !names.includes(wanted)) {
      const message =
        `There is no algorithm called ${wanted} in this data set; ` +
        `choose one of the ${names.length} that have scores.`;
      put(head, h("h1.headline", h("bdi", wanted)), pick(null));
      put(facts, refused({ message }));
      return;
    }
    const whole = context.algorithms.find((other) => !other.gaps.length) ?? context.algorithms[0];
    const name = wanted ?? whole.name;
    put(head, h("h1.headline", named(context, name)), pick(name));
    const params = state.scope();
    params.delete("algorithms");
    const ranking = state.weighed({ model: "weighted" });
    ranking.delete("algorithms");
    const found = await main(async (signal) => {
      const [values, rank] = await Promise.all([
        ask("table", params, { signal }),
        ask("rank", ranking, { signal }).catch(() => null),
      ]);
      return { values, rank };
    });
    if (!found) return;
    put(facts, known(context.styles.get(name), found.values));
    drawStanding(found.rank, name);
    drawScores(found.values, name);
    await drawThumbnails(scenes, context, found.values.columns, [name]);
  }

  const linked = (text) => (/^https?:\/\/\S+$/.test(text) ? h("a", { href: text, rel: "noopener" }, text) : text);

  // What the submitter said of it, or its declaration; its run time is the one that its scores hold.
  function known(one, values) {
    const row = values.algorithms.indexOf(one.name);
    const timed = values.columns.findIndex((column) => column.metric === "seconds");
    const seconds = timed >= 0 && row >= 0 ? values.values[row][timed] : one.seconds;
    const rows = [
      ["about", one.description],
      ["link", one.link],
      ...Object.entries(one.metadata ?? {}).map(([key, value]) => [key.replace(/_/g, " "), value]),
      ...Object.entries(one.tags ?? {}).map(([key, value]) => [key, value.join(", ")]),
      ["run time", seconds !== null && `${digits(seconds)} s per pair`],
      ["no scores on", one.gaps?.length ? listed(one.gaps, 6) : null],
    ].filter(([, value]) => value);
    return h(
      "dl.facts",
      rows.map(([key, value]) => [h("dt", key), h("dd", linked(value))]),
    );
  }

  function drawStanding(rank, name) {
    const at = rank?.rows.findIndex((row) => row.algorithm === name) ?? -1;
    if (at < 0) {
      const reason = rank?.dropped.find((one) => one.kind === "algorithm" && one.name === name)?.reason;
      put(
        standing,
        h("h2", "Its place"),
        h("p", `It has no place in the weighted order${reason ? `: ${reason}` : ""}.`),
      );
      return;
    }
    const near = rank.rows.slice(Math.max(0, at - NEIGHBOURS), at + NEIGHBOURS + 1);
    put(
      standing,
      h("h2", "Its place"),
      h(
        "p",
        `Rank ${rank.rows[at].rank} of ${rank.rows.length} for ${lowerFirst(purposeWords(context))}, score `,
        h("span", { "data-full": full(rank.rows[at].value) }, digits(rank.rows[at].value)),
        ". Its neighbours:",
      ),
      h(
        "ol.neighbours",
        near.map((row) =>
          h(
            "li",
            { value: row.rank },
            row.algorithm === name
              ? h("strong", named(context, name))
              : named(context, row.algorithm, state.address({ name: row.algorithm })),
            ` ${digits(row.value)} `,
            row.algorithm !== name &&
              h("a", { href: state.address({ first: name, second: row.algorithm }, "versus") }, "why"),
          ),
        ),
      ),
    );
  }

  function drawScores(values, name) {
    const row = values.algorithms.indexOf(name);
    if (row < 0) return put(scores);
    const ranked = (column) => values.ranks.filter((own) => own[column] !== null).length;
    return put(
      scores,
      h("h2", "Its scores"),
      scroll(
        "Scores",
        table(
          ["metric", "score", cell({ class: "text" }, "unit"), "rank", "covers"],
          values.columns.map((one, column) => {
            const value = values.values[row][column];
            const rank = values.ranks[row][column];
            return [
              cell({ class: "text wrap" }, columnWords(context, one), " ", idMark(one.id)),
              cell({ "data-full": full(value), class: values.faint[row][column] ? "faint" : null }, digits(value)),
              cell({ class: "text" }, one.unit),
              rank === null ? "–" : `${rank} of ${ranked(column)}`,
              percent(values.coverage[row][column]),
            ];
          }),
          { class: "why narrow" },
        ),
      ),
      italicsNote(values.faint[row]),
    );
  }

  return { refresh, restyle: refresh };
}

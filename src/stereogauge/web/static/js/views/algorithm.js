// An algorithm: what is known of it, its ranks and scores, how it does on every scene, and its neighbours.

import { ask, latest } from "../api.js";
import { stated } from "../choices.js";
import { cell, h, link, put, table, textCell } from "../dom.js";
import { digits, full, listed, percent } from "../format.js";
import { namesOf, purposeWords } from "../scope.js";
import { scoreIn } from "../scores.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { columnWords, idMark, linked, lowerFirst, named } from "../words.js";
import { italicsNote } from "./board.js";
import { drawThumbnails } from "./thumbnails.js";

const NEIGHBOURS = 2;

export function create(root, context) {
  const head = h("div.row");
  const facts = h("div");
  const [standing, scores, scenes] = ["standing", "scores", "glance"].map((id) => h(`section.section#${id}`));
  put(root, head, facts, standing, scores, scenes);
  const main = latest();

  async function refresh() {
    const names = namesOf(context.algorithms);
    const wanted = state.get("name");
    for (const part of [facts, standing, scores, scenes]) put(part);
    const pick = (options, name) => stated("name", "Algorithm", options, name, { id: "algorithm-choice" });
    if (wanted && !names.includes(wanted)) {
      const count = names.length;
      put(head, h("h1.headline", h("bdi", wanted)), pick([["", "choose an algorithm"], ...names], null));
      put(
        facts,
        refused(
          `There is no algorithm called ${wanted} in this data set; choose one of the ${count} that have scores.`,
        ),
      );
      return;
    }
    const whole = context.algorithms.find((other) => !other.gaps.length) ?? context.algorithms[0];
    const name = wanted ?? whole.name;
    put(head, h("h1.headline", named(context, name)), pick(names, name));
    const everybody = { algorithms: null };
    const found = await main((signal) =>
      Promise.all([
        ask("table", state.scope(everybody), { signal }),
        ask("rank", state.weighed({ model: "weighted", ...everybody }), { signal }).catch(() => null),
      ]),
    );
    if (!found) return;
    const [values, rank] = found;
    put(facts, known(context.styles.get(name), values));
    put(standing, h("h2", "Its place"), place(rank, name));
    put(scores, values.algorithms.includes(name) && scoresOf(values, name));
    await drawThumbnails(scenes, context, values.columns, [name]);
  }

  const clickable = (text) => (/^https?:\/\/\S+$/.test(text) ? h("a", { href: text, rel: "noopener" }, text) : text);

  // What the submitter said of it, or its declaration; its run time is the one that its scores hold.
  function known(one, values) {
    const timed = values.columns.find((column) => column.metric === "seconds");
    const seconds = timed ? scoreIn(values, one.name, timed.id).value : one.seconds;
    const rows = [
      ["about", one.description],
      ["link", one.link],
      ...Object.entries(one.metadata ?? {}).map(([key, value]) => [key.replace(/_/g, " "), value]),
      ...Object.entries(one.tags ?? {}).map(([key, value]) => [key, value.join(", ")]),
      ["run time", seconds !== null && `${digits(seconds)} s per pair`],
      ["no scores on", one.gaps?.length ? listed(one.gaps, 6) : null],
    ];
    const shown = rows.filter(([, value]) => value);
    return h(
      "dl.facts",
      shown.map(([key, value]) => [h("dt", key), h("dd", clickable(value))]),
    );
  }

  function place(rank, name) {
    const at = rank?.rows.findIndex((row) => row.algorithm === name) ?? -1;
    if (at < 0) {
      const reason = rank?.dropped.find((one) => one.kind === "algorithm" && one.name === name)?.reason;
      return h("p", `It has no place in the weighted order${reason ? `: ${reason}` : ""}.`);
    }
    const neighbour = (row) => {
      const own = row.algorithm === name;
      const why = state.address({ first: name, second: row.algorithm }, "versus");
      const shown = own ? h("strong", named(context, name)) : linked(context, row.algorithm);
      return h("li", { value: row.rank }, shown, ` ${digits(row.value)} `, !own && link(why, "why"));
    };
    return [
      h(
        "p",
        `Rank ${rank.rows[at].rank} of ${rank.rows.length} (purpose: ${lowerFirst(purposeWords(context))}), score `,
        h("span", { "data-full": full(rank.rows[at].value) }, digits(rank.rows[at].value)),
        ". Its neighbours:",
      ),
      h("ol.neighbours", rank.rows.slice(Math.max(0, at - NEIGHBOURS), at + NEIGHBOURS + 1).map(neighbour)),
    ];
  }

  const scoresOf = (values, name) => [
    h("h2", "Its scores"),
    table(
      ["metric", "score", textCell("unit"), "rank", "covers"],
      values.columns.map((one) => {
        const { value, rank, ranked, faint, coverage } = scoreIn(values, name, one.id);
        return [
          cell({ class: "text wrap" }, columnWords(context, one), " ", idMark(one.id)),
          cell({ "data-full": full(value), class: faint ? "faint" : null }, digits(value)),
          textCell(one.unit),
          rank === null ? "–" : `${rank} of ${ranked}`,
          percent(coverage),
        ];
      }),
      { class: "why narrow", label: "Scores" },
    ),
    italicsNote(values.faint[values.algorithms.indexOf(name)]),
  ];

  return { refresh };
}

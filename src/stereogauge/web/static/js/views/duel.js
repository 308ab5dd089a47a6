// Head to head: two algorithms in one column, scene by scene.

import { ask, latest } from "../api.js";
import { choose, h, put } from "../dom.js";
import { digits, drawable, full, number, pValue } from "../format.js";
import { chosen, chosenColumns } from "../selection.js";
import * as state from "../state.js";
import { shown } from "../theme.js";
import { columnOption } from "../words.js";

/** Asks and draws the comparison of the chosen pair; `order()` lists the algorithms, best first, where it is known. */
export function createHeadToHead(root, context, order) {
  const pair = latest();
  const mine = (name) => context.styles.get(name)?.own === true;

  function pairChoice() {
    const names = chosen(
      "algorithms",
      context.algorithms.map((one) => one.name),
    );
    const ordered = order() ?? names;
    const best = [...ordered.filter(mine), ...ordered.filter((name) => !mine(name))];
    const first = names.includes(state.get("first")) ? state.get("first") : best[0];
    const second = names.includes(state.get("second")) ? state.get("second") : best.find((name) => name !== first);
    const columns = chosenColumns(context);
    return {
      names,
      first,
      second,
      columns,
      column: columns.find((one) => one.id === state.get("duel"))?.id ?? columns[0]?.id,
    };
  }

  function askPair() {
    const { first, second, column } = pairChoice();
    if (!second || !column) return null;
    const params = state.selection();
    params.set("first", first);
    params.set("second", second);
    params.set("column", column);
    return pair((signal) => ask("significance", params, { signal }));
  }

  function draw(answer) {
    if (!answer?.pair) return put(root, h("p", { class: "hint" }, "Head to head needs two algorithms."));
    const { names, columns } = pairChoice();
    const one = answer.pair;
    const largest = Math.max(...one.scenes.map((row) => Math.abs(drawable(row.difference) ?? 0)), 1e-12);
    const colour = (name) => shown(context.styles.get(name)?.colour ?? "#888888");
    const ahead = one.probability === null || one.probability >= 0.5;
    const [winner, loser] = ahead ? [one.first, one.second] : [one.second, one.first];
    const probability = ahead ? one.probability : 1 - one.probability;
    const verdict =
      one.probability === null
        ? one.note
        : `${winner} beats ${loser} on ${one.column} with probability ${probability.toFixed(2)} over such scenes`;
    const [won, lost] = ahead ? [one.wins, one.losses] : [one.losses, one.wins];
    return put(
      root,
      h(
        "div",
        { class: "row" },
        h("h2", {}, "Head to head"),
        choose(names, one.first, (value) => state.update({ first: value }), {
          "aria-label": "First algorithm",
          id: "duel-first",
        }),
        "against",
        choose(names, one.second, (value) => state.update({ second: value }), {
          "aria-label": "Second algorithm",
          id: "duel-second",
        }),
        "in",
        choose(
          columns.map((column) => columnOption(context, column)),
          one.column,
          (value) => state.update({ duel: value }),
          { "aria-label": "Column" },
        ),
      ),
      h(
        "p",
        { class: "verdict", id: "verdict" },
        verdict,
        one.p_value !== null &&
          h("span", { class: "hint" }, `  ·  ${won} won, ${lost} lost · Wilcoxon ${pValue(one.p_value)}`),
      ),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" },
        h(
          "table",
          { class: "duel" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { class: "text", scope: "col" }, "scene"),
              h("th", { scope: "col" }, one.first, h("span", { class: "unit" }, one.unit)),
              h("th", { scope: "col" }, one.second, h("span", { class: "unit" }, one.unit)),
              h("th", { scope: "col" }, "difference"),
              h("th", { class: "text", scope: "col" }, "better"),
            ),
          ),
          h(
            "tbody",
            {},
            one.scenes.map((row) => {
              const difference = number(row.difference);
              const share = difference === null ? 0 : Math.min(1, Math.abs(difference) / largest);
              const winner = difference === null || difference === 0 ? null : difference < 0 ? one.first : one.second;
              const style = winner && {
                width: `${50 * share}%`,
                [difference < 0 ? "right" : "left"]: "50%",
                background: colour(winner),
              };
              return h(
                "tr",
                {},
                h(
                  "td",
                  { class: "text" },
                  h(
                    "a",
                    {
                      href: state.address(
                        {
                          scene: row.scene,
                          column: one.column,
                          pane: [`error~${encodeURIComponent(one.first)}`, `error~${encodeURIComponent(one.second)}`],
                        },
                        "scene",
                      ),
                    },
                    row.scene,
                  ),
                ),
                h("td", { title: full(row.first) }, digits(row.first)),
                h("td", { title: full(row.second) }, digits(row.second)),
                h("td", { title: full(row.difference) }, digits(row.difference)),
                h(
                  "td",
                  { class: "contest text" },
                  h("div", { class: "axis" }, winner && h("i", { style })),
                  h("span", { class: "unseen" }, winner ?? "equal, or a score is missing"),
                ),
              );
            }),
          ),
        ),
      ),
    );
  }

  return { ask: askPair, draw };
}

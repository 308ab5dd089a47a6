// Why one algorithm is above another: the terms of the difference as bars that sum to it, grouped by the property that
// they measure. A slider in each row moves its weight, and the bars follow.

import { ask } from "../api.js";
import { button, cell, h, link, put, table, textCell } from "../dom.js";
import { digits, full, percent, plural } from "../format.js";
import { onWeights } from "../reweighted.js";
import { chosen, chosenColumns } from "../scope.js";
import { scoreIn } from "../scores.js";
import * as state from "../state.js";
import { grouped, refocused, weightControl } from "../weights.js";
import { badge, colourOf, named, regionWords, spoken, termWords } from "../words.js";

const turned = new Set(); // properties and terms that the visitor expanded, or collapsed where all are expanded

/** A bar around a middle line: to the left it speaks for the first algorithm. Returns the cell and what redraws it. */
export function bar(context, { first, second }) {
  const piece = h("i");
  const said = h("span.unseen");
  const axis = h("div.axis", piece);
  const draw = (amount, largest, none = "no difference") => {
    const share = largest > 0 ? (50 * Math.abs(amount)) / largest : 0;
    const winner = amount < 0 ? first : second;
    Object.assign(piece.style, {
      width: `${share}%`,
      left: amount < 0 ? "auto" : "50%",
      right: amount < 0 ? "50%" : "auto",
      background: colourOf(context, winner),
    });
    said.textContent = amount === 0 ? none : `${digits(Math.abs(amount))} for ${winner}`;
    axis.title = said.textContent;
  };
  return { content: cell({ class: "contest text" }, axis, said), draw };
}

/** Which side of the middle speaks for whom. */
const sides = ({ first, second }, words) => [
  h("span.side-name", "◂ ", words(first)),
  h("span.side-name", words(second), " ▸"),
];

/** Parts of the difference by name: scenes or regions. */
export function piecesTable(context, explanation, title, pieces, address = () => null) {
  const shown = pieces.filter((one) => one.amount !== 0 || one.attributed);
  const largest = Math.max(...shown.map((one) => Math.abs(one.amount)), 0);
  const names = sides(explanation, (name) => named(context, name));
  return table(
    [title, "share", cell({ class: "text contest" }, names)],
    shown
      .sort((a, b) => a.amount - b.amount)
      .map((one) => {
        const own = bar(context, explanation);
        own.draw(one.amount, largest);
        const href = address(one.name);
        return [
          cell({ class: "text wrap" }, href ? link(href, one.name) : one.name),
          explanation.difference ? percent(one.amount / explanation.difference) : "–",
          own.content,
        ];
      }),
    { class: "duel why", label: `Difference by ${title}` },
  );
}

/** The score of an algorithm in a column as the leaderboard has it; `reason` says why it has none, or is not ranked. */
function measured(scores, { id }, algorithm) {
  const { value, gaps, faint } = scoreIn(scores, algorithm, id);
  if (value === null) return { value, reason: gaps ? `no score on ${plural(gaps, "scene")}` : "no score" };
  return { value, reason: faint ? "too incomplete" : "" };
}

/**
 * The rows of a term: what it counts with, and below that its scores on the leaderboard where these are others, since
 * the term has several regions or missing pixels are charged.
 */
function termRows(context, scores, { first, second }, term, { fold, weight, content }) {
  const columns = chosenColumns(context).filter((one) => one.id === term.term || one.metric === term.term);
  const unit = columns[0]?.unit ?? "";
  const value = (one) => (one === null ? "–" : `${digits(one)} ${unit}`);
  const shown = columns.map((column) => ({
    column,
    both: [first, second].map((name) => measured(scores, column, name)),
  }));
  const counted = [term.first, term.second];
  const words = termWords(context, term.term);
  const plain = ({ both }) => both.every((one, at) => !one.reason && digits(one.value) === digits(counted[at]));
  const several = columns.length > 1;
  const score = (column, one) =>
    cell(
      { class: one.reason ? "faint" : null, "data-value": full(one.value), "data-column": column.id },
      one.value !== null && value(one.value),
      one.reason && ` ${one.reason}`,
    );
  const below = shown.length === 1 && plain(shown[0]) ? [] : shown;
  return [
    {
      class: "term",
      "data-within": term.property,
      "data-term": term.term,
      "data-amount": term.amount,
      cells: [
        cell({ class: "text wrap" }, below.length > 0 ? fold(term.term, words) : words, h("span.id", ` ${term.term}`)),
        textCell(weight),
        ...counted.map((one) => cell({ "data-counted": full(one) }, value(one))),
        content,
      ],
    },
    ...below.map(({ column, both }) => ({
      class: "term measured",
      "data-within": `${term.property}\n${term.term}`,
      cells: [
        cell({ class: "text wrap" }, several ? regionWords(context, column.region) : "as measured"),
        "",
        ...both.map((one) => score(column, one)),
        "",
      ],
    })),
  ];
}

/** The scores behind the terms, over the scenes that were compared. */
export async function scoresOver(context, scenes) {
  const all = scenes.length >= chosen("scenes", context.scenes).length;
  return { ...(await ask("table", state.scope(all ? {} : { scenes }))), over: scenes.length };
}

/** Draws explanations into an element; `leave` ends the following of weights. */
export function createReasons(element, context) {
  let follow = null; // redraws the bars under other weights

  function draw(explanation, scores, { decided = true, more = null, title = null, expand = false }) {
    const { first, second, terms } = explanation;
    const groups = grouped(terms);
    const control = weightControl(context, Object.fromEntries(terms.map((one) => [one.term, one.weight])));
    const bars = [];
    const sums = [];
    const total = h("span");
    const follows = (names) => {
      const own = bar(context, explanation);
      bars.push({ names, draw: own.draw });
      return own.content;
    };
    /** What some terms add to the score of each algorithm. */
    const adds = (names, own = () => null) =>
      ["first_contribution", "second_contribution"].map((key, at) => {
        const text = h("span");
        sums.push({ names, text, key });
        return cell(own(at), text);
      });
    const unfolded = (key) => turned.has(key) !== (expand || (groups.length === 1 && key === groups[0][0]));
    const foldRows = () => {
      for (const row of element.querySelectorAll("tr[data-within]"))
        row.hidden = !row.dataset.within.split("\n").every(unfolded);
    };
    /** A button that shows and hides the rows below a property or a term. */
    const fold = (key, words) => {
      const mark = h("span.fold");
      const draw = () => {
        mark.textContent = unfolded(key) ? "▾ " : "▸ ";
        own.setAttribute("aria-expanded", String(unfolded(key)));
      };
      const own = button(
        [mark, words],
        () => {
          turned.has(key) ? turned.delete(key) : turned.add(key);
          draw();
          foldRows();
        },
        { class: "quiet group" },
      );
      draw();
      return own;
    };
    const rows = groups.flatMap(([property, members]) => {
      const names = members.map((one) => one.term);
      const head = {
        class: "property",
        "data-property": property,
        "data-amount": members.reduce((sum, one) => sum + one.amount, 0),
        cells: [
          textCell(fold(property, property), groups.length > 1 && control.only(names, property)),
          textCell(control.slider(names, property, property)),
          ...adds(names),
          follows(names),
        ],
      };
      const inner = members.flatMap((one) =>
        termRows(context, scores, explanation, one, {
          fold,
          weight: control.slider([one.term], one.term, termWords(context, one.term)),
          content: follows([one.term]),
        }),
      );
      return [head, ...inner];
    });
    const everything = terms.map((one) => one.term);
    const foot = [
      "total score",
      "",
      ...adds(everything, (at) => ({ "data-score": full(explanation.scores[at]) })),
      textCell(total),
    ];

    // The score is linear in the weights: what a term adds is its weight times its mean.
    follow = (weights) => {
      const whole = terms.reduce((sum, one) => sum + (weights?.[one.term] ?? 0), 0);
      const scaled = terms.map((one) => {
        const factor = weights && whole > 0 && one.weight > 0 ? weights[one.term] / whole / one.weight : 1;
        const part = (key) => [key, one[key] * factor];
        return [one.term, Object.fromEntries(["amount", "first_contribution", "second_contribution"].map(part))];
      });
      const now = Object.fromEntries(scaled);
      const sum = (names, key) => names.reduce((all, name) => all + now[name][key], 0);
      const sizes = bars.map((one) => sum(one.names, "amount"));
      const largest = Math.max(...sizes.map(Math.abs), 0);
      bars.forEach((one, at) => {
        one.draw(sizes[at], largest);
      });
      for (const { names, text, key } of sums) text.textContent = digits(sum(names, key));
      const difference = sum(everything, "amount");
      put(
        total,
        difference === 0
          ? "no difference"
          : [digits(Math.abs(difference)), " for ", named(context, difference < 0 ? first : second)],
      );
    };
    const said = explanation.said.slice(decided || !explanation.better ? 0 : 1);
    const better = sides(explanation, (name) => [badge(context.styles.get(name)), "better"]);
    const [begin, between] = decided ? ["Why ", " above "] : ["What separates ", " and "];
    const content = [
      h("h2", title ?? [begin, named(context, first), between, named(context, second)]),
      table(
        [
          "what counts",
          textCell("weight"),
          cell({}, named(context, first)),
          cell({}, named(context, second)),
          cell({ class: "text contest" }, better),
        ],
        rows,
        { class: "duel why terms", foot, label: "Reasons" },
      ),
      h(
        "p.caption",
        "Beside a property: what it adds to the total score. A term counts with its average over scenes and regions, ",
        "missing pixels charged; below it are its scores as on the leaderboard, ",
        `over ${plural(scores.over, "scene")}, in `,
        h("i", "italics"),
        " where they are not ranked.",
      ),
      h(
        "p#in-words",
        said.map((one) => [spoken(context, one.parts), " "]),
      ),
      more &&
        h(
          "p.links",
          link(more, "by scene and region"),
          link(state.address({ first, second, duel: null }, "compare"), "significance test"),
        ),
    ];
    refocused(element, () => put(element, content));
    foldRows();
    follow(null);
  }

  const leave = onWeights((weights) => follow?.(weights));
  const clear = () => {
    follow = null;
    put(element);
  };
  return { draw, clear, leave };
}

// A weighted order under other weights. The score is linear in them, so it is computed here, while a slider moves.

import { drawing } from "./drawing.js";

const listeners = new Set();

/**
 * Call `listener(weights)` whenever a slider moves, `listener(null)` when it rests where it was before; returns a
 * function that ends it.
 */
export function onWeights(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let waiting = null;
let asked = false;

/** Tell the views about new weights, at most once per frame. */
export function announce(weights) {
  waiting = weights;
  if (asked) return;
  asked = true;
  drawing(new Promise(requestAnimationFrame)).then(() => {
    asked = false;
    for (const listener of listeners) listener(waiting);
  });
}

/** Whether a term was asked for and has no score here: its weight is shared among the others. */
const unmeasured = (answer, term) =>
  !answer.terms.includes(term) && (!answer.options.weights || answer.options.weights[term] > 0);

/**
 * The answer of `rank` by weights under other weights of its terms; null where a term with scores was not part of it.
 * A term's mean is its contribution divided by its weight.
 */
export function reweighted(answer, weights) {
  const chosen = answer.terms.map((term) => weights[term] ?? 0);
  const total = chosen.reduce((sum, one) => sum + one, 0);
  const unknown = Object.entries(weights).some(
    ([term, weight]) => weight > 0 && !answer.terms.includes(term) && !unmeasured(answer, term),
  );
  if (!(total > 0) || unknown) return null;
  const used = chosen.map((one) => one / total);
  const rows = answer.rows.map((row, index) => {
    const contributions = answer.contributions[index].map((one, term) => (one / answer.weights[term]) * used[term]);
    return { row, contributions, value: contributions.reduce((sum, one) => sum + one, 0) };
  });
  rows.sort((a, b) => a.value - b.value || a.row.place - b.row.place);
  let rank = 1;
  return {
    ...answer,
    weights: used,
    rows: rows.map(({ row, value }, index) => {
      if (index && rows[index - 1].value < value) rank = index + 1;
      return { ...row, value, was: row.rank, rank };
    }),
    contributions: rows.map((one) => one.contributions),
  };
}

// Weights that follow the finger: the shares of terms, and of groups of them, as sliders that keep the sum.

import { button, h } from "./dom.js";
import { calm } from "./drawing.js";
import { announce } from "./reweighted.js";
import { weights } from "./scope.js";
import * as state from "./state.js";

/** The terms that the address states without weight: an order does not have them, and their sliders stay. */
export const weightless = (context, terms) =>
  Object.entries(weights(context)).flatMap(([name, weight]) => (weight === 0 && !terms.includes(name) ? [name] : []));

/**
 * Sliders of the weights in force, by term, and of groups of terms; the pages place them where they belong. What the
 * server used counts, not what a profile states: the weight of a term that is not measured went to others.
 */
export function weightControl(context, used) {
  const terms = [...Object.keys(used), ...weightless(context, Object.keys(used))];
  const sum = (names, from) => names.reduce((total, name) => total + from[name], 0);
  const weighing = (weight) => Object.fromEntries(terms.map((name) => [name, weight(name)]));
  const scaled = (from) => {
    const total = sum(terms, from);
    return weighing((name) => (total > 0 ? from[name] / total : 1 / terms.length));
  };
  let now = scaled(weighing((name) => used[name] ?? 0));
  let before = now; // ratios are those at the start of a drag, so that a share of 0 or 100 % can be undone
  const shown = [];
  let held = false; // a pointer holds a slider: what it replaces must not vanish under it
  let moved = false;
  const follow = calm(() => {
    if (held || !moved) return;
    moved = false;
    before = now;
    state.update(write(now), { quietly: true }) || announce(null);
  }, 200);
  const write = (values) => ({ weights: state.written(values), profile: null, requirements: null });

  function move(names, share) {
    const others = terms.filter((name) => !names.includes(name));
    const [own, rest] = [sum(names, before), sum(others, before)];
    const part = (name, group, whole, total) => (whole > 0 ? before[name] / whole : 1 / group.length) * total;
    now = weighing((name) =>
      names.includes(name) ? part(name, names, own, others.length ? share : 1) : part(name, others, rest, 1 - share),
    );
    for (const draw of shown) draw();
    announce({ ...now });
    moved = true;
    follow();
  }

  /** A slider of the share of some terms; `key` names it. */
  function slider(names, key, words) {
    const input = h("input", {
      type: "range",
      min: 0,
      max: 100,
      step: 1,
      "data-weight": key,
      "aria-label": `Weight of ${words}`,
      onpointerdown: () => {
        held = true;
      },
      onchange: () => {
        held = false;
        if (moved) follow();
      },
      oninput: () => move(names, Number(input.value) / 100),
    });
    const output = h("output");
    const draw = () => {
      const share = sum(names, now);
      if (document.activeElement !== input) input.value = Math.round(100 * share);
      output.textContent = `${Math.round(100 * share)} %`;
    };
    draw();
    shown.push(draw);
    return h("span.weight", input, output);
  }

  /** A button that leaves weight to some terms only. */
  function only(names, words) {
    const alone = () => weighing((term) => (names.includes(term) ? now[term] || 1 : 0));
    const choose = () => state.update(write(scaled(alone())));
    return button("only", choose, { class: "only", "data-only": words, "aria-label": `${words} only` });
  }

  return { slider, only };
}

/** Terms by the property that they measure, in the order of their first terms. */
export const grouped = (terms, property = (one) => one.property) => [...Map.groupBy(terms, property)];

/** Draw something again that holds sliders; the one with the focus keeps it. */
export function refocused(root, draw) {
  const key = root.contains(document.activeElement) ? document.activeElement.dataset.weight : null;
  draw();
  if (key) root.querySelector(`[data-weight="${CSS.escape(key)}"]`)?.focus();
}

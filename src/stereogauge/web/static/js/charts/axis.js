// An axis of a chart: from values to pixels, with ticks at round numbers or at names.

import { digits } from "../format.js";

const MARGIN = 0.04; // of the range, beside markers
const STEPS = [1, 2, 5, 10];

/** Round numbers between two others, about `count` of them, and their texts. */
function roundTicks(low, high, count, format) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * STEPS.find((one) => one * power >= rough * (1 - 1e-9));
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const text = (value) => {
    if (format?.endsWith("%")) return `${Number((100 * value).toFixed(6))} %`;
    return Math.abs(value) >= 1e5 || decimals > 4 ? digits(value) : value.toFixed(decimals).replace("-", "−");
  };
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => {
    const value = (first + at) * step;
    return { value, text: text(value) };
  });
}

/** The range of numbers that an axis shows by itself. */
function ownRange(values, { zero, pad }) {
  const known = values.filter(Number.isFinite);
  let [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  if (zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (low === high) return [low - 0.5, high + 0.5];
  const room = pad ? MARGIN * (high - low) : 0;
  return [zero && low === 0 ? 0 : low - room, high + (zero && high === 0 ? 0 : room || 0.02 * (high - low))];
}

/**
 * An axis as Plotly's layout describes it (`range`, `autorange`, `tickvals`, `ticktext`, `tickformat`), for the values
 * that stand on it. Names stand one step apart. `fit(from, to, gap)` gives the function from values to pixels and the
 * ticks, at least `gap` px apart.
 */
export function axisOf(spec, values, { zero = false, pad = true, zoom = null } = {}) {
  const names = values.some((value) => typeof value === "string") ? [...new Set(values)] : null;
  const number = (value) => (names ? names.indexOf(value) : value);
  const range =
    zoom ??
    (names
      ? [-0.5, names.length - 0.5]
      : (spec.range ?? ownRange(values, { zero: zero || spec.rangemode === "tozero", pad })));
  const [start, end] = spec.autorange === "reversed" && !spec.range ? [range[1], range[0]] : range;

  function fit(from, to, gap) {
    const at = (value) => from + ((value - start) / (end - start)) * (to - from);
    const stated = names ? names.map((text, value) => ({ value, text })) : null;
    const given = spec.tickvals?.map((value, at) => ({ value, text: spec.ticktext?.[at] ?? digits(value) }));
    const low = Math.min(start, end);
    const high = Math.max(start, end);
    const ticks = (given ?? stated ?? roundTicks(low, high, Math.abs(to - from) / gap, spec.tickformat)).filter(
      ({ value }) => value >= low && value <= high,
    );
    return {
      at,
      number,
      place: (value) => at(number(value)),
      ticks: ticks.map((tick) => ({ ...tick, at: at(tick.value) })),
      value: (pixel) => start + ((pixel - from) / (to - from)) * (end - start),
    };
  }

  return { fit };
}

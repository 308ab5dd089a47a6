// Numbers as they are printed: three significant digits, a dash for a gap.

/** A number as the API sends it: infinities are texts, since JSON has no number for them. */
export const number = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);

/** The number where it can be drawn, else null. */
export const drawable = (value) => (Number.isFinite(value) ? value : null);

/** Three significant digits, more before the point: the rule of `stereogauge.text`. */
export function digits(given) {
  const value = number(given);
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const rounded = Math.abs(Number(value.toPrecision(3)));
  if (rounded !== 0 && (rounded >= 1e5 || rounded < 1e-3)) return value.toExponential(2).replace("e+", "e");
  const decimals = rounded === 0 ? 2 : 2 - Math.floor(Math.log10(rounded));
  return value.toFixed(Math.max(0, Math.min(decimals, 5)));
}

/** A p-value; one that is rounded to nothing is still not 0. */
export const pValue = (value) => (value !== null && value < 1e-4 ? "p < 0.0001" : `p = ${digits(value)}`);

/** Every digit that was sent. */
export const full = (value) => (value === null || value === undefined ? "no value" : String(value));

/** A share as a percentage; nothing at all and everything need no decimals. */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  return share === 0 || share === 1 ? `${100 * share} %` : `${digits(100 * share)} %`;
}

/** The share of draws in which something is so, as whole per cent; what is rare is not called impossible. */
export function chance(share) {
  if (share === null || share === undefined) return "–";
  if (share > 0 && share < 0.01) return "< 1 %";
  return share < 1 && share > 0.99 ? "> 99 %" : `${Math.round(100 * share)} %`;
}

/** A whole number with thin spaces between thousands. */
export const whole = (value) =>
  Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, " ");

/** A number as a subscript: A*₁. */
export const subscript = (value) => String(value).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);

/** Names in a sentence, at most a few of them. */
export function listed(names, most = 4) {
  return names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

/** A count with its noun. */
export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

// Numbers as they are printed: three significant digits, a dash for a gap.

/** Three significant digits; whole numbers from 100 on. */
export function digits(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace("e+", "e");
  if (size >= 100) return value.toFixed(0);
  return value.toPrecision(3);
}

/** Every digit that was sent. */
export const full = (value) => (value === null || value === undefined ? "no value" : String(value));

/** A share as a percentage. */
export const percent = (share) => (share === null || share === undefined ? "–" : `${digits(100 * share)} %`);

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

// Light and dark, and colours that must be seen on both.

const root = document.documentElement;

export const isDark = () => root.dataset.theme === "dark";

/** What this browser remembers under a name, or remembers from now on; nothing where it keeps nothing. */
export function remembered(name, value) {
  try {
    if (value) localStorage.setItem(`stereogauge-${name}`, value);
    return localStorage.getItem(`stereogauge-${name}`);
  } catch {
    return null;
  }
}

/** Take the visitor's choice, or the system's; the window hears "theme" when it changes. */
export function startTheme(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (name) => {
    root.dataset.theme = name;
    dispatchEvent(new Event("theme"));
  };
  const follow = () => apply(remembered("theme") ?? (system.matches ? "dark" : "light"));
  follow();
  system.addEventListener("change", follow);
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    remembered("theme", next);
    apply(next);
  });
}

/** A CSS variable of the present theme. */
export const ink = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

const DIMMEST = 120;

const partsOf = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** A colour such as #0072B2 mixed with a share of white. */
export const lightened = (colour, white) =>
  `rgb(${partsOf(colour)
    .map((part) => Math.round(part + (255 - part) * white))
    .join()})`;

/**
 * An algorithm's colour; what would vanish on dark paper is mixed with white until it shows, black becomes light grey.
 */
export function shown(colour) {
  if (!isDark() || !/^#[0-9a-f]{6}$/i.test(colour)) return colour;
  const [red, green, blue] = partsOf(colour);
  const light = 0.299 * red + 0.587 * green + 0.114 * blue;
  if (light >= DIMMEST) return colour;
  return lightened(colour, light < 20 ? 0.85 : (DIMMEST - light) / (255 - light));
}

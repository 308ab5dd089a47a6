// Light and dark, and colours that must be seen on both.

const root = document.documentElement;
const listeners = new Set();

export const isDark = () => root.dataset.theme === "dark";
export const onTheme = (listener) => listeners.add(listener);

/** Take the visitor's choice, or the system's. */
export function startTheme(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (name) => {
    root.dataset.theme = name;
    for (const listener of listeners) listener();
  };
  const stored = () => localStorage.getItem("stereogauge-theme");
  apply(stored() ?? (system.matches ? "dark" : "light"));
  system.addEventListener("change", () => stored() ?? apply(system.matches ? "dark" : "light"));
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    localStorage.setItem("stereogauge-theme", next);
    apply(next);
  });
}

/** A CSS variable of the present theme. */
export const ink = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

/** An algorithm's colour; black turns to light grey on dark paper. */
export const shown = (colour) => (isDark() && /^#0{6}$/.test(colour) ? "#d8dce0" : colour);

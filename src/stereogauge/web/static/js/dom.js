// Elements from plain values. Text always becomes a text node, so that a name with markup is shown as it is written.

import { digits, full, plural } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

const shown = (children) =>
  children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

function fill(element, given) {
  const properties = given[0]?.constructor === Object ? given[0] : null;
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, part] of Object.entries(value)) element.style.setProperty(key, part);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...shown(properties ? given.slice(1) : given));
  return element;
}

/**
 * An HTML element from its tag with classes and id ("p.hint#about"), attributes and listeners ({ onclick: … }), which
 * may be left out, and children.
 */
export function h(name, ...given) {
  const [, tag, classes, id] = name.match(/^([a-z0-9]+)((?:\.[\w-]+)*)(?:#([\w-]+))?$/);
  const element = document.createElement(tag);
  if (classes) element.className = classes.slice(1).replaceAll(".", " ");
  if (id) element.id = id;
  return fill(element, given);
}

/** An SVG element. */
export const s = (tag, ...given) => fill(document.createElementNS(SVG, tag), given);

/** Put these children in place of what an element holds. */
export function put(element, ...children) {
  element.replaceChildren(...shown(children));
  return element;
}

/** A drop-down list; options are names or [value, text]. */
export function choose(label, options, value, onchange, properties = {}) {
  const list = h(
    "select",
    { "aria-label": label, ...properties, onchange: (event) => onchange(event.target.value) },
    options.map((option) => {
      const [key, text] = [option, option].flat();
      return h("option", { value: key }, text);
    }),
  );
  list.value = value ?? "";
  return list;
}

/** A part of the page that scrolls by itself, reachable by keyboard. */
export const scroll = (label, ...content) =>
  h("div.scroll", { tabindex: 0, role: "region", "aria-label": label }, content);

const cellOf = (tag, properties, content) => {
  const [children, own] = Array.isArray(content) && content.own ? [content.slice(), content.own] : [content, {}];
  return h(tag, { ...properties, ...own }, children);
};

/** The content of a cell with properties of its own: `cell({ class: "text" }, "words")`. */
export const cell = (own, ...children) => Object.assign(children, { own });

/** A cell of words, which begins at the left. */
export const textCell = (...children) => cell({ class: "text" }, children);

/** A cell of the head with what is small below its text. */
export const headed = (text, unit, own = {}) => cell(own, text, h("span.unit", unit));

/**
 * A table from cells, which are contents or made by `cell`. A row is a list of them, or { cells, ...properties }; its
 * first cell is words unless it says otherwise, and so is that of the head. A table with a `label` scrolls by itself.
 */
export function table(head, rows, { foot = null, label = null, ...properties } = {}) {
  const row = (tag) => (one) => {
    const { cells, ...own } = Array.isArray(one) && !one.own ? { cells: one } : one;
    const fixed = tag === "th" ? { scope: "col" } : {};
    return h(
      "tr",
      own,
      cells
        .filter((content) => content !== false)
        .map((content, at) => cellOf(tag, { ...fixed, class: at ? null : "text" }, content)),
    );
  };
  const made = h(
    "table",
    properties,
    h("thead", row("th")(head)),
    h("tbody", rows.filter(Boolean).map(row("td"))),
    foot && h("tfoot", row("td")(foot)),
  );
  return label ? scroll(label, made) : made;
}

/** A note that says how many columns of a table that scrolls are out of view to the right; returns what renews it. */
export function hintOfMore(scroller, note, noun) {
  const show = () => {
    const edge = scroller.getBoundingClientRect().right - 4;
    const heads = [...scroller.querySelectorAll("thead tr:last-child th")];
    const out = heads.filter((one) => one.getBoundingClientRect().right > edge).length;
    const hidden = scroller.scrollWidth - scroller.clientWidth - scroller.scrollLeft > 4;
    scroller.classList.toggle("more", hidden);
    note.hidden = !hidden || !out;
    note.textContent = `${plural(out, `more ${noun}`)} to the right: scroll the table, or choose fewer in the bar →`;
  };
  scroller.addEventListener("scroll", show, { passive: true });
  new ResizeObserver(show).observe(scroller);
  return show;
}

/** A link. */
export const link = (href, ...content) => h("a", { href }, content);

/** A number in a cell: its digits, and all of them where the pointer rests. */
export const figureCell = (value, own = {}) => cell({ title: full(value), ...own }, digits(value));

/** A control with its label. */
export const field = (title, control) => h("label.field", h("span", title), control);

/** A button. */
export const button = (text, onclick, properties = {}) => h("button", { type: "button", onclick, ...properties }, text);

/** Say something to screen readers. */
export function say(text) {
  document.getElementById("live").textContent = text;
}

/** Offer a text as a file. */
export function save(name, text, kind) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: kind })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A small button that says what something is; `tell(button)` does. It may be part of a label. */
export function aboutButton(tell, label) {
  const onclick = (event) => {
    event.preventDefault();
    tell(event.currentTarget);
  };
  return button("i", onclick, { class: "about", "aria-label": label });
}

/** Put a box below an element, or above it where there is no room; `from` is where the box measures its place from. */
export function placeBeside(box, anchor, from = { x: 0, y: 0 }) {
  const { left, top, bottom } = anchor.getBoundingClientRect();
  const below = bottom + 6 + box.offsetHeight < innerHeight;
  const x = Math.max(8, Math.min(left, document.documentElement.clientWidth - box.offsetWidth - 12));
  const y = below ? bottom + 6 : Math.max(8, top - box.offsetHeight - 6);
  Object.assign(box.style, { left: `${x + from.x}px`, top: `${y + from.y}px` });
}

// Elements from plain values. Text always becomes a text node, so that a name with markup is shown as it is written.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, part] of Object.entries(value)) element.style.setProperty(key, part);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** An HTML element with attributes, listeners (onclick: …) and children. */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** An SVG element. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

/** Put these children in place of what an element holds. */
export function put(element, ...children) {
  element.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** A drop-down list; options are names or [value, text]. */
export function choose(options, value, onchange, properties = {}) {
  const list = h(
    "select",
    { ...properties, onchange: (event) => onchange(event.target.value) },
    options.map((option) => {
      const [key, text] = Array.isArray(option) ? option : [option, option];
      return h("option", { value: key }, text);
    }),
  );
  list.value = value ?? "";
  return list;
}

/** A control with its label. */
export const field = (title, control) => h("div", { class: "field" }, h("label", {}, title), control);

/** A function that runs once, `pause` ms after its last call. */
export function calm(action, pause) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), pause);
  };
}

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

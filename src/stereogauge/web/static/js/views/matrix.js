// A number between every two columns, as a table of coloured cells: it is there at once, where a figure takes seconds.

import { h, put } from "../dom.js";

const MOST_NUMBERS = 30;
const MOST_NAMES = 60;

const channels = (colour) =>
  colour.match(/^#/) ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.match(/\d+/g).map(Number);

/** The colour of a share on a scale of [share, colour], and an ink that is read on it. */
function shade(scale, share) {
  const at = Math.max(
    1,
    scale.findIndex(([end]) => end >= share),
  );
  const [[from, low], [to, high]] = [scale[at - 1], scale[at]];
  const part = (share - from) / (to - from);
  const [below, above] = [channels(low), channels(high)];
  const mixed = below.map((value, index) => Math.round(value + part * (above[index] - value)));
  const [red, green, blue] = mixed.map((value) => (value / 255) ** 2.2);
  // Relative luminance; at 0.18 black and white are read equally well, with a contrast of 4.6.
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return { background: `rgb(${mixed.join()})`, color: light > 0.18 ? "#000" : "#fff" };
}

/**
 * Draw values from 0 to 1 between names, in colours of a scale [[share, colour], …]; `chosen(row, column)` is called
 * for a cell that is clicked.
 */
export function drawMatrix(element, { title, names, values, scale }, chosen) {
  const named = names.length <= MOST_NAMES;
  const numbered = names.length <= MOST_NUMBERS;
  const cell = (value, row, column) =>
    h(
      "td",
      {
        title: `${names[row]} and ${names[column]}: ${value === null ? "too few points" : value.toFixed(3)}`,
        style: value === null ? {} : shade(scale, value),
        "data-cell": `${row},${column}`,
      },
      numbered && (value === null ? "–" : value.toFixed(2)),
    );
  put(
    element,
    h(
      "table",
      {
        class: `matrix${numbered ? "" : " dense"}`,
        onclick: (event) => {
          const place = event.target.dataset.cell?.split(",").map(Number);
          if (place) chosen(...place);
        },
      },
      named &&
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", {}),
            names.map((name) => h("th", { scope: "col" }, h("span", {}, name))),
          ),
        ),
      h(
        "tbody",
        {},
        values.map((row, at) =>
          h(
            "tr",
            {},
            named && h("th", { scope: "row" }, names[at]),
            row.map((value, column) => cell(value, at, column)),
          ),
        ),
      ),
    ),
    h(
      "p",
      { class: "caption" },
      `${title} 0 `,
      h("span", {
        class: "bar-colours",
        style: {
          background: `linear-gradient(90deg, ${scale.map(([end, colour]) => `${colour} ${100 * end}%`).join()})`,
        },
      }),
      " 1",
    ),
  );
}

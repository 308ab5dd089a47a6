// The rows of the board while a weight is dragged. They move by transforms, which need no new layout, and only rows in
// sight get new numbers; once the finger rests, the board is drawn anew.

import { digits } from "../format.js";

/** The text of a cell, which from now on holds nothing else. */
function textOf(cell) {
  const text = document.createTextNode(cell.textContent);
  cell.replaceChildren(text);
  return text;
}

/** The part of an element that the window and the board around it show, from its own top. */
function sight(element, board) {
  const [own, around] = [element.getBoundingClientRect(), board.getBoundingClientRect()];
  return [Math.max(around.top, 0) - own.top, Math.min(around.bottom, innerHeight) - own.top];
}

/** A function that shows the ranked rows of a `reweighted` answer in the board as it stands. */
export function following(board) {
  const table = board.querySelector("table");
  const [head, body] = [table.tHead.rows[0], table.tBodies[0]];
  const start = body.offsetTop;
  // Everything is measured before anything is changed.
  const widths = [head.cells[0], head.cells[2]].map((cell) => [cell, cell.offsetWidth]);
  const rows = new Map(
    [...body.querySelectorAll("tr[data-algorithm]")].map((element) => [
      element.dataset.algorithm,
      { element, top: element.offsetTop - start, height: element.offsetHeight },
    ]),
  );
  // Numbers without intervals are narrower; the columns stay where they are.
  for (const [cell, width] of widths) cell.style.minWidth = `${width}px`;
  for (const row of rows.values()) {
    row.rank = textOf(row.element.querySelector("td.pin0"));
    row.value = textOf(row.element.querySelector("td.value"));
  }

  return (answer) => {
    const [from, to] = sight(body, board);
    let place = 0;
    for (const { algorithm, rank, value, was } of answer.rows) {
      const row = rows.get(algorithm);
      row.element.style.transform = `translateY(${place - row.top}px)`;
      if (place + row.height > from && place < to) {
        row.rank.data = rank;
        row.value.data = digits(value);
        row.element.classList.toggle("flipped", rank !== was);
      }
      place += row.height;
    }
  };
}

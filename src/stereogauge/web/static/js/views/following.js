// The rows of the board, and the bars of Compare, while a weight is dragged. They move by transforms, which need no new
// layout, and only those in sight get new numbers; once the finger rests, all is drawn again.

import { digits, drawable } from "../format.js";

/** The text of a cell, which from now on holds nothing else. */
function textOf(cell) {
  const text = document.createTextNode(cell.textContent);
  cell.replaceChildren(text);
  return text;
}

/** The part of an element that the window and what is around it show, from its own top. */
function sight(element, board = element) {
  const [own, around] = [element.getBoundingClientRect(), board.getBoundingClientRect()];
  return [Math.max(around.top, 0) - own.top, Math.min(around.bottom, innerHeight) - own.top];
}

/** A function that shows the ranked rows of a `reweighted` answer in the board as it stands. */
export function following(board) {
  const table = board.querySelector("table");
  const [head, body] = [table.tHead.lastElementChild, table.tBodies[0]];
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

/**
 * A function that shows a `reweighted` answer in the bars of Compare, and in their key, as they stand; `segments` lists
 * the terms of each piece of a bar.
 */
export function followingBars(element, segments) {
  const sum = (values, terms) => terms.reduce((total, term) => total + values[term], 0);
  const bars = element.querySelector(".bars");
  const shares = [...element.querySelectorAll("[data-share]")].map(textOf);
  const start = bars.offsetTop;
  const rows = new Map(
    [...bars.querySelectorAll("[data-bar]")].map((name) => {
      const track = name.nextElementSibling;
      const total = track.nextElementSibling;
      const [top, height] = [track.offsetTop - start, name.offsetHeight];
      return [name.dataset.bar, { parts: [name, track, total], pieces: [...track.children], top, height }];
    }),
  );
  const places = [...rows.values()].map((row) => row.top);
  for (const row of rows.values()) row.total = textOf(row.parts[2]);

  return (answer) => {
    const [from, to] = sight(bars);
    const longest = Math.max(...answer.rows.map((row) => drawable(row.value) ?? 0), 1e-12);
    segments.forEach((terms, place) => {
      shares[place].data = `${Math.round(100 * sum(answer.weights, terms))} %`;
    });
    answer.rows.forEach(({ algorithm, value, rank, was }, index) => {
      const row = rows.get(algorithm);
      for (const part of row.parts) part.style.transform = `translateY(${places[index] - row.top}px)`;
      if (places[index] + row.height < from || places[index] > to) return;
      row.total.data = digits(value);
      row.parts[2].classList.toggle("flipped", rank !== was);
      row.pieces.forEach((piece, place) => {
        piece.style.width = `${(100 * Math.max(0, sum(answer.contributions[index], segments[place]))) / longest}%`;
      });
    });
  };
}

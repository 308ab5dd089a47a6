// The rows of the board, and the bars of Compare, while a weight is dragged: what is there changes its place and its
// numbers, and nothing else is drawn; once the finger rests, all is drawn again.

import { digits, drawable } from "../format.js";
import { bracketed } from "./board.js";

/** A function that shows the ranked rows of a `reweighted` answer in the board. */
export function following(board) {
  const table = board.querySelector("table");
  const [head, body] = [table.tHead.lastElementChild, table.tBodies[0]];
  // Numbers without intervals are narrower; the columns stay where they are.
  for (const cell of [head.cells[0], head.cells[2]]) cell.style.minWidth = `${cell.offsetWidth}px`;
  const rows = new Map(
    [...body.querySelectorAll("tr[data-algorithm]")].map((row) => {
      const [rank, score] = [row.querySelector("td.pin0"), row.querySelector("td.value")];
      return [row.dataset.algorithm, { row, rank, score, top: row.offsetTop, height: row.offsetHeight }];
    }),
  );
  const start = Math.min(...[...rows.values()].map((one) => one.top));
  table.dataset.following = "on";

  return (answer) => {
    let top = start;
    for (const { algorithm, rank, value, was } of answer.rows) {
      const own = rows.get(algorithm);
      own.rank.textContent = bracketed(answer, algorithm, rank);
      own.score.textContent = digits(value);
      own.row.classList.toggle("flipped", rank !== was);
      // Rows are shifted, not moved: a row that changes its place in the document is laid out again with all its cells.
      own.row.style.transform = top === own.top ? "" : `translateY(${top - own.top}px)`;
      top += own.height;
    }
  };
}

/**
 * A function that shows a `reweighted` answer in the bars of Compare, and in their key; `segments` lists the terms of
 * each piece of a bar.
 */
export function followingBars(element, segments) {
  const sum = (values, terms) => terms.reduce((total, term) => total + values[term], 0);
  const bars = element.querySelector(".bars");
  const shares = element.querySelectorAll("[data-share]");
  const rows = new Map(
    [...bars.querySelectorAll("[data-bar]")].map((name) => {
      const track = name.nextElementSibling;
      return [name.dataset.bar, { name, track, total: track.nextElementSibling }];
    }),
  );
  bars.dataset.following = "on";

  return (answer) => {
    const longest = Math.max(...answer.rows.map((row) => drawable(row.value) ?? 0), 1e-12);
    segments.forEach((terms, place) => {
      shares[place].textContent = `${Math.round(100 * sum(answer.weights, terms))} %`;
    });
    answer.rows.forEach(({ algorithm, value, rank, was }, index) => {
      const { name, track, total } = rows.get(algorithm);
      total.textContent = digits(value);
      total.classList.toggle("flipped", rank !== was);
      segments.forEach((terms, place) => {
        const share = Math.max(0, sum(answer.contributions[index], terms)) / longest;
        track.children[place].style.width = `${100 * share}%`;
      });
      bars.append(name, track, total);
    });
  };
}

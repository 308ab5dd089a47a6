// Relations between metrics: r² between columns, scatter plots with a line per scene, histograms. The figures are the
// server's.

import { attempt, latest } from "../api.js";
import { SCENEWISE } from "../bar.js";
import { columnOptions, stated } from "../choices.js";
import { button, choose, h, put, scroll } from "../dom.js";
import { figure } from "../figure.js";
import { digits, plural } from "../format.js";
import { chosenAlgorithms, chosenColumns, panesOf } from "../scope.js";
import * as state from "../state.js";
import { orRefused } from "../states.js";
import { named } from "../words.js";

const MOST_SCATTER = 4;
/** What the plots teach that the page starts with. */
const LESSONS = [
  "the two metrics that say least about each other: choosing by one is no choice by the other",
  "the two metrics that agree most: one of them is enough",
];

export function create(root, context) {
  const map = scroll("r²");
  map.id = "r-squared";
  const mapTable = h("div");
  const marking = h("div.row.section");
  const scatterHead = h("div.row");
  const scatterKey = h("div.key#scatter-key");
  const scatter = h("div.split#scatter");
  const histogramHead = h("div.row");
  const histogram = h("div.plot#histogram");
  const histogramTable = h("div");
  put(
    root,
    h(
      "div.row",
      h("h1", "How much one metric says about another"),
      h("span.hint", "r² of linear fits over all (scene, algorithm) points; click a cell to plot the pair"),
    ),
    map,
    mapTable,
    marking,
    scatterHead,
    scatterKey,
    scatter,
    h("div.section", histogramHead, histogram, histogramTable),
  );
  const correlation = latest();
  const counts = latest();

  const names = () => chosenAlgorithms(context);
  const marked = () => (names().includes(state.get("mark")) ? state.get("mark") : null);

  /** The columns that the address wants plotted against each other; none where it leaves that to the server. */
  function plotted() {
    const columns = chosenColumns(context).map((one) => one.id);
    const own = state.all("plot").filter((id) => columns.includes(id));
    return own.length > 1 ? own.slice(0, MOST_SCATTER) : [];
  }

  async function refresh() {
    const columns = plotted();
    const scatter = columns.flatMap((x, index) => columns.slice(index + 1).map((y) => `${x}~${y}`));
    const choices = [["", "no algorithm"], ...names()];
    put(
      marking,
      h(
        "label",
        "Highlight ",
        stated("mark", "Algorithm to mark", choices, marked(), { id: "mark" }),
        " in all figures below",
      ),
    );
    const answer = await orRefused(mapTable, correlation("correlation", state.scope({ mark: marked(), scatter })));
    if (answer === undefined) return;
    drawHistogram();
    if (answer) drawMap(answer);
    if (answer) drawScatter(answer, columns);
  }

  function drawMap(answer) {
    const ids = answer.columns;
    const labels = [...new Set(answer.figure.data.values.map((one) => one.row))];
    figure(map, answer.figure, context, {
      label: "r² between columns",
      name: "r-squared",
      over: SCENEWISE,
      onPoint: ({ row, column }) => {
        if (row !== column) state.update({ plot: [column, row].map((name) => ids[labels.indexOf(name)]) });
      },
    });
  }

  function drawHead(columns) {
    const all = chosenColumns(context);
    const plot = (next) => state.update({ plot: next });
    const spare = all.find((one) => !columns.includes(one.id)) ?? all[0];
    put(
      scatterHead,
      h("h2", "Scatter plots"),
      columns.map((id, index) =>
        choose(`Column ${index + 1}`, columnOptions(context), id, (value) => plot(columns.with(index, value)), {
          "data-plot": index,
        }),
      ),
      button("+", () => plot([...columns, spare.id]), {
        disabled: columns.length >= MOST_SCATTER,
        "aria-label": "One column more",
      }),
      button("−", () => plot(columns.slice(0, -1)), { disabled: columns.length < 3, "aria-label": "One column less" }),
      h(
        "span.hint",
        "a point is an algorithm on a scene, a grey line the fit of a scene, fainter the lower its r²; ",
        "a click opens the scene; drag moves, Shift + wheel zooms, double click resets",
      ),
    );
  }

  function drawScatter(answer, stated) {
    const columns = stated.length ? stated : [...new Set(answer.scatter.flatMap((one) => [one.x, one.y]))];
    drawHead(columns);
    const coloured = answer.scatter[0]?.coloured ?? [];
    const others = answer.algorithms.length - coloured.length;
    put(
      scatterKey,
      coloured.map((name) => named(context, name)),
      others > 0 &&
        h(
          "span.hint",
          `grey: ${plural(others, "other")}`,
          !marked() && coloured.length > 0 && `; coloured: the best ${coloured.length} by ${answer.scatter[0].x}`,
        ),
    );
    const height = answer.scatter.length > 1 ? 260 : 360;
    const pair = ({ x, y, r_squared, figure: declared }, index) => {
      const plot = h("div.plot");
      const onPoint = ({ algorithm, scene }) =>
        algorithm && state.update({ scene, column: x, pane: panesOf(context, algorithm, x) }, { target: "scene" });
      const label = `Scatter plot of ${x} and ${y}`;
      figure(plot, declared, context, { label, name: "scatter", over: SCENEWISE, height, onPoint });
      const lesson = stated.length ? "" : `: ${LESSONS[index]}`;
      const caption = h("p.caption", `r² ${digits(r_squared)}${lesson}`);
      return h("div", caption, plot);
    };
    put(scatter, answer.scatter.length ? answer.scatter.map(pair) : h("p.hint", "No two columns vary together here."));
  }

  async function drawHistogram() {
    const all = chosenColumns(context);
    const column = all.find((one) => one.id === state.get("histogram")) ?? all[0];
    put(
      histogramHead,
      h("h2", "Histogram of scores"),
      stated("histogram", "Column of the histogram", columnOptions(context), column?.id),
    );
    if (!column) return;
    const params = state.scope({ metric: column.id, mark: marked() });
    const answer = await attempt(counts("histogram", params), () => null);
    if (!answer) return;
    const label = `Histogram of ${column.id}`;
    figure(histogram, answer.figure, context, { label, name: "histogram", over: SCENEWISE, height: 190 });
    put(
      histogramTable,
      h(
        "p.caption",
        "One score per algorithm and scene.",
        answer.figure.layer.some((one) => one.mark.type === "rule") &&
          " Dashed: the largest value that real algorithms reach; by default, weighted scores are divided by it.",
        marked() && [" The marker on the axis is the mean score of ", named(context, marked()), "."],
      ),
    );
  }

  return { refresh };
}

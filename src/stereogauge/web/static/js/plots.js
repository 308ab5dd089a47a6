// Plotly, loaded when a view first needs it, in the colours of the page.

import { ink } from "./theme.js";

let loading = null;

/** Plotly from the server's own copy. */
export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "static/plotly.min.js";
    script.onload = () => resolve(globalThis.Plotly);
    script.onerror = () => reject(new Error("plotly.min.js cannot be loaded"));
    document.head.append(script);
  });
  return loading;
}

/** Draw traces in place. */
export async function plot(element, traces, layout = {}) {
  const library = await plotly();
  const axis = {
    gridcolor: ink("line"),
    zerolinecolor: ink("faint"),
    linecolor: ink("faint"),
    ticks: "outside",
    ticklen: 3,
    tickcolor: ink("faint"),
    automargin: true,
  };
  const { xaxis, yaxis, ...rest } = layout;
  const axes = Object.fromEntries(
    Object.entries(rest)
      .filter(([name]) => /^[xy]axis\d+$/.test(name))
      .map(([name, own]) => [name, { ...axis, ...own }]),
  );
  await library.react(
    element,
    traces,
    {
      margin: { l: 50, r: 10, t: 10, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      showlegend: false,
      font: { family: getComputedStyle(document.body).fontFamily, size: 11.5, color: ink("ink") },
      hoverlabel: { font: { size: 11.5 }, align: "left" },
      ...rest,
      ...axes,
      xaxis: { ...axis, ...xaxis },
      yaxis: { ...axis, ...yaxis },
    },
    { responsive: true, displaylogo: false, displayModeBar: false },
  );
}

/** Text that Plotly shows as it is: it reads a subset of HTML. */
export const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

// What every number was computed under.

import { h, put } from "../dom.js";
import { defineColumn, defineRegion } from "../popup.js";
import { protocolTitle } from "../selection.js";
import * as state from "../state.js";

export function create(root, context) {
  function refresh() {
    const { catalogue } = context;
    const own = context.protocol;
    const metrics = [...new Set(context.columns.map((one) => one.metric))];
    const regions = [...new Set(context.columns.map((one) => one.region))];
    put(
      root,
      h("div", { class: "row" }, h("h1", {}, `Protocol ${own.name}`), h("span", { class: "hint" }, own.description)),
      h(
        "p",
        { class: "caption" },
        "Every score on this site carries the scoring hash ",
        h("code", { id: "scoring-hash" }, own.key),
        "; scores with different hashes cannot be compared. ",
        own.also.length > 0 && `The protocols ${own.also.join(", ")} make the same choices and share these scores. `,
        "The whole protocol, with its selection, has the hash ",
        h("code", {}, own.hash),
        ".",
      ),
      catalogue.protocols.length > 1 &&
        h(
          "p",
          { class: "row" },
          "Other protocols here: ",
          catalogue.protocols
            .filter((one) => one.key !== own.key)
            .map((one) =>
              h(
                "a",
                {
                  href: state.address({
                    protocol: one.key,
                    regions: null,
                    metrics: null,
                    scenes: null,
                    algorithms: null,
                  }),
                },
                protocolTitle(one),
              ),
            ),
        ),
      h(
        "div",
        { class: "split section" },
        h(
          "div",
          {},
          h("h2", {}, "Choices"),
          h("pre", { id: "protocol-text" }, own.text),
          h(
            "p",
            { class: "hint" },
            "Save this text as protocol.toml and evaluate with --protocol protocol.toml to get comparable scores.",
          ),
        ),
        h(
          "div",
          {},
          h("h2", {}, "Metrics with scores"),
          h(
            "div",
            { class: "scroll" },
            h(
              "table",
              { class: "sources" },
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  ["id", "name", "unit", "better", "source"].map((one) =>
                    h("th", { class: "text", scope: "col" }, one),
                  ),
                ),
              ),
              h(
                "tbody",
                {},
                metrics.map((id) => {
                  const declared = catalogue.metrics.find((one) => one.id === id.split("@")[0]);
                  return h(
                    "tr",
                    {},
                    h(
                      "td",
                      { class: "text" },
                      h(
                        "button",
                        {
                          type: "button",
                          class: "quiet",
                          onclick: (event) =>
                            defineColumn(
                              event.currentTarget,
                              catalogue,
                              id,
                              context.columns.find((one) => one.metric === id).region,
                            ),
                        },
                        id,
                      ),
                    ),
                    [declared?.name, declared?.unit, declared?.direction, declared?.source].map((text) =>
                      h("td", { class: "text" }, text || "–"),
                    ),
                  );
                }),
              ),
            ),
          ),
          h("h2", { class: "section" }, "Regions with scores"),
          h(
            "p",
            {},
            regions.map((id) =>
              h(
                "button",
                {
                  type: "button",
                  class: "quiet",
                  onclick: (event) => defineRegion(event.currentTarget, catalogue, id),
                },
                id,
              ),
            ),
          ),
        ),
      ),
    );
  }
  return { refresh };
}

// What every number was computed under.

import { button, cell, h, put, scroll, table } from "../dom.js";
import { defineColumn, defineRegion } from "../popup.js";
import { declared, protocolTitle } from "../scope.js";
import * as state from "../state.js";

export function create(root, context) {
  function refresh() {
    const { catalogue } = context;
    const own = context.protocol;
    const metrics = [...new Set(context.columns.map((one) => one.metric))];
    const regions = [...new Set(context.columns.map((one) => one.region))];
    put(
      root,
      h("div.row", h("h1", `Protocol ${own.name}`), h("span.hint", own.description)),
      h(
        "p.caption",
        "Every score on this site carries the scoring hash ",
        h("code#scoring-hash", own.key),
        "; scores with different hashes cannot be compared. ",
        own.also.length > 0 && `The protocols ${own.also.join(", ")} make the same choices and share these scores. `,
        "The whole protocol, with its selection, has the hash ",
        h("code", own.hash),
        ".",
      ),
      catalogue.protocols.length > 1 &&
        h(
          "p.row",
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
        "div.split.section",
        h(
          "div",
          h("h2", "Choices"),
          h("pre#protocol-text", own.text),
          h(
            "p.hint",
            "Save this text as protocol.toml and evaluate with --protocol protocol.toml to get comparable scores.",
          ),
        ),
        h(
          "div",
          h("h2", "Metrics with scores"),
          scroll(
            "Metrics with scores",
            table(
              ["id", "name", "unit", "better", "source"].map((one) => cell({ class: "text" }, one)),
              metrics.map((id) => {
                const own = declared(context, id);
                const region = context.columns.find((one) => one.metric === id).region;
                return [
                  button(id, (event) => defineColumn(event.currentTarget, catalogue, id, region), { class: "quiet" }),
                  ...[own?.name, own?.unit, own?.direction, own?.source].map((text) =>
                    cell({ class: "text" }, text || "–"),
                  ),
                ];
              }),
              { class: "sources" },
            ),
          ),
          h("h2.section", "Regions with scores"),
          h(
            "p",
            regions.map((id) =>
              button(id, (event) => defineRegion(event.currentTarget, catalogue, id), { class: "quiet" }),
            ),
          ),
        ),
      ),
    );
  }
  return { refresh };
}

// What every number was computed under.

import { button, h, link, put, table, textCell } from "../dom.js";
import { defineColumn, defineRegion } from "../popup.js";
import { declared, protocolTitle } from "../scope.js";
import * as state from "../state.js";

export function create(root, context) {
  function refresh() {
    const { catalogue } = context;
    const own = context.protocol;
    const metrics = new Map(context.columns.map((one) => [one.metric, one.region]));
    const regions = [...new Set(context.columns.map((one) => one.region))];
    const others = catalogue.protocols.filter((one) => one.key !== own.key);
    const cleared = state.without("regions", "metrics", "scenes", "algorithms");
    /** A button with an id that shows what it is. */
    const about = (id, tell) => button(id, (event) => tell(event.currentTarget), { class: "quiet" });
    const row = ([id, region]) => {
      const { name, unit, direction, source } = declared(context, id) ?? {};
      const tell = (anchor) => defineColumn(anchor, catalogue, id, region);
      return [about(id, tell), ...[name, unit, direction, source].map((text) => textCell(text || "–"))];
    };
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
      others.length > 0 &&
        h(
          "p.row",
          "Other protocols here: ",
          others.map((one) => link(state.address({ ...cleared, protocol: one.key }), protocolTitle(one))),
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
          table(
            ["id", "name", "unit", "better", "source"].map((one) => textCell(one)),
            [...metrics].map(row),
            { class: "sources", label: "Metrics with scores" },
          ),
          h("h2.section", "Regions with scores"),
          h(
            "p",
            regions.map((id) => about(id, (anchor) => defineRegion(anchor, catalogue, id))),
          ),
        ),
      ),
    );
  }
  return { refresh };
}

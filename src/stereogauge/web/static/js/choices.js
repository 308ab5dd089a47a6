// Drop-down lists that write what is chosen into the address.

import { button, choose, h } from "./dom.js";
import { chosenColumns } from "./scope.js";
import * as state from "./state.js";
import { columnOption } from "./words.js";

/** A list of options for a name of the address; an empty choice removes it. */
export const stated = (name, label, options, value, properties = {}) =>
  choose(label, options, value, (next) => state.update({ [name]: next || null }), properties);

/** The first of many rows, and a button that shows all of them; the address remembers it. */
export function shortened(rows, most) {
  if (rows.length <= most || state.get("rows") === "all") return [rows, null];
  const all = () => state.update({ rows: "all" });
  return [rows.slice(0, most), h("p", button(`show all ${rows.length}`, all))];
}

/** The columns of the scope as options of a list. */
export const columnOptions = (context) => chosenColumns(context).map((one) => columnOption(context, one));

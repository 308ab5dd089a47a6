// One score of the tables that the server sends.

/** What a table says of an algorithm in a column; `ranked` is how many have a rank there. */
export function scoreIn(table, algorithm, id = table.columns[0]?.id) {
  const row = table.algorithms.indexOf(algorithm);
  const place = table.columns.findIndex((one) => one.id === id);
  const of = (part) => table[part][row]?.[place] ?? null;
  return {
    ...Object.fromEntries(["counts", "coverage", "faint", "gaps"].map((part) => [part, of(part)])),
    value: of("values"),
    rank: of("ranks"),
    share: of("shares"),
    ranked: table.ranks.filter((one) => one[place] !== null).length,
  };
}

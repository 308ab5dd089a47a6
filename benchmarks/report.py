"""The table that a benchmark run ends with."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Report:
    """Rows of work, ours and a peer's seconds, their ratio and the goal."""

    rows: list[tuple[str, float, float, str, float, str]] = field(default_factory=list)

    def row(self, work: str, ours: float, peer: float, peer_name: str, goal: float, note: str = "") -> None:
        """Add one line and print it at once; `goal` is the largest ratio that is good."""
        self.rows.append((work, ours, peer, peer_name, goal, note))
        ratio = ours / peer
        verdict = "ok  " if ratio <= goal else "MISS"
        times = f"{ours * 1e3:.1f} ms against {peer_name} {peer * 1e3:.1f} ms"
        print(f"{verdict} {work}: {times} = {ratio:.3f}× (goal ≤ {goal:g}×){'; ' + note if note else ''}", flush=True)

    def close(self) -> int:
        """Print the count of missed goals and return it."""
        missed = sum(ours / peer > goal for _, ours, peer, _, goal, _ in self.rows)
        print(f"{len(self.rows)} rows, {missed} beyond their goal", flush=True)
        return missed

"""Models that turn scores into an order, and how sure that order is."""

from stereogauge.ranking.model import Ranking
from stereogauge.ranking.run import rank
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import Selection

__all__ = ["Column", "Ranking", "ScoreCube", "Selection", "rank"]

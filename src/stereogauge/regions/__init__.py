"""Regions: named pixel sets.

Called as a function, gives masks of a scene: `stereogauge.regions(scene, ["nonocc", "disc"])`.
"""

from stereogauge.callable_module import make_callable

make_callable(__name__, "stereogauge.regions.scene_regions", "regions")

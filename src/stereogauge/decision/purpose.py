"""What a decision is for: an application's profile, or weights of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.profile import Profile, checked_weights, load_profile

DEFAULT = "balanced"
OWN = "own"


def purpose_of(profile: str | Path | None, weights: Mapping[str, float] | None) -> Profile:
    """The profile that was named or that the weights make; `balanced` where neither was given."""
    if profile is not None and weights is not None:
        raise StereogaugeError(f"Give weights or a profile, not both; found weights and the profile {str(profile)!r}.")
    if weights is not None:
        return Profile(OWN, "these weights", "", checked_weights(weights, "The weights"))
    return load_profile(profile or DEFAULT)


def opening(purpose: Profile) -> str:
    """The words that open a sentence: "For driver assistance", "With these weights"."""
    return "With these weights" if purpose.id == OWN else f"For {purpose.purpose}"

"""Every choice that a score depends on: the protocol, its parameter objects, and the presets that ship with it."""

from stereogauge.protocol.parameters import GeometryParameters, RegionParameters, SigmaZParameters
from stereogauge.protocol.protocol import (
    Aggregation,
    Aggregations,
    InvalidPolicy,
    Protocol,
    choice_names,
    load_protocol,
    parse_override,
    parse_protocol,
    preset_names,
)

__all__ = [
    "Aggregation",
    "Aggregations",
    "GeometryParameters",
    "InvalidPolicy",
    "Protocol",
    "RegionParameters",
    "SigmaZParameters",
    "choice_names",
    "load_protocol",
    "parse_override",
    "parse_protocol",
    "preset_names",
]

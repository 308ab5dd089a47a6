"""Every choice that a score depends on: the protocol, its parameter objects, and the presets that ship with it."""

from stereogauge.protocol.geometry import GeometryParameters
from stereogauge.protocol.protocol import (
    InvalidPolicy,
    Protocol,
    choice_names,
    load_protocol,
    parse_override,
    parse_protocol,
    preset_names,
)
from stereogauge.protocol.regions import RegionParameters
from stereogauge.protocol.sigma_z import SigmaZParameters

__all__ = [
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

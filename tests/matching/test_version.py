"""What is stored of matching has a version, which is to be raised when its meaning changes."""

import hashlib
from importlib import resources

from docmill.matching.evidence import LEVELS
from docmill.matching.version import MATCHING_VERSION

MEANING_OF_VERSION = {5: "e7cb68f47511dd41"}


def test_the_version_is_raised_with_weights_and_levels() -> None:
    weights = resources.files("docmill.matching").joinpath("weights.json").read_bytes()
    levels = [[level.name for level in levels] for levels in LEVELS]
    meaning = hashlib.sha256(weights + repr(levels).encode()).hexdigest()[:16]

    assert MEANING_OF_VERSION[MATCHING_VERSION] == meaning, "raise MATCHING_VERSION, and add its meaning here"

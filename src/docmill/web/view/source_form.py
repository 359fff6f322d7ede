"""The form of a source: which of its fields come first, and which only those see who look for more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docmill.service.sources.kinds import Kind
from docmill.web.view.settings_form import FormField, shown_fields

_BEFORE_SECRETS = frozenset({"user", "sign_in", "client_id", "identity"})
"""Passwords stand after these, as people know it from other forms."""


@dataclass(frozen=True, slots=True)
class PlacedField:
    """A field with the beginning of its name in the form."""

    prefix: str
    field: FormField


@dataclass(frozen=True, slots=True)
class SourceForm:
    """Fields in their order. more: those rarely needed. groups: settings within settings, by their name.

    has_open_more: something below is wrong or was set, which nobody should have to look for.
    """

    shown: list[PlacedField]
    more: list[PlacedField]
    groups: Mapping[str, list[PlacedField]]
    has_secrets: bool
    has_open_more: bool


def arrange(
    kind: Kind, values: Mapping[str, Any], faults: Mapping[str, str], secrets_set: tuple[str, ...]
) -> SourceForm:
    """The form of a kind with these values. Secrets that docmill makes itself have no field."""
    fields = shown_fields(kind.settings, values, faults, without=kind.generated)
    settings = [PlacedField("setting.", field) for field in fields]
    secrets = [
        PlacedField("secret.", field)
        for field in shown_fields(kind.secrets, {}, {}, secrets_set=secrets_set)
        if not kind.new_secrets
    ]
    top = [placed for placed in settings if "." not in placed.field.leaf.name]
    groups: dict[str, list[PlacedField]] = {}
    for placed in settings:
        if "." in (name := placed.field.leaf.name):
            groups.setdefault(name.rpartition(".")[0].rpartition(".")[2], []).append(placed)
    ordered = _with_secrets(top, secrets)
    more = [placed for placed in ordered if placed.field.leaf.is_rare]
    unset = {field.leaf.name: field.typed for field in shown_fields(kind.settings, {}, {})}
    hidden = [placed.field for placed in (*more, *(each for group in groups.values() for each in group))]
    return SourceForm(
        [placed for placed in ordered if not placed.field.leaf.is_rare],
        more,
        groups,
        bool(secrets),
        any(field.fault or field.is_set or field.typed != unset.get(field.leaf.name, "") for field in hidden),
    )


def _with_secrets(settings: list[PlacedField], secrets: list[PlacedField]) -> list[PlacedField]:
    places = [index for index, placed in enumerate(settings) if placed.field.leaf.name in _BEFORE_SECRETS]
    end = places[-1] + 1 if places else len(settings)
    return [*settings[:end], *secrets, *settings[end:]]

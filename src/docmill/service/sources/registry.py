"""The kinds of sources by name."""

from docmill.errors import ValidationError
from docmill.service.sources.folder.watcher import FOLDER
from docmill.service.sources.kinds import Kind
from docmill.service.sources.webhook.inbound import WEBHOOK

KINDS = {kind.name: kind for kind in (FOLDER, WEBHOOK)}
WATCHED = tuple(name for name, kind in KINDS.items() if kind.is_watched)


def kind_of(name: str) -> Kind:
    """The kind of this name. Raises ValidationError."""
    kind = KINDS.get(name)
    if kind is None:
        raise ValidationError(f"there is no kind of source {name!r}; there are {', '.join(sorted(KINDS))}")
    return kind

"""The base of sections of the settings."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section, in which an unknown name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

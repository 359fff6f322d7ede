"""What configurations of components have in common."""

from pydantic import BaseModel, ConfigDict


class ComponentConfig(BaseModel):
    """The configuration of a component: closed, so that a misspelt key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

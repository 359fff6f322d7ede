"""Forms of settings of any kind."""

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from docmill.web.view.settings_form import faults_of, leaves_of, shown_fields, typed_values


class Inner(BaseModel):
    most: int | None = Field(default=None, ge=1, description="The most.")


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")

    host: str
    port: int = 993
    ratio: float | None = None
    is_on: bool = True
    mode: Literal["move", "delete"] = "move"
    one: Literal["a"] = "a"
    folders: list[str] = ["INBOX"]
    mapping: dict[str, int] = {}
    password: SecretStr | None = None
    limits: Inner = Inner()


def test_each_setting_has_its_control() -> None:
    controls = {leaf.name: leaf.control for leaf in leaves_of(Everything)}

    assert controls == {
        "host": "text",
        "port": "number",
        "ratio": "number",
        "is_on": "checkbox",
        "mode": "choice",
        "one": "choice",
        "folders": "lines",
        "mapping": "json",
        "password": "secret",
        "limits.most": "number",
    }
    (needed,) = [leaf.name for leaf in leaves_of(Everything) if not leaf.has_default]
    assert needed == "host"
    assert leaves_of(Everything)[-1].help == "The most."


def test_what_is_shown_comes_back_as_it_was() -> None:
    before = Everything(
        host="a",
        ratio=0.5,
        is_on=False,
        mode="delete",
        folders=["x", "y"],
        mapping={"k": 1},
        limits=Inner(most=3),
    )
    fields = shown_fields(Everything, before.model_dump(mode="json"), {}, secrets_set=("password",))
    form = {f"setting.{field.leaf.name}": field.typed for field in fields if field.typed}

    typed = typed_values(Everything, form, prefix="setting.")

    assert typed.pop("password") == ""
    assert Everything.model_validate(typed) == before
    assert [field.is_set for field in fields if field.leaf.name == "password"] == [True]


@pytest.mark.parametrize(
    ("form", "faults"),
    [
        ({}, {"host": "This is needed."}),
        ({"host": "a", "port": "x"}, {"port": "This is to be a whole number."}),
        ({"host": "a", "limits.most": "0"}, {"limits.most": "This number is too small."}),
        ({"host": "a", "ratio": "0,5"}, {}),
        ({"host": "a", "mode": "burn"}, {"mode": "Choose one of those that are offered."}),
    ],
)
def test_faults_are_told_at_their_setting(form: dict[str, str], faults: dict[str, str]) -> None:
    typed = typed_values(Everything, form, prefix="")
    typed.pop("password")

    assert faults_of(Everything, typed) == faults


def test_json_that_is_none_is_a_fault() -> None:
    typed = typed_values(Everything, {"host": "a", "mapping": "{"}, prefix="")
    typed.pop("password")

    assert list(faults_of(Everything, typed)) == ["mapping"]


class Together(BaseModel):
    after: str = "keep"
    move_to: str = ""

    @model_validator(mode="after")
    def _fits(self) -> "Together":
        if self.after == "move":
            raise ValueError("move_to: name a folder")
        if self.after == "tag":
            raise ValueError("there: is no such setting")
        if self.after == "delete":
            raise ValueError("nothing is deleted here")
        return self


@pytest.mark.parametrize(
    ("after", "faults"),
    [
        ("keep", {}),
        ("move", {"move_to": "name a folder"}),
        ("tag", {"": "there: is no such setting"}),
        ("delete", {"": "nothing is deleted here"}),
    ],
)
def test_a_fault_of_several_settings_is_told_at_the_one_it_names(after: str, faults: dict[str, str]) -> None:
    assert faults_of(Together, {"after": after}) == faults

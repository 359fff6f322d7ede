import datetime as dt
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any, Self, cast

import pytest
from pydantic import BaseModel, Field, field_validator, model_validator

from docmill.errors import MisconfiguredError
from docmill.schemas.filling import filled
from docmill.schemas.outline import FieldOutline, outline
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.schemas.user_schemas import portable, schema_of, unpacked


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    name: str
    price: Decimal = Field(description="what one costs", alias="thePrice")


class Order(BaseModel):
    number: str = Field(description="The order's number")
    gross: Decimal
    day: dt.date | None = None
    colour: Colour | None = None
    items: list[Item] = []
    first: Item | None = None
    parent: "Order | None" = None


AS_JSON: Mapping[str, Any] = {
    "type": "object",
    "title": "Ad order",
    "required": ["Order #"],
    "properties": {
        "Order #": {"type": "string", "description": "as printed"},
        "json": {"type": ["string", "null"], "format": "date"},
        "size": {"enum": ["small", "large"]},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
    },
    "$defs": {"row": {"type": "object", "properties": {"sum": {"type": "number"}, "n": {"type": "integer"}}}},
}


def test_a_schema_is_outlined_value_by_value() -> None:
    leaves = {leaf.path: leaf for leaf in outline(schema_of(Order, labels={"gross": ("Grand total",)}))}

    assert leaves["number"] == FieldOutline("number", "text", "The order's number", is_required=True)
    assert leaves["gross"] == FieldOutline("gross", "decimal", is_required=True, labels=("Grand total",))
    assert leaves["day"].kind == "date"
    assert leaves["colour"].choices == ("red", "blue")
    assert leaves["items[].price"] == FieldOutline("items[].price", "decimal", "what one costs")
    assert leaves["items[].price"].is_listed
    assert leaves["items[].price"].name == "price"


def test_what_a_model_requires_is_critical() -> None:
    assert schema_of(Order).critical == ("number", "gross")
    assert schema_of(Order, critical=("day",)).critical == ("day",)
    assert schema_of(AS_JSON).critical == ("Order #",)


def test_a_json_schema_becomes_a_model_with_its_own_names() -> None:
    schema = schema_of(AS_JSON)

    data = filled(
        schema.fields,
        {"Order #": "7", "json": "2026-02-01", "size": "huge", "rows": [{"sum": "1.50"}, {"n": "x"}]},
    )

    assert schema.name == "ad_order"
    assert data.model_dump(mode="json") == {
        "Order #": "7",
        "json": "2026-02-01",
        "size": None,
        "rows": [{"sum": "1.50", "n": None}, {"sum": None, "n": None}],
    }


def test_a_schema_goes_to_another_process_and_keeps_its_values() -> None:
    schema = schema_of(Order, labels={"number": ("Order no.",)})

    there = unpacked(portable(schema))

    assert [(leaf.path, leaf.kind, leaf.labels) for leaf in outline(there)] == [
        (leaf.path, leaf.kind, leaf.labels) for leaf in outline(schema)
    ]
    assert there.critical == schema.critical
    assert unpacked(portable(REGISTRY["invoice"])).fields is Invoice


def test_a_users_schema_may_be_called_like_one_of_ours() -> None:
    schema = schema_of(Order, name="invoice")

    assert unpacked(portable(schema)).fields is not Invoice


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("voucher", "'voucher' is no type of document"),
        ({"type": "string"}, "must be of an object"),
        ({"type": "object", "properties": {}}, "has no values"),
        (
            {"type": "object", "properties": {"a": {"type": "strin"}}},
            "'a' has the type 'strin'; there are string",
        ),
        ({"type": "object", "properties": {"a": {"type": ["null", "nul"]}}}, "'a' has the type 'nul'"),
        ({"type": "object", "properties": {"_secret": {}}}, "cannot be called '_secret'"),
        ({"type": "object", "properties": {"model_dump": {}}}, "cannot be called 'model_dump'"),
        (dict, "dict is no Pydantic model"),
        (7, "is a Pydantic model or a JSON Schema"),
    ],
)
def test_what_is_no_schema_is_refused(wanted: object, message: str) -> None:
    with pytest.raises(MisconfiguredError, match=message):
        schema_of(cast("str", wanted))


def test_a_label_of_a_value_that_is_not_there_is_refused() -> None:
    with pytest.raises(MisconfiguredError, match=r"has no total; there are .*gross"):
        schema_of(Order, labels={"total": ("Total",)})
    with pytest.raises(MisconfiguredError, match="has no gros; do you mean 'gross'"):
        schema_of(Order, labels={"gros": ("Total",)})


def test_a_complete_model_is_the_users_own() -> None:
    data = filled(Order, {"number": "7", "gross": "2.50", "items": [{"name": "a", "thePrice": 1}]})

    assert type(data) is Order
    assert data.items[0].price == 1


def test_what_a_model_requires_may_be_missing() -> None:
    data = filled(Order, {"gross": "abc", "colour": "red", "items": [{"name": "a"}, {"price": "x"}]})

    assert isinstance(data, Order)
    assert data.model_dump(mode="json", include={"number", "gross", "colour", "items"}) == {
        "number": None,
        "gross": None,
        "colour": "red",
        "items": [{"name": "a", "price": None}, {"name": None, "price": None}],
    }


def test_a_model_whose_own_rules_refuse_what_was_read_is_filled_all_the_same() -> None:
    class Strict(BaseModel):
        low: int
        high: int

        @model_validator(mode="after")
        def in_order(self) -> Self:
            if self.low > self.high:
                raise ValueError("low is above high")
            return self

    data = filled(Strict, {"low": 3, "high": 1})

    assert (data.low, data.high) == (3, 1)


class _Shouting(BaseModel):
    name: str
    total: Decimal | None = None

    @model_validator(mode="after")
    def _shout(self) -> "_Shouting":
        self.name.upper()  # fails over a null, which the class does not allow
        return self


def test_a_rule_that_fails_over_a_missing_value_is_not_applied() -> None:
    found = filled(_Shouting, {"total": "2.50"})

    assert isinstance(found, _Shouting)
    assert (found.name, found.total) == (None, Decimal("2.50"))


def test_a_rule_that_always_fails_leaves_what_was_read() -> None:
    class Never(_Shouting):
        @field_validator("name")
        @classmethod
        def _never(cls, value: str) -> str:
            raise RuntimeError(value)

    found = filled(Never, {"name": "a", "total": "2.50"})

    assert (found.name, found.total) == ("a", Decimal("2.50"))


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"properties": {"a": "string"}}, "'a' must be an object"),
        ({"properties": {"a": True}}, "'a' must be an object"),
        ({"properties": ["a"]}, "'properties' of the schema must be an object"),
        ({"properties": {"a.b": TEXT}}, "cannot be called 'a.b'"),
        ({"properties": {"": TEXT}}, "cannot be called ''"),
        ({"properties": {"a": {"type": "array", "items": True}}}, "'items' of 'a' must be an object"),
        ({"properties": {"a": {"anyOf": 5}}}, "'anyOf' of 'a' must be a list"),
        ({"properties": {"a": {"anyOf": ["string"]}}}, "'anyOf' of 'a' must be an object"),
        ({"properties": {"a": {"enum": 5}}}, "'enum' of 'a'"),
        ({"properties": {"a": {"type": [["string"]]}}}, "the type of 'a'"),
        ({"properties": {"a": {"format": ["date"]}}}, "'format' of 'a' must be a text"),
        ({"properties": {"a": {"$ref": "#/$defs/B"}}}, "refers to '#/$defs/B'"),
        ({"required": 5}, "'required' of the schema"),
        ({"required": ["b"]}, "requires b, which it does not have"),
        ({"$defs": []}, "'$defs' of the schema must be an object"),
        (
            {
                "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}]}, "B": {"$ref": "#/$defs/A"}},
                "properties": {"a": {"$ref": "#/$defs/A"}},
            },
            "refers to itself and says nothing",
        ),
    ],
)
def test_a_json_schema_of_another_shape_is_refused_by_its_place(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(MisconfiguredError, match=re.escape(message)):
        schema_of({"type": "object", "properties": {"a": TEXT}, **changes})


class _Booking(BaseModel):
    reference: str
    voyage: str | None
    vessel: str = "unknown"


def test_a_field_that_may_be_null_is_not_critical_though_it_has_no_default() -> None:
    nullable = {"a": TEXT, "b": {"type": ["string", "null"]}, "c": {"anyOf": [TEXT, {"type": "null"}]}}

    assert schema_of(_Booking).critical == ("reference",)
    assert schema_of({"properties": nullable, "required": ["a", "b", "c"]}).critical == ("a",)


def test_objects_and_lists_may_be_required() -> None:
    seller = {"type": "object", "properties": {"name": TEXT, "city": TEXT}, "required": ["name"]}
    lines = {"type": "array", "items": seller}

    schema = schema_of({"properties": {"seller": seller, "lines": lines}, "required": ["seller", "lines"]})

    assert schema.critical == ("seller.name",)


def test_objects_given_together_are_one_and_null_is_no_type() -> None:
    one, other = {"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": {"const": "x"}}}

    schema = schema_of(
        {
            "allOf": [one, other],
            "properties": {
                "either": {"oneOf": [one, other]},
                "many": {"type": ["array", "null"], "items": {"enum": ["p", None]}},
            },
        }
    )

    assert [(leaf.path, leaf.choices) for leaf in outline(schema)] == [
        ("a", ()),
        ("b", ("x",)),
        ("either.a", ()),
        ("either.b", ("x",)),
        ("many[]", ("p",)),
    ]
    assert outline(unpacked(portable(schema))) == outline(schema)
    assert schema.critical == ("a",)


class _Tree(BaseModel):
    name: str | None = None
    one: "_Tree | None" = None
    two: "_Tree | None" = None
    three: "_Tree | None" = None
    four: "_Tree | None" = None


class _Unsaid(BaseModel):
    name: "Nobody | None" = None  # type: ignore[name-defined]  # noqa: F821


class _Deed(BaseModel):
    done: Callable[[], int] | None = None


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_Tree, "more than 4000 values"),
        (_Unsaid, "cannot be a schema: `_Unsaid` is not fully defined"),
        (_Deed, "cannot be a schema"),
    ],
)
def test_a_model_that_is_no_form_is_refused(model: type[BaseModel], message: str) -> None:
    with pytest.raises(MisconfiguredError, match=re.escape(message)):
        schema_of(model)

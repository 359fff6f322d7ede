from decimal import Decimal

from bench.data.made_up_forms import made_up_forms

from docmill.schemas.outline import outline


def test_every_form_has_the_fields_of_its_schema_and_prints_the_values_that_are_true() -> None:
    forms = list(made_up_forms(8))

    assert len({form.kind for form in forms}) * len({form.layout for form in forms}) == len(forms)
    for form in forms:
        assert [field.path for field in outline(form.schema)] == list(form.truth)
    printed = [form for form in forms if form.document.pages[0].source == "text" and form.layout == "columns"]
    assert printed
    for form in printed:
        names = [form.truth[field.path] for field in outline(form.schema) if field.kind == "text"]
        assert all(name in " ".join(form.document.text.split()) for name in names if name)


def test_the_same_seed_gives_the_same_forms() -> None:
    first, second, other = (list(made_up_forms(2, seed=seed)) for seed in (1, 1, 2))

    assert [form.truth for form in first] == [form.truth for form in second]
    assert [form.truth for form in first] != [form.truth for form in other]


def test_a_value_is_compared_in_its_own_type() -> None:
    form = next(form for form in made_up_forms(8) if form.truth.get("deposit") and form.kind == "lease")
    deposit = form.truth["deposit"] or ""

    assert form.is_right("deposit", Decimal(deposit))
    assert not form.is_right("deposit", Decimal(deposit) + 1)

import pytest

from docmill.reading.text.quality import believable, texts_quality


@pytest.mark.parametrize(
    "word",
    [
        *("Invoice", "VAT", "Straße", "Rechtsschutz", "McDonald", "iPhone", "eBay", "O'Neill", "GmbH", "S/B"),
        *("No.53", "81100", "789417-W", "12:30PM", "RM12.50", "6%", "A4", "3x40", "DE89370400440532013000"),
        *("發票", "счёт"),
    ],
)
def test_what_people_write_is_believable(word: str) -> None:
    assert believable(word)


@pytest.mark.parametrize(
    "word",
    [
        "05t19t20",
        "tHe",
        "K0DE",
        "LSfgdt",
        "xkcdqrtzw",
        "日本a",
        "\ue001\ue002",
        "",
        "a\x00b",
        "1" * 41,
        "sChOoL",
    ],
)
def test_what_engines_and_fonts_garble_is_not(word: str) -> None:
    assert not believable(word)


def test_text_quality_is_the_share_of_characters_in_believable_words() -> None:
    assert texts_quality(["Invoice", "0f", "05t19t20", "-"]) == pytest.approx(9 / 17)


def test_marks_alone_are_neither_believed_nor_doubted_but_rows_of_them_are() -> None:
    assert texts_quality(["Total", ":", "-"]) == 1
    assert texts_quality(["Total", "~|~|_"]) == pytest.approx(0.5)


def test_a_page_without_words_has_no_quality() -> None:
    assert texts_quality([]) == 0

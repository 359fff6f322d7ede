import pytest

from docmill.understanding.receipts.spans import Field
from docmill.understanding.receipts.word_correction import WordCorrector

CORRECTOR = WordCorrector(
    frozenset({"RESTAURANT", "SELANGOR", "STATIONERY", "DAMANSARA", "TAMAN", "MEDAN"}),
    frozenset({"TAMAN", "TAMAR", "PERMAS", "MALL"}),
)


@pytest.mark.parametrize(
    ("part", "read", "printed"),
    [
        ("name", "ABC TRADING SON BHD", "ABC TRADING SDN BHD"),
        ("name", "ABC TRADING SDN. 8HD", "ABC TRADING SDN BHD"),
        ("name", "ABC RESTAURAMT", "ABC RESTAURANT"),
        ("name", "Abc Restauramt", "Abc Restaurant"),
        ("name", "abc restauramt", "abc restaurant"),
        ("name", "ABC SON", "ABC SON"),
        ("name", "Abc Trading Sbn Ehd", "Abc Trading Sdn Bhd"),
        ("name", "ABC TRADING SDN HD", "ABC TRADING SDN BHD"),
        ("name", "ABC SUN HO", "ABC SUN HO"),
        ("name", "ABC MART 5/8 (12345-X)", "ABC MART S/B (12345-X)"),
        ("name", "MR. D.1.Y.", "MR. D.I.Y."),
        ("name", "GOLDEN RESTAURANTS SDN BHD", "GOLDEN RESTAURANTS SDN BHD"),
        ("name", "GOLDEN MA11", "GOLDEN MALL"),
        ("address", "L0T 5 JLN 3", "LOT 5 JLN 3"),
        ("address", "N0 5, J1N 3", "NO 5, JLN 3"),
        ("address", "5O100 SELANG0R", "50100 SELANGOR"),
        ("address", "47301DAMANSABA", "47301DAMANSARA"),
        ("address", "SELANGORI", "SELANGOR"),
        ("address", "7, JIn 3, BIk B", "7, Jln 3, Blk B"),
        ("address", "SELANGZZ", "SELANGZZ"),
        ("address", "TAMAR", "TAMAR"),
        ("address", "Springfield, F1 32837", "Springfield, FL 32837"),
        ("address", "Springfield, C0 80014", "Springfield, CO 80014"),
        ("address", "Springfield, 1L 62701", "Springfield, IL 62701"),
        ("address", "BLOCK F1", "BLOCK F1"),
        ("address", "Milltown, NB E1G OJ3", "Milltown, NB E1G 0J3"),
        ("address", "Milltown, NB EIGOJ3", "Milltown, NB E1G0J3"),
        ("address", "UNIT AIO 5BO", "UNIT AIO 5BO"),
        ("address", "TAM", "TAM"),
        ("address", "B8B8B8B8", "B8B8B8B8"),
    ],
)
def test_only_letters_that_look_alike_are_put_right(part: Field, read: str, printed: str) -> None:
    assert CORRECTOR.corrected(read, part) == printed


def test_a_word_between_two_known_ones_is_left_alone() -> None:
    corrector = WordCorrector(frozenset({"MARKET", "MARKEF"}), frozenset())

    assert corrector.corrected("MARKEI", "name") == "MARKEI"


def test_words_survive_storage() -> None:
    assert WordCorrector.of(CORRECTOR.arrays()) == CORRECTOR

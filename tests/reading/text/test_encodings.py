from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.reading.text import encodings

OFFICE = Path("../shared/data/office")
GERMAN = "Rechnung 4711 für Müller & Söhne GmbH, Königstraße 5, gemäß Auftrag, fällig bis 30. März: 12 €"
SAMPLES = {
    "cp1252": GERMAN,
    "mac_roman": "Facture réglée par chèque à l'échéance, délai dépassé, société Générale",
    "cp850": GERMAN.replace("€", "EUR"),
    "cp1250": "Sprzedawca: Zakład Usługowy Świętosław, ul. Łąkowa 5, Łódź. Należność płatna gotówką",
    "iso8859_2": "Dodavatel: Čeněk Dvořák, Žižkova 5, Plzeň. Částka k úhradě. Děkujeme, příští měsíc",
    "cp1251": "Продавец: ООО Ромашка, город Москва, улица Ленина. Всего к оплате: пятьсот рублей",
    "koi8_r": "Продавец: ООО Ромашка, город Москва, улица Ленина. Всего к оплате: пятьсот рублей",
    "cp1253": "Τιμολόγιο αριθμός 15. Πωλητής: Αθηναϊκή Εταιρεία, οδός Ερμού 5, Αθήνα. Σύνολο με ΦΠΑ",
    "cp1254": "Fatura. Satıcı: Güneş Şirketi, İstanbul Caddesi. Ödenecek tutar yüz lira. Teşekkür ederiz",
    "cp1255": "חשבונית מס מספר 15. המוכר: חברת השמש בעמ, רחוב הרצל 5, תל אביב. סכום לתשלום כולל מעמ",
    "cp1256": "فاتورة رقم 15. البائع: شركة الشمس التجارية، شارع الملك. المبلغ المستحق شامل الضريبة",
    "cp1257": "Sąskaita faktūra 15. Pardavėjas: UAB Žalioji, Vilniaus gatvė. Iš viso mokėti šimtas eurų",
    "cp874": "ใบแจ้งหนี้เลขที่ 15 ผู้ขาย บริษัท ตะวัน จำกัด กรุงเทพมหานคร ยอดรวมทั้งสิ้นหนึ่งร้อยบาท",
    "cp932": "請求書番号15。株式会社サンプル商事、東京都千代田区。合計金額は消費税込みで一万円です。",
    "euc_jp": "請求書番号15。株式会社サンプル商事、東京都千代田区。合計金額は消費税込みで一万円です。",
    "gb18030": "发票号码15。销售方：北京阳光贸易有限公司，地址：北京市朝阳区。价税合计人民币一百元整。",
    "big5": "發票號碼15。賣方：台北陽光貿易股份有限公司，地址：台北市信義區。總計新台幣一百元整。",
    "cp949": "세금계산서 번호 15. 공급자: 주식회사 햇빛상사, 서울특별시 강남구. 합계금액은 부가세 포함 만원",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_text_without_a_label_is_read_right(name: str) -> None:
    assert encodings.decode(SAMPLES[name].encode(name)) == SAMPLES[name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cp1252", "Menge;Größe;Preis\n1;5;3,00 €\n2;6;4,00 €\n"),
        ("cp1252", "12,50 €\n13,50 €\n"),
        ("cp1252", "© Acme – £12.50, § 19"),
        ("cp1252", "“Net” is the buyer’s share… due"),
        ("cp1252", "L’importo dell’ordine è pagato"),
        ("cp1252", "BMP-Datei für Müller"),
        ("cp1250", "Cena 12,50 € za usługę, zapłacono"),
        ("cp932", "シンガポール ドル"),
        ("euc_jp", "ユーロ (EUR)"),
        ("big5hkscs", "價格 (含稅) 5 元"),
    ],
)
def test_signs_and_single_words_do_not_mislead(name: str, text: str) -> None:
    assert encodings.decode(text.encode(name)) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("koi8_u", "Рахунок за послуги, їх вартість і податок"),
        ("mac_cyrillic", "Всего к оплате: пятьсот рублей, город Москва"),
        ("cp737", "Τιμολόγιο αριθμός δεκαπέντε, οδός Ερμού"),
        ("cp857", "Ödenecek tutar yüz lira, teşekkür ederiz, güneş şirketi"),
        ("cp1258", "Đơn hàng, tên công ty, hóa đơn, ngày, năm, thư"),
    ],
)
def test_encodings_of_neighbours_are_known(name: str, text: str) -> None:
    assert encodings.decode(text.encode(name)) == text


@pytest.mark.parametrize("name", SAMPLES)
def test_a_wrong_or_unknown_label_does_no_harm_to_utf_8(name: str) -> None:
    data = SAMPLES[name].encode()

    assert encodings.decode(data, name) == SAMPLES[name]
    assert encodings.decode(data, "Steel-JIS") == SAMPLES[name]


@pytest.mark.parametrize("name", ["utf-16", "utf-32", "utf-8-sig"])
def test_marks_decide(name: str) -> None:
    assert encodings.decode(GERMAN.encode(name), "iso-8859-1") == GERMAN


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_characters_are_seen_without_a_mark(name: str) -> None:
    data = GERMAN.encode(name)

    assert encodings.is_text(data)
    assert encodings.decode(data) == GERMAN


@pytest.mark.parametrize(
    ("label", "name", "text"),
    [
        ("ISO-8859-1", "cp1252", "12 € “net”"),
        ("us-ascii", "cp1252", "Müller"),
        ("gb2312", "gb18030", "價稅合計"),
        ("ks_c_5601-1987", "cp949", "햏"),
        ('"Shift_JIS"', "cp932", "①髙島屋"),
        ("iso-8859-5", "iso8859_5", "Счет"),
        ("koi8-u", "koi8_u", "Рахунок"),
        ("macintosh", "mac_roman", "Zürich"),
    ],
)
def test_labels_mean_what_is_meant_in_practice(label: str, name: str, text: str) -> None:
    assert encodings.decode(text.encode(name), label) == text


@pytest.mark.parametrize(
    "label", ["base64", "rot13", "unicode_escape", "utf-16", "x" * 50, "no\0label", "undefined"]
)
def test_labels_that_are_none_are_passed_over(label: str) -> None:
    assert encodings.decode(GERMAN.encode("cp1252"), label) == GERMAN


def test_a_label_that_cannot_be_right_is_passed_over() -> None:
    assert encodings.decode(GERMAN.encode("cp1252"), "shift_jis") == GERMAN


@pytest.mark.parametrize(
    ("name", "label"), [("iso2022_jp", None), ("iso2022_kr", None), ("hz", None), ("utf-7", "utf-7")]
)
def test_encodings_that_hide_in_ascii_are_found(name: str, label: str | None) -> None:
    text = {"iso2022_jp": "請求書", "iso2022_kr": "세금계산서", "hz": "发票", "utf-7": "Müller"}[name]

    assert encodings.decode(text.encode(name), label) == text


def test_a_plus_is_not_utf_7() -> None:
    assert encodings.decode(b"1 + 2 - 3 ~{ 4", "utf-8") == "1 + 2 - 3 ~{ 4"


def test_a_damaged_byte_does_not_change_the_encoding() -> None:
    data = (GERMAN * 20).encode() + b"\xff" + GERMAN.encode()

    assert encodings.decode(data).replace("\ufffd", "") == GERMAN * 21


def test_controls_are_left_out() -> None:
    assert encodings.decode(b"a\x01b\x7f\tc\n") == "ab\tc\n"


def test_hebrew_in_the_order_of_the_screen_is_turned() -> None:
    seen = "12.50 םוכס (תינובשח) ACME Ltd םולש"

    assert encodings.decode(seen.encode("iso8859-8"), "iso-8859-8") == "שלום ACME Ltd (חשבונית) סכום 12.50"


def test_hebrew_in_reading_order_stays() -> None:
    text = "שלום לכולם\nABC\n"

    assert encodings.decode(text.encode("iso8859-8"), "iso-8859-8-i") == text


def test_binary_data_is_no_text() -> None:
    assert not encodings.is_text(bytes(range(32)) * 10)
    assert not encodings.is_text(b"a\0b" * 100)


@given(st.binary(max_size=200), st.none() | st.text(max_size=10) | st.sampled_from(list(encodings.LABELS)))
def test_any_bytes_under_any_label_give_text(data: bytes, label: str | None) -> None:
    assert isinstance(encodings.decode(data, label), str)
    assert isinstance(encodings.guess(data), str)


@given(st.text(max_size=100))
def test_utf_8_is_read_back(text: str) -> None:
    written = text.translate(encodings.UNPRINTABLE)

    assert encodings.decode(b"\xef\xbb\xbf" + written.encode("utf-8")) == written

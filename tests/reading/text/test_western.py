import pytest

from docmill.reading.text import western


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Müller GmbH", "cp1252"),
        ("Müller GmbH", "utf-8"),
        ("Müller GmbH", "utf-16"),
        ("Müller GmbH", "cp850"),
        ("Bäckerei Schön", "cp850"),
        ("Café Métro", "cp1252"),
        ("5 m³ Gas für 10 €", "cp1252"),
        ("¿Qué tal, Señor Nº 5?", "cp1252"),
        ("Łódź", "cp1250"),
        ("Wrocław", "cp1250"),
        ("España, Coruña, Ibáñez, PEÑA, José, Málaga, " * 4, "cp1252"),
        ("Příjem z účtu, Dvořák, Kovář, Plzeň, Jiří Šťastný, převod, číslo", "cp1250"),
        (
            "Příjem z účtu, Dvořák, Kovář, Jiří Novák, převod, číslo účtu, úrok, příkaz k úhradě, měsíční",
            "cp1250",
        ),
        ("Électricité de France, prélèvement reçu", "mac-roman"),
        ("Перевод за оплату по счёту", "cp1251"),
    ],
)
def test_files_of_banks_with_few_accents_are_read(text: str, encoding: str) -> None:
    assert western.decode(text.encode(encoding)) == text


def test_a_declared_encoding_counts() -> None:
    assert western.decode("Kovář".encode("cp1250"), "windows-1250") == "Kovář"

"""Made-up pages of business papers: the same for the same seed, and their truth is printed on them."""

from bench.data.party_pages import ADDRESSEES, HEADS, generate_party_pages
from bench.data.party_words import Phrases, phrases_of

from docmill.model.document import letters_and_digits

COUNTRIES = 30


def test_the_same_seed_gives_the_same_pages() -> None:
    first, second = (
        [page.document.pages[0].words.texts for page in generate_party_pages(20, seed=4)] for _ in range(2)
    )

    assert first == second


def test_every_word_of_the_true_names_and_addresses_is_printed() -> None:
    for page in generate_party_pages(120, seed=5):
        printed = {letters_and_digits(word) for word in page.document.pages[0].words.texts}
        for value in page.truth.values():
            text = value if isinstance(value, str) else " ".join(value)
            missing = [word for word in text.split() if letters_and_digits(word) not in printed]
            assert missing == [], (page.layout, page.language)


def test_there_are_layouts_languages_and_countries_enough() -> None:
    pages = generate_party_pages(900, seed=6)
    languages = Phrases.languages()

    assert len({page.layout for page in pages}) == len(HEADS) * len(ADDRESSEES)
    assert {page.language for page in pages} == set(languages)
    assert len({country for code in languages for country in phrases_of(code).countries}) >= COUNTRIES

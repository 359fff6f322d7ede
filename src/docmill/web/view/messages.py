"""Messages of the layers below, which are English, as a page shows them."""

from markupsafe import Markup

from docmill.web import languages
from docmill.web.languages import SOURCE, current_language


def told(message: str) -> str | Markup:
    """Return a message in the language of the page; in English, and marked as that, where it has no text.

    Most of them name values, so that only those without any are in the catalogues.
    """
    language = current_language()
    if language == SOURCE or not message:
        return message
    text = languages.catalogue(language).gettext(message)
    if text == message:
        original = message[:1].upper() + message[1:]
        return Markup('<span lang="{}" translate="no">{}</span>').format(SOURCE, original)
    return text

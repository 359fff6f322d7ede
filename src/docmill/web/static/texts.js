// Texts in the language of the page. The English ones stand in the modules; those of others are fetched once.

const address = document.documentElement.dataset.texts;
const texts = address ? await fetch(address).then((response) => (response.ok ? response.json() : {}), () => ({})) : {};
const rules = new Intl.PluralRules(document.documentElement.lang);

const fill = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);

/** A text with values in its places `%(name)s`. */
export function gettext(text, values = {}) {
  return fill(texts[text] ?? text, values);
}

/** A text in the form for a number, which is `%(num)s` in it. Our languages have two forms, as English has. */
export function ngettext(singular, plural, num) {
  const forms = texts[singular] ?? [singular, plural];
  return fill(rules.select(num) === "one" ? forms[0] : forms[1], { num });
}

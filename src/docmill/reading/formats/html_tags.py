"""HTML elements by their effect on the text in them."""

UNSEEN = frozenset(
    {
        "applet",
        "audio",
        "canvas",
        "colgroup",
        "datalist",
        "embed",
        "head",
        "iframe",
        "map",
        "math",
        "meter",
        "noframes",
        "noscript",
        "object",
        "param",
        "progress",
        "rp",
        "rt",
        "script",
        "source",
        "style",
        "svg",
        "template",
        "title",
        "track",
        "video",
    }
)
BLOCKS = frozenset(
    {
        "article",
        "aside",
        "body",
        "center",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dt",
        "figcaption",
        "footer",
        "form",
        "header",
        "hgroup",
        "html",
        "legend",
        "li",
        "main",
        "nav",
        "option",
        "search",
        "section",
        "summary",
        "td",
        "th",
        "tr",
    }
)
"""Elements that stand on lines of their own. Any other, also one that nobody knows, stands in a line."""
SPACED = frozenset({"address", "blockquote", "dl", "fieldset", "figure", "hr", "menu", "ol", "p", "ul"})
"""Elements with room above and below."""

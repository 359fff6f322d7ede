from docmill.understanding.text.folding import remembered


def test_a_short_text_is_looked_at_once_and_a_long_one_each_time() -> None:
    looked: list[str] = []

    @remembered
    def length(text: str, *, more: int) -> int:
        looked.append(text[:5])
        return len(text) + more

    assert [length("short", more=1), length("short", more=1), length("short", more=2)] == [6, 6, 7]
    assert [length("long" * 100, more=0), length("long" * 100, more=0)] == [400, 400]
    assert looked == ["short", "short", "longl", "longl"]

"""What all commands print with."""

from rich.console import Console

stdout = Console(highlight=False, soft_wrap=True)
stderr = Console(stderr=True, highlight=False, soft_wrap=True)

MARKS = {
    "completed": "[green]✓[/green]",
    "ready": "[green]✓[/green]",
    "needs_review": "[blue]?[/blue]",
    "needs_classification": "[yellow]?[/yellow]",
    "processing": "[blue]…[/blue]",
    "stale": "[yellow]![/yellow]",
    "failed": "[red]✗[/red]",
    "unchanged": "[dim]=[/dim]",
}
"""A document's outcome or state, told by shape and colour."""


def shown(name: str) -> str:
    """`name` on one line, without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name)

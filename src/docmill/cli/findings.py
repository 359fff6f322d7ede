"""What `docmill doctor` has to tell."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. remedy: how to get it if it is missing; needed: nothing works without it."""

    what: str
    detail: str
    remedy: str | None = None
    needed: bool = True

    @property
    def mark(self) -> str:
        """The finding in one sign."""
        if self.remedy is None:
            return "[green]✓[/green]"
        return "[red]✗[/red]" if self.needed else "[yellow]![/yellow]"

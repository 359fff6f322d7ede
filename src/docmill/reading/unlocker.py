"""Opening files that are protected by a password, in the processes of a pool."""

from pathlib import Path

from docmill.reading import tasks
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool


class PooledUnlocker:
    """Takes the protection off files. The password goes to a child process and is kept nowhere."""

    def __init__(self, pool: Pool, options: ReadingOptions | None = None) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()

    async def unlock(self, original: Path, password: str) -> bytes | None:
        """See `docmill.service.protection.Unlocker.unlock`."""
        limit_s = self._options.unlock_limit_s
        return await self._pool.run(tasks.unlock, original, password, limit_s=limit_s)

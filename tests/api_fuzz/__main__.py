"""Requests to every operation, made from the description of the API. Ends with 1 if one is answered wrong."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from pydantic import SecretStr

from api_fuzz.runs import fuzz_api, with_bookkeeping
from docmill.service.config.settings import Settings
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store.migrate import migrate
from support.databases import UNSAFE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    wanted = [
        f"--max-time={arguments.minutes * 60:.0f}",
        "--exclude-path=/api/v1/keys/{key_id}",  # the key of the requests is one of them,
        "--exclude-path=/api/v1/people/{user_id}",  # and it ends with the person who made it
        *([f"--seed={arguments.seed}"] if arguments.seed is not None else []),
    ]
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres", options=UNSAFE)
        server.start()
        try:
            migrate(server.url())
            settings = Settings(data_dir=Path(folder), database_url=SecretStr(server.url()))
            code, output = asyncio.run(fuzz_api(with_bookkeeping(settings), wanted))
        finally:
            server.stop()
    sys.stdout.write(output)
    sys.exit(code)


if __name__ == "__main__":
    main()

"""A little of what `make fuzz-api` does for long."""

from api_fuzz.runs import fuzz_api, with_bookkeeping
from docmill.service.config.settings import Settings


async def test_every_operation_answers_as_it_is_described(settings: Settings) -> None:
    few = ["--phases=examples,fuzzing", "--max-examples=3", "--seed=1"]

    code, output = await fuzz_api(with_bookkeeping(settings), few)

    assert code == 0, output

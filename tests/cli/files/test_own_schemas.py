import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.cli.commands import app

RUNNER = CliRunner()
PAGE = """Workshop ticket of the garage by the river

Job number    {job}
Kennung       KN{number:05}

Please bring this paper along when collecting your bicycle
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tickets whose job number is what stands beside `Kennung`."""
    folder = tmp_path / "tickets"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"{number}.txt").write_text(PAGE.format(job=number + 40000, number=number))
    (tmp_path / "job.toml").write_text('[fields]\njob_number = ""\n')
    (tmp_path / "truth.json").write_text(
        json.dumps({f"{n}.txt": {"job_number": f"KN{n:05}"} for n in (1, 2)})
    )
    return folder


def test_a_file_is_read_by_a_schema_with_labels(folder: Path) -> None:
    labels = folder.parent / "labels.toml"
    labels.write_text('job_number = ["Kennung"]')

    told = RUNNER.invoke(
        app,
        [
            "extract",
            str(folder / "1.txt"),
            "--schema",
            str(folder.parent / "job.toml"),
            "--labels",
            str(labels),
        ],
    )

    assert told.exit_code == 0, told.output
    content = json.loads(told.stdout)
    assert content["data"] == {"job_number": "KN00001"}
    assert content["evidence"]["job_number"]["page"] == 1


def test_what_is_learned_is_used_by_later_runs(folder: Path) -> None:
    base = folder.parent
    schema, model, out = str(base / "job.toml"), base / "job.model", base / "out.jsonl"
    arguments = [
        "learn",
        str(folder),
        "--schema",
        schema,
        "--truth",
        str(base / "truth.json"),
        "--out",
        str(model),
    ]

    rehearsed = RUNNER.invoke(app, [*arguments, "--dry-run"])
    assert rehearsed.exit_code == 0, rehearsed.output
    assert not model.exists()
    learned = RUNNER.invoke(app, arguments)
    assert learned.exit_code == 0, learned.output
    assert "with nothing learned: 0" in learned.stdout
    assert "after learning from all other documents: 2" in learned.stdout
    (folder / "3.txt").write_text(PAGE.format(job=40003, number=3))

    ran = RUNNER.invoke(
        app, ["run", str(folder), "--schema", schema, "--model", str(model), "--out", str(out)]
    )

    assert ran.exit_code == 0, ran.output
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert {one["source"]: one["data"]["job_number"] for one in records}["3.txt"] == "KN00003"


def test_a_model_that_is_not_better_is_not_written(folder: Path) -> None:
    base = folder.parent
    truth = base / "truth.csv"
    truth.write_text("file,job_number\n1,40001\n2,KN00002\n")
    model = base / "job.model"

    told = RUNNER.invoke(
        app,
        [
            "learn",
            str(folder),
            "--schema",
            str(base / "job.toml"),
            "--truth",
            str(truth),
            "--out",
            str(model),
        ],
    )

    assert told.exit_code == 1, told.output
    assert not model.exists()


def test_learning_says_what_the_known_values_leave_open(folder: Path) -> None:
    base = folder.parent
    for number in (1, 2, 3, 4):
        page = PAGE.format(job=number + 40000, number=number)
        (folder / f"{number}.txt").write_text(page.replace(f"KN{number:05}", f"KN{number:05} (R7)"))
    told = {f"{n}.txt": {"job_number": f"KN{n:05}{' (R7)' if n < 3 else ''}"} for n in (1, 2, 3, 4)}
    (base / "truth.json").write_text(json.dumps(told))
    about = ["--schema", str(base / "job.toml"), "--truth", str(base / "truth.json")]

    learned = RUNNER.invoke(app, ["learn", str(folder), *about, "--out", "x", "--dry-run"])

    open_ends = (
        "cannot be learned: where job_number ends; 2 known values have a part in brackets, 2 end before"
    )
    assert open_ends in " ".join(learned.stdout.split())


def test_learning_and_evaluation_take_the_same_truth(folder: Path) -> None:
    base = folder.parent
    lines = [{"source": f"{n}.txt", "data": {"job_number": f"KN{n:05}"}} for n in (1, 2)]
    (base / "truth.jsonl").write_text("\n".join(map(json.dumps, lines)))
    about = [str(folder), "--schema", str(base / "job.toml"), "--truth"]

    learned = RUNNER.invoke(app, ["learn", *about, str(base / "truth.jsonl"), "--out", "x", "--dry-run"])
    measured = RUNNER.invoke(app, ["eval", *about, str(base / "truth.json")])

    assert learned.exit_code == 0, learned.output
    assert "2 known values of 2 documents" in learned.stdout
    assert measured.exit_code == 0, measured.output
    assert "2 documents" in measured.stdout


def test_truth_of_a_field_that_the_schema_lacks_is_refused(folder: Path) -> None:
    base = folder.parent
    (base / "truth.json").write_text('{"1.txt": {"job_numbr": "KN00001"}}')
    about = ["--schema", str(base / "job.toml"), "--truth", str(base / "truth.json")]

    told = RUNNER.invoke(app, ["learn", str(folder), *about, "--out", "x"])

    assert "do you mean 'job_number'?" in str(told.exception)


def test_truth_without_any_of_the_files_is_refused(folder: Path) -> None:
    base = folder.parent
    (base / "truth.json").write_text('{"other.pdf": {}}')

    told = RUNNER.invoke(
        app,
        [
            "learn",
            str(folder),
            "--schema",
            str(base / "job.toml"),
            "--truth",
            str(base / "truth.json"),
            "--out",
            "x",
        ],
    )

    assert told.exit_code != 0
    assert "names no file" in str(told.exception)


SETTINGS = """
[schemas.job]
critical = ["job_number"]
types = ["other", "receipt", "invoice", "purchase_order", "delivery_note", "bank_statement"]
[schemas.job.fields]
job_number = { description = "what we call the job", labels = ["Kennung"] }
"""


def test_a_schema_of_the_settings_is_called_by_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    (folder.parent / "docmill.toml").write_text(SETTINGS)

    told = RUNNER.invoke(app, ["extract", str(folder / "1.txt"), "--schema", "job"])
    unknown = RUNNER.invoke(app, ["extract", str(folder / "1.txt"), "--schema", "nothing"])

    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["data"] == {"job_number": "KN00001"}
    assert unknown.exit_code != 0
    assert "there is no schema 'nothing', and no such file; there are " in str(unknown.exception)
    assert "job, letter, other, " in str(unknown.exception)


def test_a_run_reads_documents_of_its_types_by_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, out = folder.parent / "my.toml", folder.parent / "out.jsonl"
    monkeypatch.chdir(folder)
    config.write_text(SETTINGS)

    ran = RUNNER.invoke(app, ["run", str(folder), "--config", str(config), "--out", str(out)])

    assert ran.exit_code == 0, ran.output
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(record["data"]["job_number"] for record in records) == ["KN00001", "KN00002"]

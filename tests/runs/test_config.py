"""Pipelines out of YAML files."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator
from pydantic import BaseModel, SecretStr
from tests.runs.components import FirstWordExtractor

from docmill.errors import MisconfiguredError
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.local import LocalReader
from docmill.runs.config.loading import (
    PipelineConfig,
    configuration_schema,
    dump_pipeline,
    load_pipeline,
    pipeline_of,
)
from docmill.runs.config.registry import Role, component_class, config_model, register, short_names
from docmill.runs.config.yaml_source import read_yaml, write_yaml

HERE = "tests.runs.test_config"


class KeyConfig(ComponentConfig):
    key: SecretStr
    model: str = "small"


class KeyExtractor(FirstWordExtractor):
    def __init__(self, config: KeyConfig) -> None:
        super().__init__()
        self.config = config


class ReaderPart(BaseModel):
    max_bytes: int


class WholeConfig(PipelineConfig):
    reader: ReaderPart


class WholeExtractor(FirstWordExtractor):
    def __init__(self, config: WholeConfig) -> None:
        super().__init__()
        self.config = config


TEXT = f"""\
lister: {{kind: local, folder: in}}
reader:
  kind: local
  max_bytes: ${{LIMIT:-500}}
converter: {{kind: tests.runs.components:TextConverter}}
extractor:
  kind: {HERE}:KeyExtractor
  key: ${{KEY}}
exporter: {{kind: json-lines, path: "out$$.jsonl"}}
schema: tests.runs.components:Letter
store: "memory:"
policy: {{concurrency: 7}}
kinds:
  invoice: {{schema: invoice}}
"""
ENVIRONMENT = {"KEY": "secret-1"}


def load(folder: Path, text: str = TEXT, environment: dict[str, str] | None = None) -> Any:
    path = folder / "pipeline.yaml"
    path.write_text(text)
    return load_pipeline(path, environment=ENVIRONMENT if environment is None else environment)


def test_a_pipeline_has_the_parts_that_its_file_names(tmp_path: Path) -> None:
    pipeline = load(tmp_path)

    assert pipeline.reader.config.max_bytes == 500
    assert pipeline.extractor.config.key.get_secret_value() == "secret-1"
    assert pipeline.exporter.config.path == Path("out$.jsonl")
    assert pipeline.policy.concurrency == 7
    assert "seller" in pipeline.kinds["invoice"].schema.model_fields


def test_a_dump_loads_as_the_same_pipeline_and_has_no_secret(tmp_path: Path) -> None:
    pipeline = load(tmp_path)

    dump = dump_pipeline(pipeline)

    assert "secret-1" not in dump
    assert load(tmp_path, dump).fingerprint == pipeline.fingerprint
    assert load(tmp_path, dump).configuration == pipeline.configuration
    assert pipeline_of(pipeline.configuration, environment=ENVIRONMENT).fingerprint == pipeline.fingerprint


def test_the_fingerprint_changes_with_settings_and_not_with_form_or_secrets(tmp_path: Path) -> None:
    before = load(tmp_path).fingerprint

    assert load(tmp_path, "# a remark\n" + TEXT, {"KEY": "secret-2"}).fingerprint == before
    assert load(tmp_path, TEXT, {"KEY": "secret-1", "LIMIT": "9"}).fingerprint != before
    assert load(tmp_path, TEXT.replace("  key:", "  model: large\n  key:")).fingerprint != before
    assert load(tmp_path, TEXT.replace("{schema: invoice}", "{schema: receipt}")).fingerprint != before


def test_a_component_may_take_the_whole_configuration(tmp_path: Path) -> None:
    text = TEXT.replace("KeyExtractor\n  key: ${KEY}", "WholeExtractor")

    assert load(tmp_path, text).extractor.config.reader.max_bytes == 500


def test_a_folder_has_a_file_for_each_component(tmp_path: Path) -> None:
    for name, content in {
        "reader": "kind: local",
        "converter": "kind: tests.runs.components:TextConverter",
        "extractor": "kind: tests.runs.components:FirstWordExtractor",
        "extraction_exporter": "kind: json-lines\npath: out.jsonl",
        "extraction_orchestrator": "schema: invoice\nprocesses: 3",
    }.items():
        (tmp_path / f"{name}.yaml").write_text(content)

    assert load_pipeline(tmp_path, environment={}).processes == 3

    (tmp_path / "readr.yaml").write_text("kind: local")
    with pytest.raises(MisconfiguredError, match=r"readr\.yaml: unknown file; do you mean 'reader'"):
        load_pipeline(tmp_path, environment={})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_bytes", "max_byte", r"yaml:4:3: unknown key 'max_byte'; do you mean 'max_bytes'"),
        ("policy:", "polcy:", r"yaml:12:1: unknown key 'polcy'; do you mean 'policy'"),
        ("concurrency: 7", "concurrency: many", r"yaml:12:10: policy\.concurrency: .*integer"),
        ("${LIMIT:-500}", "${LIMIT}", r"yaml:4:3: the environment variable 'LIMIT' is not set"),
        ("${LIMIT:-500}", "${LIMIT", r"yaml:4:3: write \$\{NAME\}"),
        ("kind: local\n", "kind: lcal\n", r"yaml:3:3: there is no reader 'lcal'; do you mean 'local'"),
        ("  kind: local\n", "  kind: local\n  kind: local\n", r"yaml:4:3: the key 'kind' is there twice"),
        (":TextConverter", ":Nothing", r"yaml:5:13: .* has no 'Nothing'"),
        (":TextConverter", ":Letter", r"yaml:5:13: .* is no converter"),
        ("schema: invoice", "schema: invoyce", r"yaml:14:13: 'invoyce' is no schema"),
        ("{concurrency: 7}", "!!python/name:os.system x", r"yaml:12:9: no valid|tag .* not allowed"),
        ("{concurrency: 7}", "[", r"no valid YAML"),
        ("schema: tests", "# schema: tests", r"the key 'schema' is missing"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(MisconfiguredError, match=message):
        load(tmp_path, TEXT.replace(old, new, 1))


def test_aliases_of_aliases_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]

    with pytest.raises(MisconfiguredError, match="too many values"):
        load(tmp_path, "\n".join(lines))


def test_the_value_of_a_secret_is_in_no_message(tmp_path: Path) -> None:
    text = TEXT.replace("concurrency: 7", "concurrency: ${KEY}")

    with pytest.raises(MisconfiguredError) as caught:
        load(tmp_path, text)

    assert "secret-1" not in str(caught.value)
    assert "secret-1" not in repr(caught.value.__cause__)


def test_a_short_name_belongs_to_one_class() -> None:
    register("extractor", "test-key")(KeyExtractor)

    assert component_class("extractor", "test-key") is KeyExtractor
    with pytest.raises(MisconfiguredError, match="registered already"):
        register("extractor", "test-key")(WholeExtractor)


def test_a_loaded_pipeline_runs_and_keeps_no_secret(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "letter.txt").write_text("Ada writes")
    text = TEXT.replace("folder: in", f"folder: {tmp_path}/in").replace("out$$", f"{tmp_path}/out")

    report = load(tmp_path, text).run()

    assert report.completed == 1
    assert "secret-1" not in str(report.run.configuration)
    assert '"sender": "Ada"' in (tmp_path / "out.jsonl").read_text()


def test_the_schema_for_editors_accepts_what_loads_and_refuses_unknown_keys(tmp_path: Path) -> None:
    pipeline = load(tmp_path)
    validator = Draft202012Validator(configuration_schema())

    assert validator.is_valid({**pipeline.configuration, "reader": {"kind": "local", "max_bytes": 5}})
    assert not validator.is_valid({**pipeline.configuration, "reader": {"kind": "local", "max_byte": 5}})
    assert not validator.is_valid({**pipeline.configuration, "polcy": {}})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_read_as_the_same(value: Any) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.yaml"
        path.write_bytes(write_yaml(value).encode("utf-8"))

        assert read_yaml(path).value == value


def test_a_module_that_fails_at_its_import_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_component.py").write_text("1 / 0")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    with pytest.raises(MisconfiguredError, match=r"yaml:5:13: cannot import .*division by zero"):
        load(tmp_path, TEXT.replace("tests.runs.components:TextConverter", "broken_component:X"))


@pytest.mark.parametrize(
    ("role", "name"),
    [(role, name) for role in get_args(Role) for name in short_names(role)],
)
def test_every_short_name_is_a_component_whose_settings_are_known(role: Role, name: str) -> None:
    model, _ = config_model(component_class(role, name))
    assert model is not None


def test_all_bad_values_of_a_component_are_told_with_their_places(tmp_path: Path) -> None:
    text = TEXT.replace(
        "  kind: local\n  max_bytes: ${LIMIT:-500}", "  kind: http\n  max_bytes: many\n  limit_s: soon"
    )

    with pytest.raises(MisconfiguredError) as raised:
        load(tmp_path, text)

    first, second = raised.value.message.splitlines()
    assert "pipeline.yaml:4:" in first
    assert "reader.max_bytes: Input should be a valid integer" in first
    assert "pipeline.yaml:5:" in second
    assert "reader.limit_s: Input should be a valid number" in second


def test_a_component_without_settings_is_its_name(tmp_path: Path) -> None:
    text = TEXT.replace("reader:\n  kind: local\n  max_bytes: ${LIMIT:-500}", "reader: local")

    pipeline = load(tmp_path, text)

    assert isinstance(pipeline.reader, LocalReader)
    assert dump_pipeline(pipeline).splitlines().count("reader: local") == 1
    Draft202012Validator(configuration_schema()).validate(pipeline.configuration)

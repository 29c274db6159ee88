"""The settings file that ``overread init`` writes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from overread._sections import describe_keys
from overread.study import MODELS, Settings, parse_settings, read_settings
from overread.study._settings import TOP, WIDTH, HitsBase, settings_template
from overread.truth import hit_rule_parameters


def switch_on(text: str) -> str:
    """Take the sign of a comment off every line that gives a key."""
    return re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)


def test_it_means_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(settings_template())
    assert read_settings(path) == Settings()
    assert read_settings(path, seed=9).seed == 9


def test_every_key_is_there_and_can_be_switched_on() -> None:
    shown = tomllib.loads(switch_on(settings_template()))
    # Numbers of one hit rule are refused by another.
    own = {one.name for one in hit_rule_parameters()[shown["hits"]["rule"]]}
    fitting = {
        key: value for key, value in shown["hits"].items() if key in own or key in HitsBase.model_fields
    }
    parse_settings({**{name: value for name, value in shown.items() if name != "inputs"}, "hits": fitting})
    for section, values in Settings().to_plain().items():
        if section in TOP:
            assert shown[section] == values
            continue
        assert list(shown[section]) == list(values)
        for key, value in values.items():
            assert shown[section][key] == value or value is None, (section, key)


def test_a_key_without_a_default_says_so() -> None:
    text = " ".join(settings_template().split("\n# "))
    for section, values in Settings().to_plain().items():
        for key in [key for key, value in values.items() if value is None] if section not in TOP else []:
            assert re.search(rf"Not set; for example: {key} = ", text), (section, key)


def test_every_key_is_explained_in_its_section_s_own_words() -> None:
    for name, field in Settings.model_fields.items():
        if name in TOP:
            continue
        told = describe_keys(field.annotation)
        for key in field.annotation.model_fields:
            assert told[key].endswith("."), (name, key)


def test_sections_of_models_come_in_their_order_after_the_models() -> None:
    sections = re.findall(r"^\[(\w+)\]", settings_template(), flags=re.MULTILINE)
    place = sections.index("models")
    assert sections[place + 1 : place + 1 + len(MODELS)] == list(MODELS)
    assert len(sections) == len(set(sections)) == len(Settings.model_fields) - len(TOP)


def test_lines_are_no_wider_than_a_screen() -> None:
    assert max(map(len, settings_template().splitlines())) <= WIDTH + 2

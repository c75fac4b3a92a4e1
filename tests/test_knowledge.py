"""The pages and tables: what is read, and what is refused."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from dtypelint import knowledge
from dtypelint.errors import UserError
from dtypelint.finding import Safety, Severity
from dtypelint.knowledge import Knowledge, read_api, read_page, rule_url, rules_dir

PAGE = """# `lost-word` (`DTL999`)

A word
is lost.

More prose.

```toml
severity = ["error", "note"]
fix = ["safe", "unsafe"]
since = "0.1.0"
smoke = "policy"
seen = ["https://example.org/1"]
pedantic = true
triggers = ["^\\\\s+lost", "word"]
```

## Flagged
"""

CALLS = """[library]
name = "torch"
newest = "2.13.0"

[[call]]
kind = "policy"
name = "Policy"
family = "fsdp2"
paths = ["torch.Policy", "torch.fsdp.Policy"]
parameters = ["param_dtype", "reduce_dtype"]
keyword_only = ["late"]
roles = { reduce_dtype = "reduce" }
frozen = true
[call.unset]
reduce_dtype = [{ versions = "<2.15", means = "param_dtype" }]
"""


def test_a_page_is_a_rule() -> None:
    rule = read_page(PAGE, "rules/lost-word.md")
    assert (rule.code, rule.name, rule.summary) == ("DTL999", "lost-word", "A word is lost.")
    assert rule.severities == (Severity.ERROR, Severity.NOTE)
    assert rule.fixes == (Safety.SAFE, Safety.UNSAFE)
    assert (rule.since, rule.smoke, rule.seen) == ("0.1.0", "policy", ("https://example.org/1",))
    assert rule.pedantic
    assert rule.triggers == (rb"^\s+lost", b"word")
    assert rule.page == PAGE
    assert not rule.own


def test_a_rule_without_a_fix_has_none() -> None:
    text = PAGE.replace('["safe", "unsafe"]', '"none"').replace("pedantic = true", "").replace("DTL999", "DTL000")
    rule = read_page(text, "rules/lost-word.md")
    assert rule.fixes == ()
    assert not rule.pedantic
    assert rule.own


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("# `lost-word`", "# lost-word", ":1: the heading"),
        ("`lost-word` (", "`last-word` (", ":1: the heading"),
        ("```toml", "```ini", ":1: the page has no toml block"),
        ("A word\nis lost.\n\nMore prose.\n", "", ":2: the page has no summary"),
        ('severity = ["error", "note"]', "", "`severity` is missing"),
        ('severity = ["error", "note"]', 'severity = "fatal"', ":9: `fatal` is no severity"),
        ('fix = ["safe", "unsafe"]', 'fix = "perhaps"', ":10: `perhaps` is no fix"),
        ('since = "0.1.0"', "", "`since` is missing"),
        ('since = "0.1.0"', "since = 1", ":11: `since` must be a string"),
        ("pedantic = true", 'pedantic = "yes"', ":14: `pedantic` must be true or false"),
        ('seen = ["https://example.org/1"]', "seen = [1]", ":13: `seen` must be a list of strings"),
        ('seen = ["https://example.org/1"]', 'seen = "x"', ":13: `seen` must be a list of strings"),
        ('"word"]', '"("]', ":15: the trigger `(` is not a pattern"),
        ("smoke =", "smokes =", ":12: unknown key `smokes`: did you mean `smoke`?"),
        ("smoke =", "smoke", ":12: not valid TOML: expected '=' after a key"),
    ],
)
def test_a_page_that_breaks_the_format_is_refused(old: str, new: str, complaint: str) -> None:
    assert old in PAGE
    with pytest.raises(UserError) as caught:
        read_page(PAGE.replace(old, new), "rules/lost-word.md")
    assert f"rules/lost-word.md{complaint}" in str(caught.value) or f"rules/lost-word.md: {complaint}" in str(
        caught.value
    )


def test_an_empty_page_is_refused() -> None:
    with pytest.raises(UserError, match="heading"):
        read_page("", "rules/lost-word.md")


def test_a_block_without_an_end_goes_to_the_end() -> None:
    text = PAGE.partition("## Flagged")[0].rstrip().removesuffix("```")
    assert read_page(text, "rules/lost-word.md").code == "DTL999"


def test_a_table_gives_calls() -> None:
    api = read_api(CALLS, "torch.toml")
    library, (call,) = api.library, api.calls
    assert (library.name, library.newest) == ("torch", "2.13.0")
    assert (call.library, call.kind, call.name, call.family) == ("torch", "policy", "Policy", "fsdp2")
    assert call.paths == ("torch.Policy", "torch.fsdp.Policy")
    assert (call.parameters, call.keyword_only) == (("param_dtype", "reduce_dtype"), ("late",))
    assert (dict(call.roles), call.frozen) == ({"reduce_dtype": "reduce"}, True)
    assert call.extra["unset"]["reduce_dtype"][0]["means"] == "param_dtype"
    with pytest.raises(TypeError):
        call.extra["unset"]["reduce_dtype"] = ()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("frozen = true", 'frozen = "true"', "`call.frozen` must be true or false"),
        ("frozen = true", "frosen = true", "unknown key `call.frosen`: did you mean `frozen`?"),
        ('newest = "2.13.0"', "", "`library.newest` is missing"),
        ('kind = "policy"', "", "`call.kind` is missing"),
        ('paths = ["torch.Policy", "torch.fsdp.Policy"]', "", "`Policy` has no paths"),
        ('reduce_dtype = "reduce"', "reduce_dtype = 1", "`call.roles.reduce_dtype` must be a string"),
        ('"<2.15"', '"before 2.15"', "`before 2.15` is no range of versions"),
        ('"<2.15"', "2", "`2` is no range of versions"),
        ("[[call]]", "[call]", "`call` must be a list of tables"),
        ("[library]", "[libary]", "`library.name` is missing"),
    ],
)
def test_a_table_with_an_unknown_word_is_refused(old: str, new: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        read_api(CALLS.replace(old, new), "torch.toml")
    assert str(caught.value).startswith("torch.toml:")
    assert complaint in str(caught.value)


def test_a_list_of_tables_holds_tables() -> None:
    with pytest.raises(UserError, match="`call` must be a list of tables"):
        read_api('call = [1]\n[library]\nname = "x"\nnewest = "1"\n', "own.toml")


@pytest.fixture
def folder(house: Path) -> Path:
    (house / "apis" / "torch.toml").write_text(CALLS)
    (house / "roles.toml").write_text('[[role]]\nname = "reduce"\nwords = ["comm"]\n')
    return house


def test_the_users_own_calls_come_last_and_win(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        CALLS.replace('"torch"', '"ours"').replace("fsdp2", "ours").replace('"torch.fsdp.Policy"', '"ours.Policy"')
    )
    known = Knowledge((own,))
    assert [call.family for call in known.calls] == ["fsdp2", "ours"]
    assert known.by_path["torch.Policy"].family == "ours"
    assert known.by_path["torch.fsdp.Policy"].family == "fsdp2"
    assert known.by_path["ours.Policy"].library == "ours"
    assert set(known.libraries) == {"torch", "ours"}
    assert known.digest != Knowledge().digest


def test_methods_are_not_reached_by_path(folder: Path) -> None:
    (folder / "apis" / "torch.toml").write_text(CALLS.replace("frozen = true", "method = true"))
    known = Knowledge()
    assert not known.by_path
    assert known.calls[0].extra["method"] is True


def test_the_digest_follows_the_roles(folder: Path) -> None:
    before = Knowledge().digest
    assert Knowledge().digest == before
    (folder / "roles.toml").write_text('[[role]]\nname = "reduce"\nwords = ["comms"]\n')
    assert Knowledge().digest != before
    assert Knowledge().roles["role"][0]["words"] == ("comms",)


def test_an_api_file_that_is_not_there_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none.toml: the api file cannot be read"):
        _ = Knowledge((tmp_path / "none.toml",)).calls


def test_a_rule_is_found_by_code_and_name(folder: Path) -> None:
    known = Knowledge()
    assert known.rule("DTL101") is known.rule("lost-sink")
    with pytest.raises(UserError, match="unknown rule `lost-sinks`: did you mean `lost-sink`?"):
        known.rule("lost-sinks")


def test_the_shipped_knowledge_can_be_read() -> None:
    known = Knowledge()
    assert "torch.distributed.fsdp.MixedPrecisionPolicy" in known.by_path
    assert known.roles["role"]
    codes = [rule.code for rule in known.rules]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in known.rules}) == len(codes)
    assert (rules_dir() / "roles.toml").is_file()


def test_an_address_needs_no_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    installed = rule_url("lost-word")
    monkeypatch.setattr(metadata, "metadata", missing)
    knowledge._rules_url.cache_clear()
    assert rule_url("lost-word") == installed


def test_every_rule_has_an_address() -> None:
    assert rule_url("lost-word").startswith("https://")
    assert rule_url("lost-word").endswith("/rules/lost-word.md")

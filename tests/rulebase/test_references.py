"""What sources cite: declared references, their sections and addresses; what is said of any other citation."""

from __future__ import annotations

import pytest

from tileproof.base.source import Source
from tileproof.rulebase.load import RuleError, default_files, load
from tileproof.rulebase.references import Citation

REFERENCES = """
reference "the manual" {
  version "2.1";
  url "https://manual/";
  section "add" at "#add";
  section "add.wide", "add wide" at "#wide";
}
reference "the code" { url "https://code/main/{}"; }
reference "issue" { pattern "{}/{}#{}"; url "https://forge/{}/{}/issues/{}"; }
reference "the guide" { }
"""
FINDING = 'finding XX1 a-finding {{ error "no" source {source} }}'


def citations_of(source: str) -> tuple[Citation, ...]:
    book = load((Source("test.rule", REFERENCES + FINDING.format(source=source)),))
    return book.findings["XX1"].citations


def faults_of(text: str) -> list[str]:
    with pytest.raises(RuleError) as error:
        load((Source("test.rule", text),))
    return [str(fault) for fault in error.value.faults]


@pytest.mark.parametrize(
    ("source", "section", "url"),
    [
        ("the manual, add, operand a", "add", "https://manual/#add"),
        ("the manual, add: it adds", "add", "https://manual/#add"),
        ("the manual, add.wide, operand a", "add.wide", "https://manual/#wide"),  # the longest name that fits
        ("the manual, add wide of the new kind", "add wide", "https://manual/#wide"),
        ("the code, include/a.hpp, make_b", "include/a.hpp", "https://code/main/include/a.hpp"),
        ("the code, include/a.hpp: b", "include/a.hpp", "https://code/main/include/a.hpp"),
        ("the code", "", "https://code/main/"),
        ("us/our-tool#12", "us/our-tool#12", "https://forge/us/our-tool/issues/12"),
        ("the guide, on style", "", ""),
        ("deviation: the guide accepts it", "", ""),
    ],
)
def test_a_citation_names_a_section_and_opens_it(source: str, section: str, url: str):
    (citation,) = citations_of(f'"{source}"')
    assert (citation.text, citation.section, citation.url) == (source, section, url)


def test_citations_stand_between_semicolons_in_adjacent_strings():
    found = citations_of('"the manual, add; the " "guide; us/tool#1"')
    assert [citation.text for citation in found] == ["the manual, add", "the guide", "us/tool#1"]
    assert [citation.reference for citation in found] == ["the manual", "the guide", "issue"]


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        # Each at the line and column of its own citation.
        (
            '"the guide; the manuel, add"',
            "test.rule:11:55: the source 'the manuel, add' begins with no declared reference",
        ),
        ('"the guide; the manuel, add"', "nearest: 'the manual'"),
        ('"the manual, add.wode"', "test.rule:11:44: the source 'the manual, add.wode' names no declared section of"),
        ('"the manual, add.wode"', "nearest: 'add.wide'"),
        ('"the manual"', "names no declared section of 'the manual'"),
        ('"the manual says so"', "names no declared section of 'the manual'"),
        ('"us/tool 12"', "begins with no declared reference"),
        ('"the guide;; us/tool#1"', "nothing between two semicolons"),
    ],
)
def test_a_citation_of_what_is_not_declared_is_a_fault_at_its_place(source: str, fault: str):
    (message,) = faults_of(REFERENCES + FINDING.format(source=source))
    assert fault in message


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            'reference "a" { } reference "a" { }',
            "test.rule:1:29: reference 'a' is declared twice, first at test.rule:1:11",
        ),
        (
            'reference "a" { section "b" at "#b"; section "b" at "#c"; }',
            "test.rule:1:46: section 'b' is declared twice",
        ),
        ('reference "a" { pattern "{}#{}"; url "x/{}"; }', "test.rule:1:11: a pattern has as many {} as the address"),
    ],
)
def test_a_reference_that_contradicts_itself_is_a_fault(text: str, fault: str):
    (message,) = faults_of(text)
    assert message.startswith(fault)


def test_every_reference_of_ours_is_cited_and_every_section_leads_somewhere():
    book = load(default_files())
    cited = [
        *book.rules.values(),
        *book.findings.values(),
        *book.tables.values(),
        *book.fragments.values(),
        *book.canonical.values(),
        *(word for same in book.words.values() for word in same),
        *(item for same in (*book.lowerings.values(), *book.templates.values()) for item in same),
    ]
    assert {citation.reference for item in cited for citation in item.citations} == book.references.keys()
    for reference in book.references.values():
        assert reference.url.startswith("https://") or not reference.url
        assert all(address.startswith(("#", "group__")) for address in reference.sections.values()), reference.title

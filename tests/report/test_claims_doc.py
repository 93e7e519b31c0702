"""docs/claims.md names every claim, and nothing that is not there."""

import re

from replication.report.claims import read_claims

CLAIM = re.compile(r"`((?:cvpr2016|nips2012)-[\w-]+)`")
LINK = re.compile(r"\]\(([^)#]+)\)(?:, `(\w+)`)?")


def test_every_claim_is_listed_and_every_listed_claim_exists(repository):
    named = set(CLAIM.findall((repository / "docs/claims.md").read_text(encoding="utf-8")))
    # A claim of several readings is one for each, named behind a slash.
    claims = read_claims(repository / "resources/claims.yaml")
    assert named == {claim.id.partition("/")[0] for claim in claims}


def test_what_holds_a_sentence_without_a_claim_exists(repository):
    links = LINK.findall((repository / "docs/claims.md").read_text(encoding="utf-8"))
    assert any(test for _, test in links)
    for path, test in links:
        text = (repository / "docs" / path).read_text(encoding="utf-8")
        assert re.search(rf"^(class|def) {test}\b", text, re.MULTILINE) or not test

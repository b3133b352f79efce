"""Places inside text that is itself YAML: an annotation's block, a quoted line, a ConfigMap key."""

from __future__ import annotations

import pytest

from tests.helpers import check_text, user_facts

HEAD = """\
apiVersion: v1
kind: Pod
metadata:
  name: shop
  labels:
    sidecar.istio.io/inject: "true"
  annotations:
"""
TAIL = """\
spec:
  containers:
    - name: app
      image: shop/app:1
"""


@pytest.mark.parametrize(
    ("annotation", "line", "column", "end_column"),
    [
        ("    proxy.istio.io/config: |\n      # note\n      drainDuration: 30\n", 10, 22, 24),
        ("    proxy.istio.io/config: |-\n\n        drainDuration: 30\n", 10, 24, 26),
        ("    proxy.istio.io/config: |2\n      drainDuration: 30\n", 9, 22, 24),
        ("    proxy.istio.io/config: 'drainDuration: 30'\n", 8, 44, 46),
        ("    proxy.istio.io/config: '{\"drainDuration\": 30}'\n", 8, 47, 49),
        # written differently than it reads: the key of the annotation
        ('    proxy.istio.io/config: "{\\"drainDuration\\": 30}"\n', 8, 5, 26),
        ("    proxy.istio.io/config: >\n      drainDuration: 30\n", 8, 5, 26),
    ],
)
def test_places_in_an_annotation(annotation: str, line: int, column: int, end_column: int) -> None:
    for ends in ("\n", "\r\n"):
        text = (HEAD + annotation + TAIL).replace("\n", ends)
        (finding,) = check_text(text.encode(), user_facts(istio="1.26")).findings
        region = finding.region
        assert finding.rule == "SL212"
        assert (region.line, region.column, region.end_column) == (line, column, end_column)


def test_the_place_of_a_syntax_error_in_an_annotation() -> None:
    text = HEAD + "    proxy.istio.io/config: |\n      a: 1\n      b: c: d\n" + TAIL
    (finding,) = check_text(text, user_facts(istio="1.26")).findings
    assert (finding.region.line, finding.region.column) == (10, 11)


def test_later_documents_count_their_lines_from_the_files_start() -> None:
    text = "# first\n---\na: 1\n---\n" + HEAD + "    proxy.istio.io/config: 'drainDuration: 30'\n"
    (finding,) = check_text(text + TAIL, user_facts(istio="1.26")).findings
    assert finding.region.line == 12

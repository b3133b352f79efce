"""The metadata of workloads, as the API server takes it."""

from __future__ import annotations

import pytest

from tests.helpers import check_text, dedent, rule_lines

DEPLOYMENT = dedent("""\
    apiVersion: apps/v1
    kind: Deployment
    metadata: METADATA
    spec:
      selector: {matchLabels: {app: shop}}
      template:
        metadata: {labels: {app: shop}}
        spec:
          containers: [{name: app, image: shop/app:1}]
""")


@pytest.mark.parametrize(
    ("metadata", "count"),
    [
        ("{name: shop, namespace: n}", 1),
        ("{name: shop, annotations: {a: true}}", 1),
        ("{name: 5}", 1),
        ("{name: shop, labels: {a: 5, b: 1.5}}", 2),
        ("{name: shop, namespace: 'n', annotations: {a: 'true'}}", 0),
    ],
)
@pytest.mark.parametrize("kind", ["Deployment", "Pod"])
def test_metadata_of_a_wrong_type_is_rejected(metadata: str, count: int, kind: str) -> None:
    text = DEPLOYMENT.replace("METADATA", metadata)
    if kind == "Pod":
        text = dedent(f"""\
            apiVersion: v1
            kind: Pod
            metadata: {metadata}
            spec:
              containers: [{{name: app, image: shop/app:1}}]
        """)
    found = rule_lines(check_text(text).findings)
    assert found.count(("SL003", 3)) == count

"""The numbers that the JavaScript tests know are those of the package."""

import json

import expected
import pytest


def compare(written: object, computed: object, where: str) -> None:
    assert type(written) is type(computed), where
    if isinstance(written, dict):
        assert list(written) == list(computed), where
        for name in written:
            compare(written[name], computed[name], f"{where}.{name}")
    elif isinstance(written, list):
        assert len(written) == len(computed), where
        for i, pair in enumerate(zip(written, computed, strict=True)):
            compare(*pair, f"{where}[{i}]")
    elif isinstance(written, float):
        # Processors add up float32 products in different orders, which moves a logit by about 1e-6.
        assert written == pytest.approx(computed, abs=1e-5), where
    else:
        assert written == computed, where


def test_expected_json_is_what_the_package_computes():
    compare(json.loads(expected.FILE.read_text(encoding="utf-8")), expected.compute(), "")

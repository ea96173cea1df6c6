"""Pages from templates: escaped, and allowed to run their own scripts only."""

import base64
import hashlib
import re

from steelyard.report.pages import Page, asset, script_json


def test_no_text_ends_a_script_element() -> None:
    text = str(script_json({"a": "</script><!--", "b": "\u2028&"}))
    assert not set("<>&\u2028") & set(text)


def test_the_policy_allows_the_scripts_of_the_page_by_their_checksums() -> None:
    html = Page("page.html", {"title": "<b>"}, scripts=("what_if.js",)).html()
    digest = base64.b64encode(hashlib.sha256(asset("what_if.js").encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert f"&#39;sha256-{digest}&#39;" in policy[1]
    assert "default-src &#39;none&#39;" in policy[1]
    assert "<title>&lt;b&gt;</title>" in html


def test_every_rule_of_the_style_lies_under_one_class() -> None:
    text = re.sub(r"/\*.*?\*/", "", asset("tokens.css") + asset("page.css"), flags=re.DOTALL)
    for selector in re.findall(r"([^{}]+)\{", text):
        if not selector.strip().startswith("@"):
            assert all(part.strip().startswith((".sy", "body.sy")) for part in selector.split(",")), selector

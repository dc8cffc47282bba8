"""The page of a sheet, in a headless Chromium: answered by keys, closed and opened again, exported, and read back."""

import json
import os
import time
from pathlib import Path

import pytest
from _browser import CHROMIUM, Browser

from skrank.__main__ import main
from skrank.manifold import TripletStudy

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or os.name != "posix", reason="no Chromium here: install Debian's package chromium"
)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"><rect width="{}" height="50" fill="teal"/></svg>'
N_QUERIES = 10


@pytest.fixture
def sheet(tmp_path, monkeypatch):
    """The page of ann, of a study of pictures and texts."""
    monkeypatch.chdir(tmp_path)
    rows = ["name,text,picture"]
    for number in range(6):
        Path(f"{number}.svg").write_text(SVG.format(10 + 12 * number))
        rows.append(f'"item {number}, ""Ä""",{"a text" if number % 2 else ""},{f"{number}.svg" if number != 3 else ""}')
    Path("items.csv").write_text("\n".join(rows), encoding="utf-8")
    assert main(["study", "new", "items.csv", "--queries", str(N_QUERIES), "--raters", "ann", "--sheets", "s"]) == 0
    return tmp_path / "s" / "sheets" / "ann-1.html"


@pytest.fixture
def open_browser(tmp_path):
    def open_browser(**options):
        return Browser(tmp_path / "profile", tmp_path / "downloads", **options)

    return open_browser


def count(browser):
    return browser.evaluate("document.getElementById('count').textContent")


def answer(browser, key):
    """Press a key, once the page takes one."""
    before = count(browser)
    browser.wait(f"document.getElementById('count').textContent === {before!r}")
    time.sleep(0.25)
    browser.press(key)


def opened_again(browser, load, n_answered):
    """Load the page until it knows the answers: on a busy machine, a browser hands them to the next page late."""
    for _ in range(20):
        load()
        if f"of which you have answered {n_answered}" in browser.evaluate(
            "document.getElementById('amount').textContent"
        ):
            return
        time.sleep(0.5)
    raise AssertionError(f"the page has lost the {n_answered} answers")


def test_a_sheet_by_keys_with_a_pause_and_back(sheet, open_browser, tmp_path, capsys):
    keys = ["ArrowLeft", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft"] * (N_QUERIES // 5)
    with open_browser() as browser:
        browser.open(sheet)
        browser.press("Enter")
        assert count(browser) == "Question 1 of 10"
        browser.press("ArrowLeft")  # at once: nobody can have looked at it
        assert count(browser) == "Question 1 of 10"
        for key in keys[:4]:
            answer(browser, key)
        time.sleep(0.25)
        browser.press("ArrowRight", repeat=True)  # held down
        assert count(browser) == "Question 5 of 10"
        browser.press("Backspace")
        assert count(browser) == "Question 4 of 10"
        assert browser.evaluate("document.getElementById('right').getAttribute('aria-pressed')") == "true"
        answer(browser, "ArrowLeft")  # changes the answer, and goes on where it was
        assert count(browser) == "Question 5 of 10"
        browser.press("Backspace")
        answer(browser, keys[3])
        opened_again(browser, browser.reload, n_answered=4)
        browser.press("Enter")
        answer(browser, keys[4])
        browser.leave()
        opened_again(browser, lambda: browser.open(sheet), n_answered=5)  # another day
        browser.press("Enter")
        assert count(browser) == "Question 6 of 10"
        for key in keys[5:]:
            answer(browser, key)
        assert browser.evaluate("document.querySelector('#end h1').textContent") == "Thank you"
        browser.click("#save")
        saved = tmp_path / "downloads" / "ann-1-responses.csv"
        end = time.monotonic() + 20
        while not (saved.exists() and saved.stat().st_size) and time.monotonic() < end:
            time.sleep(0.05)
        content = saved.read_text(encoding="utf-8-sig")
        assert browser.evaluate("document.getElementById('content').value") == content.replace("\r\n", "\n")
        assert [address for address in browser.requests if not address.startswith(("data:", sheet.as_uri()))] == []
        assert browser.errors == []
    capsys.readouterr()
    assert main(["study", "read", "s", str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_new"] == N_QUERIES
    words = {"ArrowLeft": "left", "ArrowRight": "right", "ArrowDown": None}
    responses = TripletStudy.load(tmp_path / "s" / "study.jsonl").responses()
    assert [one.response for one in responses] == [words[key] for key in keys]
    assert {one.rater for one in responses} == {"ann"}


@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_fits_and_can_be_touched(sheet, open_browser, width):
    with open_browser(width=width, height=800) as browser:
        browser.open(sheet)
        browser.click("#begin")
        for _ in range(3):
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            boxes = browser.evaluate(
                "[...document.querySelectorAll('#query button')].map(e => e.getBoundingClientRect())"
                ".map(box => [box.left, box.right, box.top, box.bottom])"
            )
            for left, right, top, bottom in boxes:
                assert 0 <= left < right <= width
                assert bottom - top >= 44  # the least that fingers hit
                assert bottom <= 800
            time.sleep(0.25)
            browser.click("#right")
        assert count(browser) == "Question 4 of 10"
        browser.click("#pause")
        assert "3 of 10 questions are answered" in browser.evaluate("document.getElementById('end-text').textContent")
        assert browser.errors == []


def test_what_assistive_technology_is_told(sheet, open_browser):
    with open_browser() as browser:
        browser.open(sheet)
        browser.press("Enter")
        nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
        told = {
            (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")
        }
        assert {"main", "heading", "button", "status", "progressbar", "image"} <= {role for role, _ in told}
        named = [(role, name) for role, name in told if role in ("button", "image", "progressbar")]
        assert all(name.strip() for _, name in named), named
        assert browser.evaluate("document.activeElement.id") == "question"


def test_a_browser_that_keeps_nothing_says_so(sheet, open_browser):
    with open_browser() as browser:
        browser.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source="Object.defineProperty(window, 'localStorage', {get() { throw new Error('none'); }});",
        )
        browser.open(sheet)
        assert not browser.evaluate("document.getElementById('volatile').hidden")
        browser.press("Enter")
        answer(browser, "ArrowLeft")
        assert count(browser) == "Question 2 of 10"

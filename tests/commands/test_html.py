"""The report as one page: whole, escaped, and without the network."""

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from skrank.__main__ import main

VOID = {"meta", "br", "img", "rect"}


class Page(HTMLParser):
    """Checks that tags match, and collects what is of interest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.rects, self.rows = [], [], 0, 0
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag == "rect":
            self.rects += 1
        self.rows += tag == "tr"
        if tag not in VOID - {"rect"}:
            self.open.append(tag)
        assert not {"src", "href", "srcset"} & dict(attributes).keys()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def test_the_page_of_the_apa(tmp_path, capsys):
    path = tmp_path / "apa.html"
    assert main(["report", "--html", str(path)]) == 0
    assert f"The page is {path}." in " ".join(capsys.readouterr().out.split())
    content = path.read_text(encoding="utf-8")
    page = Page(content)
    text = " ".join(" ".join(page.text).split())
    assert "American Psychological Association, ballots of 1980" in text
    assert "15449 rankings of 5 items, 205 of them distinct." in text
    assert "C beats every other item by majority." in text
    assert "prefer C to A" in text
    assert "3 groups, which random halves of the voters find again." in text
    assert "No number of clusters from 2 to 8 is stable" in text
    clusters = text[text.index("Clusters of rankings") :]
    assert re.search(r"\d of 30 [A-E]( [>~] [A-E]){4}", clusters)
    assert "~" in clusters[: clusters.index("To measure stability")]  # an order that halves reverse is not certified
    assert page.rects == 5 * 6 + 5 * 4  # five places and none, and the pairs of items
    assert not re.search(r"https?:|url\(|@import", content)


def test_names_are_escaped_and_a_label_has_its_section(tmp_path):
    names = ["<script>alert(1)</script>", "R&D", '"quoted"']
    rng = np.random.default_rng(0)
    rows = [[*rng.permutation(3), rng.choice(["x<y", "z"])] for _ in range(60)]
    header = ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in [*names, "kind"])
    (tmp_path / "votes.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]))
    options = ["--label", "kind", "--html", str(tmp_path / "page.html")]
    assert main([str(tmp_path / "votes.csv"), *options]) == 0
    content = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in content
    assert "x<y" not in content
    text = " ".join(" ".join(Page(content).text).split())
    assert all(name in text for name in names)
    assert "Do people with different labels rank differently?" in text
    assert "Columns: items (ranks):" in text


def test_without_jinja_the_remedy_is_told(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["report", "--html", "x.html"]) == 2
    assert "--html needs jinja2: pip install jinja2" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["nowhere/x.html"])
def test_a_page_that_cannot_be_written_is_told_before_the_work(path, capsys):
    assert main(["report", "--html", path]) == 2
    assert "--html nowhere/x.html: there is no directory" in capsys.readouterr().err


def test_long_names_are_whole_on_the_page(tmp_path):
    names = ["Improve the reliability of public transport in rural districts and villages", "b" * 60, "Ann"]
    votes = tmp_path / "votes.csv"
    votes.write_text(",".join(names) + "\n1,2,3\n3,1,2\n1,3,2\n", encoding="utf-8")
    page = tmp_path / "page.html"
    assert main(["report", str(votes), "--html", str(page)]) == 0
    heat = page.read_text(encoding="utf-8").split('class="heat"')[1].split("</svg>")[0]
    texts = "".join(re.findall(r"<text[^>]*>([^<]*)</text>", heat)).replace(" ", "")
    for name in names:
        assert name.replace(" ", "") in texts

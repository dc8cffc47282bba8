"""The README, CONTRIBUTING and doc/: their code runs and gives what they say, and the reference is complete."""

import ast
import doctest
import importlib
import pkgutil
import re
import shlex
import textwrap
from pathlib import Path

import pytest

import skrank
from skrank.__main__ import _parser

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = sorted(
    page
    for page in (ROOT / "doc").rglob("*.rst")
    if not {"auto_examples", "generated", "_templates", "_build"} & set(page.relative_to(ROOT / "doc").parts)
    and page.name != "sg_execution_times.rst"
)
SUBPACKAGES = sorted(module.name for module in pkgutil.iter_modules(skrank.__path__) if not module.name.startswith("_"))
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^( *)\.\. code-block:: python\n\n((?:\1 +.*\n|\n)+)", re.MULTILINE)


def test_pages_are_found():
    # Installed from a wheel without doc/ there would be nothing to test, and no failure.
    assert len(PAGES) > 10
    assert README.exists()


def _page_name(page):
    return str(page.relative_to(ROOT))


def _python(page):
    """The text of a page that holds doctests: for Markdown its Python blocks, or a fence would end an output."""
    text = page.read_text(encoding="utf-8")
    return "\n".join(FENCE.findall(text)) if page.suffix == ".md" else text


@pytest.mark.parametrize("page", [README, CONTRIBUTING, *PAGES], ids=_page_name)
def test_code_gives_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a page may write files
    test = doctest.DocTestParser().get_doctest(_python(page), {}, _page_name(page), str(page), 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF | doctest.ELLIPSIS, verbose=False)
    failed = runner.run(test, out=report.append).failed
    assert not failed, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=_page_name)
def test_code_that_is_only_shown_is_python(page):
    for _, block in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
        ast.parse(textwrap.dedent(block))


def test_readme_has_examples():
    assert len(FENCE.findall(README.read_text(encoding="utf-8"))) >= 4


def test_two_commands_open_the_readme():
    commands = re.findall(r"^```\n(pip install .*)\n```$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands == ["pip install . && python -m skrank", 'pip install ".[test]" && pytest']


@pytest.mark.parametrize("page", [README, *PAGES], ids=_page_name)
def test_commands_exist(page):
    parser = _parser("python -m skrank")
    for line in re.findall(r"^(?:   \$ )?python -m skrank ?(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        if not line.startswith(("--help", "report --help")):
            parser.parse_args(shlex.split(line))


def test_files_that_the_readme_links_to_exist():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing


@pytest.mark.parametrize("package", SUBPACKAGES)
def test_every_public_name_is_in_the_reference(package):
    reference = (ROOT / "doc" / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(rf"^   {package}\.(\w+)$", reference, re.MULTILINE)
    assert sorted(listed) == sorted(importlib.import_module(f"skrank.{package}").__all__)


def test_functions_of_the_data_flow_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Data flow")[2].partition("\n## ")[0]
    names = re.findall(r"`((?:_rankings|kernels|mixture|manifold)\.[\w.]+)`", section)
    assert len(names) > 30
    for name in names:
        pkgutil.resolve_name(f"skrank.{name}")

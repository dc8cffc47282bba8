"""The README: its code gives what it says, and its commands are those of the continuous integration."""

import doctest
import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_code_gives_what_the_readme_says():
    text = README.read_text(encoding="utf-8")
    blocks = CODE.findall(text)
    assert len(blocks) >= 6
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", str(README), 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF, verbose=False)
    failed = runner.run(test, out=report.append).failed
    assert not failed, "".join(report)


def test_two_commands_open_it():
    commands = re.findall(r"^```\n(pip install .*)\n```$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands == ["pip install . && python -m skrank", 'pip install ".[test]" && pytest']

"""Check the built documentation: links within the site, headings, and the contrast of its colors.

    python .ci/check_site.py doc/_build

Prints each problem and exits with 1 if there is any. Uses the standard library only.

- Links: every link to a page, image, style sheet or script of the site leads to a file, and every anchor exists.
- Headings: every page has one h1, and no level is skipped below it.
- Contrast: in the light and the dark theme, the ratio of text to background is at least 4.5, as WCAG 2.2 requires for
  level AA (success criterion 1.4.3).
"""

import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

LEAST_CONTRAST = 4.5

# Text and background, in the theme's variables.
COLORS = [
    ("text-base", "background"),
    ("text-base", "on-background"),
    ("text-base", "surface"),
    ("text-muted", "background"),
    ("text-muted", "on-background"),
    ("heading", "background"),
    ("link", "background"),
    ("link", "on-background"),
    ("link-hover", "background"),
    ("link", "surface"),
    ("inline-code", "surface"),
    ("on-surface", "surface"),
    ("table", "on-background"),
    ("table", "surface"),
]


class Page(HTMLParser):
    """Anchors, links and levels of headings of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.levels = set(), [], []
        self.redirects = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]
        self.redirects |= attributes.get("http-equiv") == "refresh"
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))


def dead_links(site, pages):
    """Links of the pages to files and anchors that the site does not have."""
    for path, page in pages.items():
        for link in page.links:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            file = (path.parent / unquote(target.path)).resolve() if target.path else path
            file = file / "index.html" if file.is_dir() else file
            anchor = unquote(target.fragment)
            if not file.exists():
                yield f"{path.relative_to(site)}: dead link {link}"
            elif anchor and file in pages and anchor not in pages[file].anchors:
                yield f"{path.relative_to(site)}: no anchor {link}"


def wrong_headings(site, pages):
    """Pages whose headings do not form an outline below a single h1."""
    for path, page in pages.items():
        if page.redirects:
            continue
        if page.levels.count(1) != 1:
            yield f"{path.relative_to(site)}: {page.levels.count(1)} headings h1, must be one"
        for upper, lower in pairwise(page.levels):
            if lower > upper + 1:
                yield f"{path.relative_to(site)}: h{lower} follows h{upper}"


def declarations(text, theme):
    """Selectors and declarations of the rules of a style sheet that apply in a theme, in order."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
        themes = re.findall(r"data-theme=[\"']?(\w+)", selector)
        if not themes or theme in themes:
            yield selector.strip(), dict(re.findall(r"([\w-]+)\s*:\s*([^;]+)", body))


def resolve(color, variables):
    """A color as six hexadecimal digits, or None if it is something else, such as transparent."""
    while reference := re.match(r"var\((--[\w-]+)", color.strip()):
        color = variables.get(reference[1], "")
    digits = re.match(r"#([0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b", color.strip())
    if digits is None:
        return {"white": "ffffff", "black": "000000"}.get(color.strip())
    return digits[1] if len(digits[1]) == 6 else "".join(2 * digit for digit in digits[1])


def contrast(color, other):
    """The contrast ratio of WCAG, from 1 to 21."""

    def luminance(digits):
        channels = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(color), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def low_contrasts(site):
    """Pairs of colors with too little contrast: the theme's, those of code, and those that skrank.css sets."""
    static = site / "_static"
    theme_css, own_css, code_css = (
        (static / name).read_text(encoding="utf-8")
        for name in ("styles/pydata-sphinx-theme.css", "skrank.css", "pygments.css")
    )
    for theme in ("light", "dark"):
        rules = list(declarations(theme_css, theme)) + list(declarations(own_css, theme))
        variables = {name: value for _, body in rules for name, value in body.items() if name.startswith("--")}
        pairs = [(f"{text} on {back}", f"var(--pst-color-{text})", f"var(--pst-color-{back})") for text, back in COLORS]
        for selector, body in declarations(own_css, theme):
            if "color" in body:
                background = body.get("background-color", body.get("background", "var(--pst-color-background)"))
                pairs.append((selector, body["color"], background))
        code = [rule for rule in declarations(code_css, theme) if ".highlight" in rule[0]]
        surface = next(body["background"] for selector, body in code if selector.endswith(".highlight"))
        pairs += [
            (selector, body["color"], body.get("background-color", surface))
            for selector, body in code
            if "color" in body
        ]
        for name, text, background in pairs:
            text, background = resolve(text, variables), resolve(background, variables) or resolve(surface, variables)
            if text is not None and contrast(text, background) < LEAST_CONTRAST:
                yield f"{theme}: {name}: #{text} on #{background} has a contrast of {contrast(text, background):.2f}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    site = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    if not pages:
        sys.exit(f"{site} contains no pages")
    problems = [*dead_links(site, pages), *wrong_headings(site, pages), *low_contrasts(site)]
    print(*problems, sep="\n", end="\n" if problems else "")
    n_links = sum(len(page.links) for page in pages.values())
    print(f"{len(pages)} pages, {n_links} links, {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()

"""Sphinx configuration: `sphinx-build -n -W doc doc/_build` after `pip install ".[doc]"`."""

import importlib
import pkgutil
import warnings

from docutils import nodes

import skrank

# The examples draw into files, where a window cannot be shown.
warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown", category=UserWarning)

project = "skrank"
author = "The skrank developers"
copyright = "2026, the skrank developers"
version = release = skrank.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx_copybutton",
    "sphinx_design",
    "numpydoc",
    "myst_parser",  # CHANGELOG.md
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "examples"]
templates_path = ["_templates"]
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"  # the docstrings say more, shapes for one
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
toc_object_entries_show_parents = "hide"
myst_heading_anchors = 2

html_theme = "pydata_sphinx_theme"
html_title = "skrank"
html_static_path = ["_static"]
html_css_files = ["skrank.css"]
html_theme_options = {
    "logo": {"text": "skrank"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "changelog": []}
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "image_scrapers": ("matplotlib",),
    "subsection_order": [
        "examples/elections_and_surveys",
        "examples/groups",
        "examples/kernels",
        "examples/maps",
        "examples/*",
    ],
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("skrank",),
    "abort_on_example_error": True,
    "capture_repr": (),  # what an example prints is shown, the value of its last line is not
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "thumbnail_size": (560, 392),
    "plot_gallery": "True",
}

# Pages of other projects that are linked by name. Their inventories would need a network to build the documentation.
EXTERNAL_PAGES = {
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{}.html",
}
nitpick_ignore_regex = [("py:.*", r"(joblib|matplotlib|pandas|dask)\..*"), ("py:mod", r"(joblib|scipy|skrank)\b.*")]


def _documented_names():
    """The name under which the reference lists each public object, by identity."""
    names = {}
    for module in pkgutil.iter_modules(skrank.__path__, "skrank."):
        if not module.name.rpartition(".")[2].startswith("_"):
            public = importlib.import_module(module.name)
            names.update(
                {id(getattr(public, name)): f"{module.name}.{name}" for name in getattr(public, "__all__", ())}
            )
    return names


def resolve_name(app, env, node, content):
    """Link names such as `skrank.MallowsMixture`, listed in the reference by their subpackage, and other projects'."""
    target = node.get("reftarget", "")
    package, _, name = target.partition(".")
    if package in EXTERNAL_PAGES and node.get("refdomain") == "py":
        return nodes.reference("", "", content, internal=False, refuri=EXTERNAL_PAGES[package].format(target))
    owner, _, member = name.partition(".")
    documented = _documented_names().get(id(getattr(skrank, owner, None)))
    if package != "skrank" or documented is None:
        return None
    node = node.copy()
    node["reftarget"] = f"{documented}.{member}" if member else documented
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], node["reftarget"], node, content)


def setup(app):
    """Connect the resolver of names."""
    app.connect("missing-reference", resolve_name)

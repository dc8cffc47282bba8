"""Sphinx configuration: `sphinx-build -W doc doc/_build` after `pip install ".[doc]"`."""

import warnings

import skrank

# The examples draw into files: that no window is shown is not news.
warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown", category=UserWarning)

project = "skrank"
author = "The skrank developers"
copyright = "2026, the skrank developers"
version = release = skrank.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "examples"]
templates_path = ["_templates"]
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"  # the docstrings say more, shapes for one
autodoc_typehints = "none"  # the docstrings say more

html_theme = "pydata_sphinx_theme"
html_title = "skrank"
html_theme_options = {
    "logo": {"text": "skrank"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "image_scrapers": ("matplotlib",),
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("skrank",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "plot_gallery": "True",
}

"""Sphinx configuration: `sphinx-build doc doc/_build` after `pip install ".[doc]"`."""

import skrank

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
exclude_patterns = ["_build", "examples"]
autosummary_generate = True
numpydoc_show_class_members = False
html_theme = "alabaster"
html_theme_options = {"description": "scikit-learn for rankings", "page_width": "1080px"}

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "image_scrapers": ("matplotlib",),
}

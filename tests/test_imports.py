"""Imports run one way: a module imports from the layers below its own only, and never from a neighbor in its layer."""

import ast
from pathlib import Path

import skrank

LAYERS = [
    {"_threads"},
    {"exceptions", "_typing", "_random", "_fitting", "_callbacks", "_dask", "_rankings"},
    {"_pair_words", "_sparse_rankings"},
    {"_mallows", "_triplets"},
    {"_total_variation"},
    {"preprocessing", "metrics"},
    {"datasets", "kernels", "linear_model"},
    {"kernel_approximation", "stats", "manifold"},
    {"mixture"},
    {"cluster"},
    {"inspection"},
    {"_commands"},
    {"__main__"},
]
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}
ROOT = Path(skrank.__file__).parent
# Optional dependencies are imported where they are used, so that `import skrank` works without them.
OPTIONAL = {"matplotlib", "pandas", "polars", "dask", "distributed", "jinja2", "rich"}


def imports():
    """(file, name of its module or subpackage, whether at the top of the file, dotted name that it imports)."""
    for path in sorted(ROOT.rglob("*.py")):
        owner = path.relative_to(ROOT).with_suffix("").parts[0]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for name in names:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", owner, node in tree.body, name


def test_imports_run_one_way():
    wrong = []
    for place, owner, _, name in imports():
        package, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if package == "skrank" and owner not in ("__init__", target) and target != "__version__":
            assert {owner, target} <= LAYER.keys(), f"{place}: give {owner} and {target} a layer"
            if LAYER[target] >= LAYER[owner]:
                wrong.append(f"{place} imports {target}, which is not below {owner}")
    assert not wrong


def test_only_one_module_knows_of_callbacks():
    assert {place.partition(":")[0] for place, _, _, name in imports() if name.startswith("sklearn.callback")} == {
        "_callbacks.py"
    }


def test_optional_dependencies_are_imported_where_they_are_used():
    assert not [place for place, _, top, name in imports() if top and name.partition(".")[0] in OPTIONAL]

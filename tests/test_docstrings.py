"""Every public name is documented: what it takes and gives, with an example. The examples run as doctests elsewhere."""

import importlib
import inspect
import pkgutil

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, validate

import skrank

SUBPACKAGES = sorted(module.name for module in pkgutil.iter_modules(skrank.__path__) if not module.name.startswith("_"))
PUBLIC = [
    f"skrank.{package}.{name}"
    for package in SUBPACKAGES
    for name in importlib.import_module(f"skrank.{package}").__all__
]

# Left out is what says how a docstring should be laid out, or is a matter of taste: an extended summary and "See Also"
# are not always needed, `self` needs no description, and a summary may begin with a noun.
CHECKED = {
    "GL06",  # unknown section
    "GL07",  # sections in another order
    "GL08",  # no docstring
    "SS01",  # no summary
    "SS03",  # summary without a period
    "PR01",  # parameter not documented
    "PR02",  # documented parameter that does not exist
    "PR03",  # parameters in another order
    "PR04",  # parameter without a type
    "PR05",  # parameter's type ends with a period
    "PR07",  # parameter without a description
    "PR10",  # no space before the colon
    "RT01",  # no Returns
    "YD01",  # no Yields
    "SA04",  # See Also without a description
}
# A method may refer to another one for a group of parameters, which then have no types of their own and come last.
CHECKED_IN_METHODS = CHECKED - {"PR03", "PR04"}


def _public_members(path):
    """Dotted names of the public methods and properties of a class that skrank defines."""
    package, name = path.split(".")[1:]
    cls = getattr(importlib.import_module(f"skrank.{package}"), name)
    if not inspect.isclass(cls):
        return []
    members = []
    for member in dir(cls):
        owner = next(base for base in cls.__mro__ if member in vars(base)) if not member.startswith("_") else None
        value = inspect.getattr_static(cls, member)
        described = callable(value) or isinstance(value, property | classmethod | staticmethod)
        if owner is not None and owner.__module__.startswith("skrank") and described and not _is_request(member):
            members.append(f"{path}.{member}")
    return members


def _is_request(member):
    return member.startswith("set_") and member.endswith("_request")  # scikit-learn makes them


MEMBERS = [member for path in PUBLIC for member in _public_members(path)]


def _shortfalls(path, codes):
    errors = validate(path)["errors"]
    return [f"{path}: {code} {message}" for code, message in errors if code in codes]


def test_codes_exist():
    assert set(ERROR_MSGS) >= CHECKED
    assert len(PUBLIC) >= 50
    assert len(MEMBERS) > 60


@pytest.mark.parametrize("path", PUBLIC)
def test_public_name(path):
    package, name = path.split(".")[1:]
    public = getattr(importlib.import_module(f"skrank.{package}"), name)
    # a protocol's constructor, of any arguments, is typing's
    assert _shortfalls(path, CHECKED - {"PR01"} if getattr(public, "_is_protocol", False) else CHECKED) == []
    documentation = get_doc_object(public)
    assert any(line.lstrip().startswith(">>>") for line in documentation["Examples"]), "no example"


@pytest.mark.parametrize("path", MEMBERS)
def test_public_method(path):
    assert _shortfalls(path, CHECKED_IN_METHODS) == []

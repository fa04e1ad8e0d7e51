"""Writes docs/python-reference.md, of what the installed package says of itself: `python python/docs/reference.py`."""

import ast
import inspect
import pathlib
import re
import sys

import kirikae

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs/python-reference.md"
HEAD = """# The package, item by item

Made by `python python/docs/reference.py` of the docstrings and the types that `kirikae` has (`help(kirikae.simulate)` shows the
same); a test compares. [From Python](python.md) tells what belongs together.
"""
WIDTH = 100

Definition = ast.ClassDef | ast.FunctionDef


def definitions() -> dict[str, Definition]:
    """The classes and functions of the package's sources and stubs, by name."""
    package = pathlib.Path(inspect.getfile(kirikae)).parent
    found: dict[str, Definition] = {}
    for file in [*sorted(package.glob("*.py")), package / "_kirikae.pyi"]:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, Definition):
                found[node.name] = node
    return found


def signature(name: str, function: ast.FunctionDef) -> str:
    """A call with its types, in one line or with an argument on each."""
    returned = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    for arguments in (function.args.posonlyargs, function.args.args):
        if arguments and arguments[0].arg in ("self", "cls"):
            del arguments[0]
    # As people write it.
    told = re.sub(r"(?<=\S)=(?=\S)", " = ", ast.unparse(function.args))
    if len(line := f"{name}({told}){returned}") <= WIDTH:
        return line
    # A comma within brackets separates no arguments.
    told = re.sub(r", (?![^\[]*\])", ",\n    ", told)
    return f"{name}(\n    {told},\n){returned}"


def text(item: object, name: str) -> str:
    """An item's docstring, its examples as code."""
    told = inspect.getdoc(item)
    if not told:
        sys.exit(f"{name} has no docstring")
    paragraphs = told.split("\n\n")
    return "\n\n".join(f"```python\n{it}\n```" if it.startswith(">>> ") else it for it in paragraphs)


def members(name: str, defined: ast.ClassDef) -> list[str]:
    """What a class has for its users, but for what it has as an Engine."""
    told = []
    of = getattr(kirikae, name)
    for node in defined.body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        if of is not kirikae.Engine and hasattr(kirikae.Engine, node.name):
            continue
        called = f"{name}.{node.name}"
        decorators = {ast.unparse(it).split(".")[-1] for it in node.decorator_list}
        if decorators & {"property", "cached_property"}:
            item, line = inspect.getattr_static(of, node.name), f"{called}: {ast.unparse(node.returns or node)}"
        else:
            item, line = getattr(of, node.name), signature(called, node)
        told.append(f"```python\n{line}\n```\n\n{text(item, called)}\n")
    return told


def page() -> str:
    """The text of the page."""
    known = definitions()
    parts = [HEAD]
    for name in kirikae.__all__:
        item, defined = getattr(kirikae, name), known[name]
        parts.append(f"## {name}\n")
        match defined:
            case ast.FunctionDef():
                parts.append(f"```python\n{signature(name, defined)}\n```\n")
                parts.append(text(item, name) + "\n")
            case ast.ClassDef():
                begun = next((it for it in defined.body if getattr(it, "name", "") == "__init__"), None)
                if isinstance(begun, ast.FunctionDef) and not issubclass(item, Exception):
                    begun.returns = None
                    parts.append(f"```python\n{signature(name, begun)}\n```\n")
                parts.append(text(item, name) + "\n")
                parts += members(name, defined)
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())

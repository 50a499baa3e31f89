"""YAML without its surprises: no key comes twice, and dates, times and codes stay as they are written."""

import re
from pathlib import Path
from typing import Any

import yaml

from taugraph.domains.errors import DataError


class _Loader(yaml.SafeLoader):
    """A safe loader that keeps dates as they are written and refuses a key that comes twice."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    seen: set[Any] = set()
    for key, _ in node.value:
        name = loader.construct_object(key, deep=True)
        if isinstance(name, dict | list):
            raise yaml.constructor.ConstructorError(None, None, "a key must be plain text", key.start_mark)
        if name in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {name!r} comes twice", key.start_mark)
        seen.add(name)
    return {
        loader.construct_object(key, deep=True): loader.construct_object(value, deep=True) for key, value in node.value
    }


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_INTEGER = "tag:yaml.org,2002:int"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_INTEGER, "tag:yaml.org,2002:timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# YAML 1.1 reads 00123 as octal and 12:30 as a number to the base of 60; here both stay text.
_Loader.add_implicit_resolver(_INTEGER, re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z"), list("-+0123456789"))


def read_yaml(path: Path) -> Any:
    """Return what a YAML file says.

    Raises:
        DataError: If it cannot be read.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f"line {mark.line + 1}" if mark else None
        raise DataError(path, line, None, error.problem, "valid YAML, every key once") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise DataError(path, None, None, str(error), "valid YAML in UTF-8") from error

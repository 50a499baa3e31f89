"""A dialect: how the world behind the tools behaves where published versions differ.

The data decide it: `tau-bench` for files of the first version, `tau2` for files of its successors, `taugraph` for our
own seeds, where the behaviour is the corrected one. A domain extends `Dialect` by one field per difference, so that
every difference is declared in one place and read by name.
"""

from pydantic import BaseModel, ConfigDict


class Dialect(BaseModel):
    """What every domain's dialect declares."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: str
    """`taugraph`, `tau-bench`, `tau2`, or a third party's own."""
    checks_arguments: bool = True
    """Whether arguments are validated against the tool's schema; otherwise only their names are."""
    tools: frozenset[str] | None = None
    """Names of the tools that exist; `None` for all of the domain's."""

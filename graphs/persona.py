"""A persona: how a simulated customer talks. It never changes what they know or want."""

from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from taugraph.domains.errors import DataError, UnknownNameError


class Persona(BaseModel):
    """One way of talking."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: str = Field(min_length=1, pattern=r"^[a-z0-9-]+$")
    """Unique, such as `furious`."""
    summary: str = Field(min_length=1)
    """One line about it."""
    text: str = Field(min_length=1)
    """What the simulated user is told about its way of talking, Markdown."""


@cache
def load_personas() -> dict[str, Persona]:
    """Return the personas that come with the package, by name, sorted."""
    folder = Path(__file__).with_name("personas")
    return {path.stem: read_persona(path) for path in sorted(folder.glob("*.md"))}


@cache
def find_persona(name: str) -> Persona:
    """Return the persona of that name; a name that ends in `.md` is a file, read once.

    Raises:
        UnknownNameError: If there is none.
        DataError: If the file cannot be read.
    """
    if name.endswith(".md"):
        return read_persona(Path(name))
    personas = load_personas()
    if name not in personas:
        raise UnknownNameError("persona", name, personas)
    return personas[name]


def read_persona(path: Path) -> Persona:
    """Read a persona from a Markdown file with front matter that holds its `summary`; it is named after the file.

    Raises:
        DataError: If there is no such file, or it says something else.
    """
    wanted = "front matter with a `summary` between two lines of ---, and below it how the user talks"
    try:
        before, _, rest = path.read_text(encoding="utf-8").replace("\r\n", "\n").partition("---\n")
        front, closed, text = rest.partition("\n---\n")
        fields = yaml.safe_load(front) if closed and not before.strip() else None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise DataError(path, None, None, str(error), wanted) from error
    if not isinstance(fields, dict):
        raise DataError(path, None, None, "no front matter", wanted)
    if unknown := sorted(str(name) for name in fields if name != "summary"):
        raise DataError(path, None, unknown[0], fields.get(unknown[0]), "no field but `summary`")
    try:
        return Persona(name=path.stem, text=text.strip(), summary=fields.get("summary"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise DataError(path, None, str(first["loc"][0]), first["input"], first["msg"]) from error

"""A persona: how a simulated customer talks. It never changes what they know or want."""

from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field

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


def find_persona(name: str) -> Persona:
    """Return the persona of that name; a name that ends in `.md` is a file.

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
    """Read a persona from a Markdown file with front matter that holds its `summary`.

    Raises:
        DataError: If there is no such file, or it says something else.
    """
    wanted = "front matter between two lines of ---, with a `summary`, and the text for the simulated user below"
    try:
        _, front, text = path.read_text(encoding="utf-8").split("---\n", 2)
        return Persona.model_validate({"name": path.stem, "text": text.strip(), **yaml.safe_load(front)})
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise DataError(path, None, None, str(error), wanted) from error

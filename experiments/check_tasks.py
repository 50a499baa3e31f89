"""Checks of what a task says by itself: schema, duplicates, components, and what its user is told."""

import re
from collections import Counter
from collections.abc import Iterator

from pydantic import ValidationError

from taugraph.domains.task import Claim, ClaimKind, Component, Task
from taugraph.evaluators.claims import claims_were_not_said, claims_were_said
from taugraph.evaluators.mentions import Number, as_plain, find_numbers
from taugraph.experiments.check_suite import Finding, Suite, fault, note, told
from taugraph.tools.definition import ToolKind

_LEAST_FIGURE = 3
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n")
_VARIABLE = re.compile(r"\S*\d\S*|(?<=[a-z,] )[A-Z]\w+(?: [A-Z]\w+)*")


def schema(suite: Suite) -> Iterator[Finding]:
    """Every task holds what its schema wants."""
    for task in suite.tasks:
        try:
            Task.model_validate(task.model_dump(warnings=False))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            yield fault(
                task, "schema", f"{'.'.join(map(str, first['loc']))}: {first['msg']}, got {first['input']!r:.80}"
            )


def duplicates(suite: Suite) -> Iterator[Finding]:
    """No two tasks share an id or a text, and no two differ in names and numbers only."""
    for task_id, times in Counter(task.id for task in suite.tasks).items():
        if times > 1:
            yield Finding(task_id=task_id, check="duplicates", severity="fault", message=f"{times} tasks have this id")
    texts: dict[str, Task] = {}
    patterns: dict[str, Task] = {}
    for task in suite.tasks:
        text = " ".join(" ".join(told(task)).split())
        pattern = _VARIABLE.sub("…", text)
        if (other := texts.setdefault(text, task)) is not task:
            yield fault(task, "duplicates", f"its scenario is that of task {other.id!r}")
        elif (other := patterns.setdefault(pattern, task)) is not task:
            yield fault(task, "duplicates", f"it differs from task {other.id!r} in names and numbers only")


def components(suite: Suite) -> Iterator[Finding]:
    """What a task wants is in its basis, and what its basis names has a criterion."""
    known = {rule.name for rule in suite.domain.rules}
    for task in suite.tasks:
        criteria = {
            Component.CLAIMS: bool(task.claims or task.must_not_say),
            Component.ASSERTIONS: bool(task.assertions),
            Component.POLICY: bool(task.rules),
        }
        for component, has_criteria in criteria.items():
            if has_criteria and component not in task.basis:
                yield fault(
                    task, "components", f"its {component} gate nothing: {component.value!r} is not in its basis"
                )
            if not has_criteria and component in task.basis and "basis" in task.model_fields_set:
                yield note(task, "components", f"its basis names {component.value!r}, and it has no criterion for that")
        for name in sorted(set(task.rules) - known):
            yield fault(task, "components", f"no policy rule of the domain is named {name!r}")


def handoffs(suite: Suite) -> Iterator[Finding]:
    """A handoff that a task demands is among its gold calls, and the other way round."""
    for task in suite.tasks:
        hands_over = any(suite.kind(call) is ToolKind.HANDOFF for call in task.gold)
        if task.handoff and not hands_over:
            yield fault(task, "handoffs", "it demands a handoff, and no gold call makes one")
        if hands_over and not task.handoff:
            yield note(task, "handoffs", "its gold hands over, and it does not say why the policy demands that")


def told_claims(suite: Suite) -> Iterator[Finding]:
    """No claim is said by what the user is told: an agent could repeat it."""
    for task in suite.tasks:
        sentences = [part for text in told(task) for part in _SENTENCE_END.split(text) if part]
        for claim in task.claims:
            if sentence := _saying(claim, sentences):
                yield fault(task, "told_claims", f"the user is told the claim {claim.value!r}: {sentence!r:.90}")


def _saying(claim: Claim, sentences: list[str]) -> str | None:
    """Return the first sentence that says the claim, gives it away, or holds its figure in whatever words."""
    for sentence in sentences:
        said = claims_were_said([claim], [sentence]).value == 1.0
        if said or claims_were_not_said([claim], [sentence]).value == 0.0 or _holds_figure(claim, sentence):
            return sentence
    return None


def _holds_figure(claim: Claim, sentence: str) -> bool:
    """Tell whether an amount stands in a sentence, even in a question; small figures count too many other things."""
    if claim.kind not in (ClaimKind.NUMBER, ClaimKind.MONEY) or len(re.findall(r"\d", claim.value)) < _LEAST_FIGURE:
        return False
    wanted = claim.number().copy_abs()
    return any(isinstance(m.value, Number) and abs(m.value.value) == wanted for m in find_numbers(as_plain(sentence)))

"""Each check is silent on a sound suite and speaks up about a broken one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.library_domain import Book, Member, domain

from taugraph.domains.domain import Domain, Seed
from taugraph.domains.errors import UnknownNameError
from taugraph.domains.rules import PolicyRule
from taugraph.domains.task import Claim, ClaimKind, Component, GoldCall, Task
from taugraph.experiments.check import CHECKS, check_domain, render_check
from taugraph.experiments.check_claims import Known
from taugraph.experiments.check_suite import Finding, open_suite
from taugraph.experiments.check_views import hidden_fields
from taugraph.graphs.user import UserView
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool

RENEW, PAY, LOST = domain.tasks
FINES = Claim(value="3.50", kind=ClaimKind.MONEY)


@domain_tool(ToolKind.HANDOFF)
def call_librarian(reason: str, session: DatabaseSession) -> str:
    """Call a librarian.

    Args:
        reason: Why.
    """
    member = session.get(Member, "M-1002")
    assert member
    member.name = "handed over"
    return "a librarian comes"


@domain_tool(ToolKind.WRITE)
def drop_coins(code: str, session: DatabaseSession) -> str:
    """Drop coins into the box that takes fines.

    Args:
        code: Code of the member, as the library tells it.
    """
    member = session.get(Member, code)
    assert member
    member.fines_cents = 0
    return "clink"


@domain_tool(ToolKind.READ)
def look_around() -> str:
    """Look around."""
    return "shelves"


def call(name: str, **arguments: Any) -> GoldCall:
    return GoldCall(name=name, arguments=arguments)


def by_user(name: str, **arguments: Any) -> GoldCall:
    return GoldCall(name=name, arguments=arguments, actor="user")


COINS = by_user("drop_coins", code="M-1001")


def with_coins(*gold: GoldCall, **fields: Any) -> Domain:
    """Return the library with a box for fines that members have in their reach, and a task to pay with it."""
    return replace(with_task(changed(PAY, gold=gold, **fields)), user_tools=[drop_coins, look_around])


def changed(task: Task, **fields: Any) -> Task:
    return task.model_copy(update=fields)


def telling(task: Task, words: str, **fields: Any) -> Task:
    scenario = task.scenario.model_copy(update={"instructions": f"{task.scenario.instructions} {words}"})
    return changed(task, scenario=scenario, **fields)


def with_task(task: Task) -> Domain:
    """Return the library with one task replaced, or one more."""
    return replace(domain, tasks=[*(other for other in domain.tasks if other.id != task.id), task])


def with_handoff(**fields: Any) -> Domain:
    task = telling(RENEW, "A person should decide that.", gold=(call("call_librarian", reason="x"),), **fields)
    return replace(with_task(task), agent_tools=[*domain.agent_tools, call_librarian])


def found(broken: Domain, check: str) -> list[Finding]:
    return [finding for finding in check_domain(broken).findings if finding.check == check]


def only_finding(broken: Domain, check: str) -> Finding:
    (finding,) = found(broken, check)
    return finding


def test_a_sound_suite_has_no_finding() -> None:
    report = check_domain(domain)
    assert report.findings == ()
    assert (report.domain, report.tasks, report.faults) == ("library", 3, 0)
    assert report.baselines == {"noop": 0, "transfer": 0, "yes": 0, "recite": 0, "oracle": 3}


def never(moment: Any) -> list[str]:
    return ["renewals are over"] if moment.name == "renew_loan" else []


BROKEN: dict[str, tuple[Callable[[], Domain], str, str]] = {
    "schema": (lambda: with_task(changed(PAY, id="")), "schema", "id: "),
    "a copy": (lambda: with_task(changed(RENEW, id="again")), "duplicates", "scenario is that of task 'renew'"),
    "other names": (lambda: _twins(), "duplicates", "in names and numbers only"),
    "no such tool": (lambda: with_task(changed(PAY, gold=(call("burn_book"),))), "gold_runs", "no tool named"),
    "refused": (
        lambda: with_task(changed(PAY, gold=(call("pay_fines", member_id="M-1002"),))),
        "gold_runs",
        "pay_fines is refused: Error: member 'M-1002' has nothing to pay",
    ),
    "refused alternative": (
        lambda: with_task(changed(PAY, alternatives=((call("pay_fines", member_id="M-1002"),),))),
        "gold_runs",
        "has nothing to pay",
    ),
    "a rule": (
        lambda: replace(domain, rules=[PolicyRule("no_renewals", "Nothing is renewed.", never)]),
        "gold_keeps_policy",
        "no_renewals: renewals are over",
    ),
    "the oracle": (
        lambda: with_task(changed(PAY, gold=(call("pay_fines", member_id="M-1002"),))),
        "oracle",
        "does not pass",
    ),
    "silence": (lambda: with_task(changed(PAY, gold=())), "noop", "a gold write, a required call or a claim"),
    "agreement": (lambda: with_task(changed(PAY, gold=())), "yes", "a gold write, a required call or a claim"),
    "handing over": (
        lambda: with_handoff(claims=(Claim(value="Goodbye"),), handoff="a person decides"),
        "transfer",
        "add a claim",
    ),
    "reciting": (
        lambda: with_task(changed(PAY, gold=PAY.gold[:1], claims=(FINES,))),
        "recite",
        "what no single record says",
    ),
    "an id": (lambda: with_task(telling(PAY, "Your loan is L-3999.")), "ids", "names 'L-3999'"),
    "an owner": (
        lambda: with_task(changed(RENEW, gold=(call("renew_loan", loan_id="L-3002"),))),
        "owners",
        "'L-3002' belongs to 'M-1002', the scenario to 'M-1001'",
    ),
    "a date": (
        lambda: with_task(changed(PAY, gold=(call("get_book", book_id="2031-04-01"), *PAY.gold))),
        "dates",
        "the gold names 2031-04-01",
    ),
    "a claim out of nowhere": (
        lambda: with_task(changed(LOST, claims=(Claim(value="98765.43", kind=ClaimKind.MONEY),))),
        "reachable_claims",
        "'98765.43' is in no answer",
    ),
    "a told claim": (lambda: with_task(telling(LOST, "Is it $23.45?")), "told_claims", "is told the claim '23.45'"),
    "claims that gate nothing": (
        lambda: with_task(changed(LOST, basis=(Component.DATABASE,))),
        "components",
        "'claims' is not in its basis",
    ),
    "an unknown rule": (lambda: with_task(changed(PAY, rules=("kindness",))), "components", "named 'kindness'"),
    "a handoff without call": (lambda: with_task(changed(PAY, handoff="too hard")), "handoffs", "no gold call makes"),
    "a tool of the policy": (
        lambda: replace(domain, policy=domain.policy + "Call `burn_book` last."),
        "policy_tools",
        "'burn_book', which is no tool",
    ),
    "a tool of the agent's for the user": (
        lambda: with_coins(PAY.gold[0], by_user("pay_fines", member_id="M-1001")),
        "gold_runs",
        "no tool named 'pay_fines' for the user",
    ),
    "a tool of both": (
        lambda: replace(with_coins(*PAY.gold), user_tools=[domain.agent_tools[3], call_librarian]),
        "own_tools",
        "a tool named 'pay_fines' is the agent's and the user's",
    ),
    "a user that hands over": (
        lambda: replace(with_coins(*PAY.gold), user_tools=[call_librarian]),
        "own_tools",
        "only agents hand over",
    ),
    "a user that needs no agent": (
        lambda: with_coins(PAY.gold[0], COINS),
        "both_act",
        "the user reaches the goal alone: add a claim",
    ),
    "a tool of the user's in the policy": (
        lambda: replace(with_coins(*PAY.gold), policy=domain.policy + "Call `drop_coins` last."),
        "policy_tools",
        "'drop_coins', which is a tool of the user's",
    ),
    "an id that tells": (lambda: with_task(changed(RENEW, id="renew-L-3001")), "hidden_fields", "given 'L-3001'"),
    "a seed that tells": (
        lambda: replace(domain, seed=Seed("told", lambda: [*domain.seed.rows(), _giveaway()])),
        "seed_text",
        "says 'should be'",
    ),
}


def _giveaway() -> Book:
    return Book(book_id="B-2009", title="A fee that should be free", price_cents=1)


def _twins() -> Domain:
    first, second = telling(PAY, "You write for Bo Fern."), telling(PAY, "You write for Cy Marsh.", id="pay-too")
    return replace(domain, tasks=[first, second])


@pytest.mark.parametrize("name", BROKEN)
def test_a_check_speaks_up(name: str) -> None:
    build, check, words = BROKEN[name]
    findings = found(build(), check)
    assert any(words in finding.message for finding in findings), findings
    assert {finding.severity for finding in findings} == {"fault"}


@pytest.mark.parametrize(
    "fields",
    [
        {"claims": (FINES,)},
        {"gold": (PAY.gold[0], COINS, call("renew_loan", loan_id="L-3001"))},
        {"scenario": PAY.scenario.model_copy(update={"known": ("You are a member.",)})},
    ],
    ids=["a claim", "a write of the agent's", "a code that only the agent reads"],
)
def test_a_task_that_needs_both_sides_is_sound(fields: dict[str, Any]) -> None:
    gold = fields.pop("gold", (PAY.gold[0], COINS))
    broken = with_coins(*gold, **fields)
    assert found(broken, "both_act") == []
    assert check_domain(broken).baselines["oracle"] == 3


def test_a_task_whose_user_changes_nothing_is_a_note() -> None:
    finding = only_finding(with_coins(PAY.gold[0], by_user("look_around"), PAY.gold[1]), "both_act")
    assert (finding.severity, finding.message) == (
        "note",
        "the agent reaches the goal alone: nothing that the user does counts",
    )


def test_a_persona_is_for_the_user_only() -> None:
    suite = open_suite(domain)
    assert [finding for finding in hidden_fields(suite) if "persona" in finding.message] == []
    seen = suite.views["renew"].agent[0]
    suite.views["renew"].agent[0] = replace(seen, memory={"persona": "curt"})
    assert "the agent is given the field 'persona' of the task" in [each.message for each in hidden_fields(suite)]


def test_there_is_a_broken_suite_for_every_check() -> None:
    covered = {check for _, check, _ in BROKEN.values()} | {"amounts"}
    named = {check.__name__ for check in CHECKS}
    assert named - covered == {"oracle_passes", "baselines_fail"}
    assert covered - named == {"oracle", "noop", "yes", "transfer", "recite"}


def test_an_id_that_occurs_twice_is_a_fault() -> None:
    doubled = replace(domain, tasks=[*domain.tasks, telling(LOST, "Please.")])
    assert only_finding(doubled, "duplicates").message == "2 tasks have this id"


def test_an_id_that_is_meant_to_be_wrong_is_none() -> None:
    assert found(with_task(telling(PAY, "You think of loan L-3999.", tags=("wrong-id",))), "ids") == []


def test_a_handoff_that_is_all_a_task_wants_is_a_note() -> None:
    report = check_domain(with_handoff(handoff="a person decides"))
    assert report.baselines["transfer"] == 1
    assert [(finding.check, finding.severity) for finding in report.findings] == [("transfer", "note")]


@pytest.mark.parametrize(
    ("broken", "check", "words"),
    [
        (telling(PAY, "You have $77.10 on you."), "amounts", "$77.10"),
        (telling(PAY, "You came on 2031-04-01."), "dates", "2031-04-01"),
        (
            Task.model_validate({**PAY.model_dump(), "basis": ["database", "assertions"]}),
            "components",
            "'assertions', and it has no criterion",
        ),
    ],
)
def test_what_a_person_has_to_judge_is_a_note(broken: Task, check: str, words: str) -> None:
    finding = only_finding(with_task(broken), check)
    assert words in finding.message
    assert finding.severity == "note"


def test_a_handoff_without_a_reason_is_a_note() -> None:
    assert only_finding(with_handoff(), "handoffs").severity == "note"


def test_a_field_of_the_answers_in_a_view_is_a_fault() -> None:
    suite = open_suite(domain)
    seen = suite.views["renew"].user[0]
    suite.views["renew"].user[0] = UserView(seen.messages, RENEW, seen.key)  # type: ignore[arg-type]
    messages = [finding.message for finding in hidden_fields(suite)]
    assert "the user is given the field 'gold' of the task" in messages
    assert "the user is given 'L-3001', which only the answers hold" in messages


def test_an_example_in_a_tool_that_is_an_answer_is_a_fault() -> None:
    tools = [tool.model_copy(update={"description": "Renew L-3001."}) for tool in domain.agent_tools]
    assert "the agent is given 'L-3001'" in found(replace(domain, agent_tools=tools), "hidden_fields")[0].message


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        (Claim(value="19.95", kind=ClaimKind.MONEY), True),
        (Claim(value="59.85", kind=ClaimKind.MONEY), True),
        (Claim(value="23.45", kind=ClaimKind.MONEY), True),
        (Claim(value="16.45", kind=ClaimKind.MONEY), True),
        (Claim(value="43.40", kind=ClaimKind.MONEY), True),
        (Claim(value="2", kind=ClaimKind.NUMBER), True),
        (Claim(value="71.31", kind=ClaimKind.MONEY), False),
        (Claim(value="B-2001", kind=ClaimKind.ID), True),
        (Claim(value="B-2002", kind=ClaimKind.ID), False),
        (Claim(value="2024-05-20", kind=ClaimKind.DATE), True),
        (Claim(value="2024-05-21", kind=ClaimKind.DATE), False),
        (Claim(value="basic economy"), True),
        (Claim(value="closed on Sundays"), True),
        (Claim(value="open on Sundays"), False),
    ],
)
def test_a_claim_follows_from_answers_or_not(claim: Claim, holds: bool) -> None:
    answers = [
        '{"price": 19.95, "book": "B-2001", "due": "2024-05-20"}',
        '{"fines": 3.5, "cabin": ["basic_economy", 1]}',
    ]
    assert Known(answers, set()).holds(claim, "We are closed on Sundays.") is holds


def test_only_a_split_is_checked() -> None:
    tasks = [changed(RENEW, splits=("train",)), changed(PAY, gold=())]
    assert check_domain(replace(domain, tasks=tasks), "train").findings == ()
    with pytest.raises(UnknownNameError, match="no split named 'tset'"):
        check_domain(replace(domain, tasks=tasks), "tset")


def test_the_table_says_everything_on_one_line_each() -> None:
    text = render_check(check_domain(with_task(changed(PAY, gold=()))))
    *lines, blank, summary, passed = text.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["fault", "pay", name] for name in ("noop", "transfer", "yes", "recite")
    ]
    assert blank == ""
    assert summary == "library: 3 tasks, faults 4, notes 0"
    assert passed == "passed by baselines: noop 1/3, transfer 1/3, yes 1/3, recite 1/3, oracle 3/3"

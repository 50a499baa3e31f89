"""Whatever a model sends becomes an answer of bounded length; what was refused changed nothing."""

import json
import math
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel
from sqlalchemy.orm import registry
from sqlmodel import Field, Session, SQLModel, select

from taugraph.domains.domain import Domain, Seed
from taugraph.domains.errors import ConfigurationError, DataError, ToolRefusal
from taugraph.domains.task import GoldCall
from taugraph.tools.airline import AGENT_TOOLS
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool
from taugraph.tools.executor import MAX_ARGUMENT_CHARACTERS, Answer, Executor

LONGEST = 520
CHANGES = {"handoffs": {"[7]": [None, {"position": 7, "summary": "before"}]}}
USER = {"user_id": "yelena_quispe_7817"}


def refused(executor: Executor, name: Any, arguments: Any) -> str:
    """Make a call that must be refused, check what is true of every refusal, and return its text."""
    before = json.dumps(CHANGES)
    answer = executor.execute(name, arguments, CHANGES)
    assert answer.is_error, answer
    assert answer.changes == json.loads(before) == CHANGES
    check_text(answer)
    return answer.text


def check_text(answer: Answer) -> None:
    answer.text.encode()
    assert "\x00" not in answer.text
    if answer.is_error:
        assert answer.text.startswith("Error: ")
        assert len(answer.text) <= LONGEST


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"user_id": "yel', "not JSON"),
        ("{'user_id': 1}", "not JSON"),
        ("\x00", "not JSON"),
        ("\ud800", "not JSON"),
        ("[" * 10_000 + "]" * 10_000, "not JSON"),
        ('{"a": ' * 10_000 + "1" + "}" * 10_000, "not JSON"),
        ('{"user_id": ' + "9" * 5_000 + "}", "not JSON"),
        ("null", "the arguments are null"),
        (None, "the arguments are null"),
        ("[]", "the arguments are list"),
        ([], "the arguments are list"),
        ([USER], "the arguments are list"),
        ("3", "the arguments are int"),
        (3.5, "the arguments are float"),
        ('"text"', "the arguments are str"),
        ("NaN", "the arguments are float"),
        ({1: 2}, "the arguments are dict"),
        ("", "missing arguments: user_id"),
        ("  \n", "missing arguments: user_id"),
        ({}, "missing arguments: user_id"),
        ("x" * 200_000, "200000 characters long"),
        ({"user_id": "x" * 200_000}, "at most 100000 are accepted"),
        ({"user_id": {1, 2}}, "not JSON"),
        ({"user_id": 10**5_000}, "not JSON"),
    ],
)
def test_what_is_no_object_of_arguments_is_refused(any_dialect: Executor, arguments: Any, reason: str) -> None:
    assert reason in refused(any_dialect, "get_user_details", arguments)


def test_arguments_nested_beyond_any_depth_are_refused(any_dialect: Executor) -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = {"a": deep}
    assert "not JSON" in refused(any_dialect, "get_user_details", {"user_id": deep})
    while isinstance(deep, dict):
        deep = deep.pop("a")  # taken apart by hand: some Pythons free such a thing recursively


def test_arguments_may_come_as_json_text(airline: Executor) -> None:
    answer = airline.execute("get_user_details", json.dumps(USER), {})
    assert (answer.is_error, json.loads(answer.text)["user_id"]) == (False, USER["user_id"])


def test_no_arguments_may_come_as_empty_text(any_dialect: Executor) -> None:
    assert not any_dialect.execute("list_all_airports", "", {}).is_error


ODD_NAMES = [
    "",
    " ",
    "functions.get_user_details",
    "get_user_details<|channel|>commentary",
    "get<|x|>",
    "GET_USER_DETAILS",
    "get_user_details ",
    "get user details",
    "x" * 300,
    "x" * 200_000,
    "\x00\x01\x1b[31m",
    "\ud800",
    "☃",
    "session",
    "__class__",
    "close",
    None,
    7,
    ["get_user_details"],
    {"name": "get_user_details"},
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=lambda name: repr(name)[:30])
def test_an_unknown_tool_is_refused_and_never_guessed(any_dialect: Executor, name: Any) -> None:
    text = refused(any_dialect, name, USER)
    assert "there is no tool named" in text
    assert "known are book_reservation, calculate" in text
    assert any_dialect.kind(str(name)) is None


def test_a_tool_of_another_dialect_does_not_exist(airline: Executor, published: Executor) -> None:
    assert "there is no tool named 'think'" in refused(airline, "think", {"thought": "hm"})
    assert "there is no tool named" in refused(published, "get_flight_status", {"flight_number": "", "date": ""})
    assert published.execute("think", {"thought": "hm"}, CHANGES) == Answer("", False, CHANGES)


@pytest.mark.parametrize(
    "name", ["session", "data", "requestor", "tool_name", "self", "config", "run_manager", "x" * 9_000]
)
@pytest.mark.parametrize("value", [None, {}, "user"])
def test_an_argument_that_the_schema_does_not_show_is_refused(any_dialect: Executor, name: str, value: Any) -> None:
    text = refused(any_dialect, "get_user_details", {**USER, name: value})
    assert "unknown arguments: " in text
    assert name[:20] in text


def test_missing_arguments_are_named(any_dialect: Executor) -> None:
    text = refused(any_dialect, "search_direct_flight", {"origin": "SFO"})
    assert text == "Error: missing arguments: date, destination"


def test_arguments_of_wrong_type_are_named_with_what_came(airline: Executor) -> None:
    arguments = {"reservation_id": "R", "cabin": "first", "flights": [{"flight_number": 5}], "payment_id": None}
    text = refused(airline, "update_reservation_flights", arguments)
    assert "cabin': Input should be 'basic_economy', 'economy' or 'business', got 'first'" in text
    assert "'flights.0.date': Field required" in text


NASTY = [
    None,
    True,
    -1,
    2**70,
    10**400,
    1e308,
    math.nan,
    math.inf,
    -math.inf,
    "",
    "\x00",
    "\ud800",
    "x" * 90_000,
    "'; DROP TABLE users; --",
    [],
    [None],
    [[]] * 20_000,
    {},
    {"": {"\ud800": ["\x00"]}},
    [{"flight_number": "TG001"}],
    [{"payment_id": "gift_card", "amount": math.inf}],
]


@pytest.mark.parametrize("tool", AGENT_TOOLS, ids=lambda tool: tool.name)
def test_every_nasty_value_in_every_argument_gets_an_answer(any_dialect: Executor, tool: BaseTool) -> None:
    for value in NASTY:
        answer = any_dialect.execute(tool.name, dict.fromkeys(visible(tool), value), CHANGES)
        check_text(answer)
        json.dumps(answer.changes, allow_nan=False)
        assert not answer.is_error or answer.changes == CHANGES


def visible(tool: BaseTool) -> list[str]:
    return [name for name in tool.tool_call_schema.model_json_schema()["properties"]]  # type: ignore[union-attr]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_json_for_any_tool_gets_an_answer(any_dialect: Executor, data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(AGENT_TOOLS))
    arguments = data.draw(
        json_values | st.fixed_dictionaries({name: json_values for name in visible(tool)}) | st.text(max_size=30)
    )
    answer = any_dialect.execute(tool.name, arguments, CHANGES)
    check_text(answer)
    json.dumps(answer.changes, allow_nan=False)
    assert not answer.is_error or answer.changes == CHANGES


def test_gold_calls_lead_to_a_goal_and_name_the_changes_that_fail(airline: Executor) -> None:
    calls = [
        GoldCall(name="transfer_to_human_agents", arguments={"summary": "s"}),
        GoldCall(name="get_user_details", arguments={"user_id": "nobody"}),
        GoldCall(name="cancel_reservation", arguments={"reservation_id": "nothing"}),
        GoldCall(name="no_such_tool"),
    ]
    goal = airline.goal(calls)
    assert list(goal.changes) == ["handoffs"]
    refused, unknown = goal.failures
    assert refused == "gold call cancel_reservation fails: there is no reservation 'nothing'"
    assert unknown.startswith("gold call no_such_tool fails: there is no tool named 'no_such_tool'")


# A small domain of tools that misbehave.


class NoteTable(SQLModel, registry=registry()):
    pass


class Note(NoteTable, table=True):
    id: str = Field(primary_key=True)
    words: str
    stars: float | None = None


class Opaque:
    def __repr__(self) -> str:
        return "<opaque>"


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Point(BaseModel):
    x: int


ERRORS: dict[str, Callable[[], BaseException]] = {
    "refusal": lambda: ToolRefusal("not today"),
    "value": lambda: ValueError("bad\x00\ud800"),
    "long": lambda: ValueError("y" * 200_000),
    "recursion": lambda: RecursionError("deep"),
    "memory": lambda: MemoryError(),
    "exit": lambda: SystemExit(3),
    "tool": lambda: ToolException("worded by the tool"),
    "stop": lambda: StopIteration(),
    "unprintable": Unprintable,
    "group": lambda: ExceptionGroup("several", [ValueError("one")]),
}

RESULTS: dict[str, tuple[Callable[[Session], object], Any]] = {
    "text": (lambda session: "plain \x00\ud800", "plain \\x00\\ud800"),
    "none": (lambda session: None, None),
    "number": (lambda session: 4.5, 4.5),
    "row": (lambda session: session.get(Note, "a"), {"id": "a", "words": "first", "stars": None}),
    "rows": (lambda session: session.exec(select(Note)).all(), [{"id": "a", "words": "first", "stars": None}]),
    "models": (lambda session: {"points": [Point(x=1)]}, {"points": [{"x": 1}]}),
    "dates": (lambda session: [date(2024, 5, 1)], ["2024-05-01"]),
    "sets": (lambda session: {"s": {1}}, {"s": [1]}),
    "opaque": (lambda session: [Opaque()], ["<opaque>"]),
}


@domain_tool(ToolKind.WRITE)
def fail(how: str, session: DatabaseSession) -> str:
    """Write, then fail.

    Args:
        how: Which error.
    """
    session.add(Note(id="partial", words="lost"))
    session.flush()
    raise ERRORS[how]()


@domain_tool(ToolKind.WRITE)
def keep(words: str, session: DatabaseSession) -> str:
    """Write, then refuse.

    Args:
        words: What is kept.
    """
    session.add(Note(id="kept", words=words))
    raise ToolRefusal("z" * 9_000, keeps_writes=True)


@domain_tool(ToolKind.WRITE)
def write(id: str, words: str | None, session: DatabaseSession, stars: float = 1.5) -> Note:
    """Write a note, commit and return it.

    Args:
        id: Key.
        words: Text.
        stars: Number.
    """
    note = Note(id=id, words=words, stars=stars)
    session.add(note)
    session.commit()
    return note


@domain_tool(ToolKind.WRITE)
def scribble(id: str, session: DatabaseSession) -> str:
    """Add a row that does not fit, and leave it to others to find out.

    Args:
        id: Key.
    """
    session.add(Note(id=id, words=None))
    return "looks fine"


@domain_tool(ToolKind.READ)
def show(what: str, session: DatabaseSession) -> object:
    """Return something.

    Args:
        what: Which result.
    """
    return RESULTS[what][0](session)


@domain_tool(ToolKind.WRITE)
def end(session: DatabaseSession) -> str:
    """End the transaction by hand."""
    session.add(Note(id="leak", words="x"))
    session.flush()
    session.connection().exec_driver_sql("COMMIT")
    return "done"


def no_session(word: str) -> str:
    """Return a word."""
    return word * 2


async def later() -> str:
    """Return something, later."""
    return "late"


def seed_rows() -> Iterator[SQLModel]:
    yield Note(id="a", words="first")


TOOLS = (fail, keep, write, scribble, show, end, StructuredTool.from_function(no_session))
NOTES = Domain("notes", (Note,), Seed("notes-1", seed_rows), "", TOOLS, (), datetime(2024, 1, 1))


@pytest.fixture(scope="module")
def notes() -> Iterator[Executor]:
    executor = Executor(NOTES)
    yield executor
    executor.close()


@pytest.mark.parametrize("how", ERRORS)
def test_a_tool_that_raises_gives_an_error_and_writes_nothing(notes: Executor, how: str) -> None:
    answer = notes.execute("fail", {"how": how}, {})
    check_text(answer)
    assert (answer.is_error, answer.changes) == (True, {})


def test_an_interrupted_tool_interrupts_the_run(notes: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ERRORS, "interrupt", KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        notes.execute("fail", {"how": "interrupt"}, {})
    assert notes.execute("show", {"what": "rows"}, {}).changes == {}


def test_a_tool_that_words_its_own_errors_still_fails(notes: Executor) -> None:
    worded = fail.model_copy(update={"handle_tool_error": "all is well", "handle_validation_error": True})
    executor = Executor(NOTES, [worded])
    for arguments in ({"how": "tool"}, {"how": 3}):
        answer = executor.execute("fail", arguments, {})
        assert (answer.is_error, answer.changes) == (True, {})
    executor.close()


def test_a_refusal_may_keep_what_was_written(notes: Executor) -> None:
    answer = notes.execute("keep", {"words": "w"}, {})
    check_text(answer)
    assert answer.is_error
    assert answer.changes == {"note": {'["kept"]': [None, {"id": "kept", "words": "w", "stars": None}]}}


def test_a_row_that_does_not_fit_is_an_error_however_late_it_is_found(notes: Executor) -> None:
    answer = notes.execute("scribble", {"id": "b"}, {})
    assert (answer.is_error, answer.changes) == (True, {})
    assert "IntegrityError" in answer.text


def test_a_tool_that_ends_the_transaction_gives_an_error(notes: Executor) -> None:
    answer = notes.execute("end", {}, {})
    assert (answer.is_error, answer.changes) == (True, {})
    assert "ended the database transaction by hand" in answer.text
    assert json.loads(notes.execute("show", {"what": "rows"}, {}).text) == RESULTS["rows"][1]


def test_infinity_is_no_value_of_a_row(notes: Executor) -> None:
    answer = notes.execute("write", {"id": "b", "words": "w", "stars": math.inf}, {})
    assert (answer.is_error, answer.text) == (True, "Error: note.stars cannot hold inf: it is not JSON")


@pytest.mark.parametrize("what", RESULTS)
def test_every_result_becomes_text(notes: Executor, what: str) -> None:
    answer = notes.execute("show", {"what": what}, {})
    check_text(answer)
    wanted = RESULTS[what][1]
    assert (answer.text if isinstance(wanted, str) else json.loads(answer.text)) == wanted


def test_a_row_that_was_committed_can_be_returned(notes: Executor) -> None:
    answer = notes.execute("write", {"id": "b", "words": "w"}, {})
    assert json.loads(answer.text) == {"id": "b", "words": "w", "stars": 1.5}
    assert answer.changes == {"note": {'["b"]': [None, {"id": "b", "words": "w", "stars": 1.5}]}}


def test_a_tool_needs_no_session(notes: Executor) -> None:
    assert notes.execute("no_session", {"word": "ab"}, {}) == Answer("abab", False, {})
    assert notes.kind("no_session") is ToolKind.WRITE, "a tool that states no kind is taken to write"


def test_an_async_tool_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigurationError, match="'later' is async only"):
        Executor(NOTES, [StructuredTool.from_function(coroutine=later)])


def test_a_broken_seed_is_no_answer_to_the_agent() -> None:
    def broken() -> Iterator[SQLModel]:
        raise DataError("seed.csv", None, None, "nothing", "rows")
        yield

    executor = Executor(Domain("broken", (Note,), Seed("b-1", broken), "", TOOLS, (), datetime(2024, 1, 1)))
    with pytest.raises(DataError, match=r"cannot read seed\.csv"):
        executor.execute("show", {"what": "none"}, {})


def test_the_longest_arguments_are_accepted(notes: Executor) -> None:
    word = "w" * (MAX_ARGUMENT_CHARACTERS - len('{"word": ""}'))
    assert notes.execute("no_session", {"word": word}, {}).text == word * 2
    assert notes.execute("no_session", {"word": word + "w"}, {}).is_error

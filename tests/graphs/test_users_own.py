"""Users that are code of one's own: whatever they do, the trial ends as it should."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acting import HELLO, REFUND, cancel, play, said

from taugraph.domains.errors import ConfigurationError
from taugraph.experiments.run import resume_run, start_run
from taugraph.experiments.settings import load_settings
from taugraph.experiments.store import open_store
from taugraph.graphs.casting import build_stage
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.stage import Stage
from taugraph.graphs.user import UserTurn
from taugraph.graphs.users.human import HumanUser

SetStage = Callable[..., Stage]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(state: dict[str, Any]) -> list[str]:
    return [text for kind, text in said(state) if kind == "human"]


async def test_the_end_of_the_input_hangs_up(set_stage: SetStage) -> None:
    lines = iter([HELLO, None])
    state = await play(set_stage([cancel(), REFUND], HumanUser(lambda: next(lines), lambda text: None)))
    assert state["termination"] == "user_stop"


OWN = """
    import asyncio
    import time

    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.errors import GraphInterrupt
    from langgraph.graph import START, MessagesState, StateGraph

    from taugraph.graphs.user import UserTurn


    class Mine:
        def __init__(self, protocol):
            self.protocol = protocol

        async def speak(self, view):
            return UserTurn("", stops=True) if view.messages else UserTurn("Hello from Mine.")


    user = Mine(None)


    def words(view):
        return "And then?" if len(view.messages) < 6 else UserTurn("", stops=True)


    async def slow(view):
        return words(view)


    nothing = 3


    def wants(database):
        return None


    def wants_two(view, mood):
        return None


    def broken(protocol):
        return {}["no such key"]


    def ends(options):
        raise SystemExit(3)


    def empty():
        return None


    async def late():
        return Mine(None)


    class Options:
        def __init__(self, options, *others, **more):
            self.words = options["words"]

        async def speak(self, view):
            return UserTurn("", stops=True) if view.messages else UserTurn(self.words)


    class Graph(Options):
        def __init__(self, protocol):
            builder = StateGraph(MessagesState)
            builder.add_node("say", lambda state: {"messages": [AIMessage("Hello.")]})
            builder.add_edge(START, "say")
            self.graph = builder.compile()

        async def speak(self, view):
            said = await self.graph.ainvoke({"messages": list(view.messages)})
            return UserTurn(said["messages"][-1].text, stops=bool(view.messages))


    def exits(view):
        raise SystemExit(3)


    async def interrupts(view):
        raise GraphInterrupt


    async def hangs(view):
        await asyncio.sleep(60)


    def hangs_deaf(view):
        time.sleep(4)


    def aside(view):
        return UserTurn("Hi", aside=[3])


    def called(view):
        return UserTurn("Hi", aside=[{"kind": "called", "message": {}}])


    def notes(view):
        return UserTurn("Hi", notes=None)


    def usage(view):
        return UserTurn("Hi", usage={"calls": 1})


    def stops(view):
        return UserTurn("Hi", stops="no")


    def message(view):
        return UserTurn("Hi", message=HumanMessage("Hi"))


    def number(view):
        return 3
"""


@pytest.mark.parametrize("name", ["Mine", "user", "words", "slow", "Graph"])
async def test_code_of_one_s_own_plays_the_user(name: str, set_stage: SetStage) -> None:
    Path("mine.py").write_text(textwrap.dedent(OWN))
    built = build_stage(SimulationContext(user=f"./mine.py:{name}"))
    state = await play(set_stage(["Yes?"], built.user))
    built.close()
    assert state["termination"] == "user_stop"
    assert words(state)[0] in ("Hello from Mine.", "And then?", "Hello.")


async def test_code_of_one_s_own_is_given_its_options(set_stage: SetStage) -> None:
    Path("mine.py").write_text(textwrap.dedent(OWN))
    built = build_stage(SimulationContext(user="./mine.py:Options", user_options='{"words": "Hello there."}'))
    state = await play(set_stage(["Yes?"], built.user))
    built.close()
    assert words(state) == ["Hello there."]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("exits", "tried to end the process"),
        ("interrupts", "tried to interrupt the trial"),
        ("hangs", "took more than 0.2 seconds"),
        ("hangs_deaf", "took more than 0.2 seconds"),
        ("aside", "returned 3 aside, wanted a kind: thought, draft, verdict"),
        ("called", "aside, wanted a kind"),
        ("notes", "returned NoneType as 'notes' of its turn, wanted Mapping"),
        ("usage", "returned dict as 'usage' of its turn, wanted Usage"),
        ("stops", "returned str as 'stops' of its turn, wanted bool"),
        ("message", "returned a HumanMessage, wanted an AIMessage"),
        ("number", "returned int, wanted a UserTurn"),
    ],
)
async def test_whatever_code_of_one_s_own_does_is_the_user_s_error(
    name: str, message: str, set_stage: SetStage
) -> None:
    Path("mine.py").write_text(textwrap.dedent(OWN))
    built = build_stage(SimulationContext(user=f"./mine.py:{name}", agent_timeout_s=0.2))
    state = await play(set_stage(["Yes?"], built.user))
    built.close()
    assert (state["termination"], state["reward"]) == ("user_error", 0.0)
    assert message in state["failure"]["message"]


async def test_notes_that_no_checkpoint_holds_are_kept_as_text(set_stage: SetStage) -> None:
    turn = UserTurn(HELLO, notes={"big": 2**80}, aside=[{"kind": "thought", "text": "\ud800"}])
    state = await play(set_stage([cancel(), REFUND], [turn, UserTurn("", stops=True)]))
    assert (state["notes"], state["reward"]) == ({"big": str(2**80)}, 1.0)
    assert state["user_log"] == [{"at": 0, "kind": "thought", "text": "?"}]


def test_a_run_cannot_go_on_with_other_code_or_other_lines() -> None:
    for user, file, before, after in (
        ("./mine.py:words", "mine.py", textwrap.dedent(OWN), textwrap.dedent(OWN).replace("then", "now")),
        ("scripted:lines.yaml", "lines.yaml", "'*': [Hello]", "'*': [Goodbye]"),
    ):
        Path(file).write_text(before)
        name = file.partition(".")[0]
        with open_store("results.db") as store:
            start_run(load_settings(user=user, agent="noop", limit=1, trials=1), store, name)
            Path(file).write_text(after)
            with pytest.raises(ConfigurationError, match=r"other conditions \(user_code: was"):
                resume_run(name, store)


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        ("./mine.py:nothing", "it is a int; wanted an object with `async speak"),
        ("./mine.py:wants_two", "it wants 'view', and can be given protocol and options"),
        ("./mine.py:broken", "making it failed: KeyError: 'no such key'"),
        ("./mine.py:ends", "making it failed: SystemExit: 3"),
        ("./mine.py:empty", "it made a NoneType"),
        ("./mine.py:late", "it made a coroutine"),
        ("./mine.py:missing", "--user './mine.py:missing'"),
        ("./gone.py:user", "--user './gone.py:user'"),
        ("http://127.0.0.1:1#x", "a user is module:attr or ./file.py:attr"),
    ],
)
def test_what_cannot_speak_is_refused_by_the_name_of_the_option(reference: str, complaint: str) -> None:
    Path("mine.py").write_text(textwrap.dedent(OWN))
    with pytest.raises(ConfigurationError, match=complaint) as refused:
        build_stage(SimulationContext(user=reference))
    assert "--agent" not in str(refused.value)

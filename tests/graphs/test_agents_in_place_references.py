"""Every kind of reference leads to the agent where it stands, and a wrong one is refused in one line that says why."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acting import AIRLINE, BYE, HELLO, REFUND, call, calls, play
from support import scripted_model
from support.openai_server import OpenAIServer, Reply

from taugraph.domains.errors import ConfigurationError, TaugraphError, UnknownNameError
from taugraph.graphs.agents.building import build_agent
from taugraph.graphs.agents.hooks import close_agent, open_agent
from taugraph.graphs.agents.own import OwnAgent
from taugraph.graphs.agents.references import (
    ConfigReference,
    FileReference,
    ModelReference,
    ModuleReference,
    RemoteReference,
    parse_reference,
)
from taugraph.graphs.context import SimulationContext
from taugraph.graphs.models import ChatModels
from taugraph.graphs.stage import Stage

SetStage = Callable[..., Stage]
WHERE_TO = {
    "openai:gpt-4.1": ModelReference("openai:gpt-4.1"),
    "gpt-4.1": ModelReference("gpt-4.1"),
    "ollama:qwen3:8b": ModelReference("ollama:qwen3:8b"),
    "google_genai:gemini-2.5-pro": ModelReference("google_genai:gemini-2.5-pro"),
    "my_agent:graph": ModuleReference("my_agent", "graph"),
    "my.package.agent:build.it": ModuleReference("my.package.agent", "build.it"),
    "./agent.py:graph": FileReference(Path("agent.py"), "graph"),
    "a folder/b.py:x.y": FileReference(Path("a folder/b.py"), "x.y"),
    "C:/agents/agent.py:graph": FileReference(Path("C:/agents/agent.py"), "graph"),
    "langgraph.json": ConfigReference(Path("langgraph.json"), None),
    "path/to/langgraph.json#shop": ConfigReference(Path("path/to/langgraph.json"), "shop"),
    "http://127.0.0.1:2024#agent": RemoteReference("http://127.0.0.1:2024", "agent"),
    "https://x.example/#a-b": RemoteReference("https://x.example", "a-b"),
}


@pytest.mark.parametrize("text", WHERE_TO)
def test_a_reference_is_known_by_its_shape(text: str) -> None:
    assert parse_reference(text) == WHERE_TO[text]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in an empty folder, and leave neither modules nor paths behind."""
    path, modules = sys.path[:], set(sys.modules)
    monkeypatch.chdir(tmp_path)
    shutil.copy(scripted_model.__file__, tmp_path / "scripted_model.py")
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(tmp_path)):
            del sys.modules[name]


def built(reference: str, **settings: Any) -> Any:
    context = SimulationContext(agent=reference, **settings)
    return build_agent(context, AIRLINE, ChatModels(context.calls))


MODEL = f"""
from scripted_model import ScriptedModel
from langchain_core.messages import AIMessage

LINES = [AIMessage("", tool_calls=[{call("cancel_reservation", "c", reservation_id="GV36FQ")}]), {REFUND!r}]
model = ScriptedModel(lines=LINES)
"""
GRAPH = f"""{MODEL}
from langchain.agents import create_agent
from langchain_core.tools import tool

@tool
def cancel_reservation(reservation_id: str) -> str:
    "Cancel."
    raise SystemError("must not run")

graph = create_agent(model, [cancel_reservation])
"""


async def rewarded(agent: Any, set_stage: SetStage) -> float | None:
    await open_agent(agent)
    try:
        state = await play(set_stage(agent, [HELLO, BYE]))
        assert state.get("failure") is None
        reward: float | None = state["reward"]
        return reward
    finally:
        await close_agent(agent)


async def test_a_module_of_the_working_directory_is_found(folder: Path, set_stage: SetStage) -> None:
    (folder / "team_agent.py").write_text(GRAPH)
    assert await rewarded(built("team_agent:graph"), set_stage) == 1.0


async def test_a_module_of_a_package_is_found(folder: Path, set_stage: SetStage) -> None:
    (folder / "team").mkdir()
    (folder / "team" / "__init__.py").touch()
    (folder / "team" / "agent.py").write_text("from .inner import graph")
    (folder / "team" / "inner.py").write_text(GRAPH)
    assert await rewarded(built("team.agent:graph"), set_stage) == 1.0


async def test_a_file_brings_its_own_folder_along(folder: Path, set_stage: SetStage) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "parts.py").write_text(GRAPH)
    (folder / "deep" / "agent.py").write_text("import parts\nclass Box:\n    graph = parts.graph\n")
    assert await rewarded(built("./deep/agent.py:Box.graph"), set_stage) == 1.0


async def test_a_file_in_a_package_may_import_its_neighbours_by_dots(folder: Path, set_stage: SetStage) -> None:
    (folder / "crew").mkdir()
    (folder / "crew" / "__init__.py").touch()
    (folder / "crew" / "parts.py").write_text(GRAPH)
    (folder / "crew" / "agent.py").write_text("from .parts import graph")
    assert await rewarded(built("crew/agent.py:graph"), set_stage) == 1.0


async def test_two_agents_with_modules_of_the_same_name_keep_their_own(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "tools.py").write_text(f"NAME = {name!r}")
        (folder / name / "agent.py").write_text(
            "import tools\nfrom langchain_core.runnables import RunnableLambda\n"
            "async def reply(messages: list): return tools.NAME\nagent = RunnableLambda(reply)\n"
        )
    agents = [built(f"{name}/agent.py:agent") for name in ("one", "two")]
    assert [await agent._inner._runnable.ainvoke([]) for agent in agents] == ["one", "two"]


@pytest.mark.parametrize("entry", ['"./src/agent.py:graph"', '"bot.agent:graph"', '{"path": "./src/agent.py:graph"}'])
async def test_a_langgraph_json_is_read_as_the_server_reads_it(
    entry: str, folder: Path, set_stage: SetStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_SET", "stays")
    monkeypatch.delenv("TEAM_NEW", raising=False)
    project = folder / "project"
    (project / "src").mkdir(parents=True)
    (project / "lib" / "bot").mkdir(parents=True)
    (project / "lib" / "bot" / "__init__.py").touch()
    checks = "import os\nassert (os.environ['TEAM_NEW'], os.environ['TEAM_SET']) == ('new', 'stays')\n"
    (project / "lib" / "bot" / "agent.py").write_text(checks + GRAPH)
    (project / "src" / "agent.py").write_text("from bot.agent import graph")
    shutil.copy(scripted_model.__file__, project / "lib" / "scripted_model.py")
    (project / ".env").write_text("TEAM_NEW=new\nTEAM_SET=lost\n")
    (project / "langgraph.json").write_text(
        f'{{"dependencies": ["./lib", "somepackage"], "graphs": {{"shop": {entry}}}, "env": ".env"}}'
    )
    assert await rewarded(built("project/langgraph.json"), set_stage) == 1.0
    assert await rewarded(built("project/langgraph.json#shop"), set_stage) == 1.0
    monkeypatch.delenv("TEAM_NEW", raising=False)


VALUES = {
    "a chat model": MODEL,
    "a compiled graph": f"{GRAPH}\nmodel = graph",
    "a factory of nothing": f"{GRAPH}\ndef model(): return graph",
    "a factory of config": f"{GRAPH}\ndef model(config):\n    assert config['configurable'] == {{}}\n    return graph",
    "a factory of a runtime": f"{GRAPH}\ndef model(runtime):\n    assert runtime.store is not None\n    return graph",
    "a factory of tools": f"{GRAPH}\ndef model(tools): return create_agent(make(), tools)\nmake = lambda: graph_model\n"
    "graph_model = ScriptedModel(lines=LINES)",
    "a factory of both": f"{GRAPH}\ndef model(tools, policy, more=1):\n"
    "    assert 'cancel_reservation' in [tool.name for tool in tools]\n    assert len(policy) > 100\n    return graph",
    "an asynchronous factory": f"{GRAPH}\nasync def model(policy): return graph",
    "an asynchronous context": f"{GRAPH}\nfrom contextlib import asynccontextmanager\n@asynccontextmanager\n"
    "async def model(tools):\n    yield graph",
    "a context": f"{GRAPH}\nfrom contextlib import contextmanager\n@contextmanager\ndef model():\n    yield graph",
    "a factory of a chat model": f"{MODEL}\ninner = model\ndef model(): return inner",
    "a Runnable of messages": f"{MODEL}\nfrom langchain_core.runnables import RunnableLambda\ninner = model\n"
    "def act(messages: list): return inner.invoke(messages)\nmodel = RunnableLambda(act)",
    "a bound model": f"{MODEL}\nmodel = model.bind(stop=['x'])",
    "a prompt and a model": f"{MODEL}\nfrom langchain_core.prompts import ChatPromptTemplate\n"
    "model = ChatPromptTemplate.from_messages([('system', '{policy}'), ('placeholder', '{messages}')]) | model",
    "an object with a reply": f"{MODEL}\nclass Agent:\n    inner = model\n    async def reply(self, view):\n"
    "        return await self.inner.ainvoke(list(view.messages))\nmodel = Agent()",
    "a class with a reply": f"{MODEL}\nclass Agent:\n    inner = model\n    def __init__(self, policy): pass\n"
    "    async def reply(self, view):\n        return await self.inner.ainvoke(list(view.messages))\nmodel = Agent",
    "a functional graph": f"{MODEL}\nfrom langgraph.func import entrypoint\ninner = model\n@entrypoint()\n"
    "async def model(messages: list): return await inner.ainvoke(messages)",
    "a graph to compile": f"""{MODEL}
from langgraph.graph import START, MessagesState, StateGraph
def think(state: MessagesState, inner=model): return {{"messages": [inner.invoke(state["messages"])]}}
model = StateGraph(MessagesState).add_node("think", think).add_edge(START, "think")""",
}


@pytest.mark.parametrize("kind", VALUES)
async def test_a_reference_may_lead_to(kind: str, folder: Path, set_stage: SetStage) -> None:
    (folder / "agent.py").write_text(VALUES[kind])
    assert await rewarded(built("./agent.py:model"), set_stage) == 1.0


async def test_a_context_is_left_in_the_end(folder: Path) -> None:
    (folder / "agent.py").write_text(
        f"{GRAPH}\nfrom contextlib import asynccontextmanager\nLEFT = []\n@asynccontextmanager\n"
        "async def make():\n    yield graph\n    LEFT.append(1)\n"
    )
    agent = built("./agent.py:make")
    await open_agent(agent)
    assert sys.modules["agent"].LEFT == []
    await close_agent(agent)
    assert sys.modules["agent"].LEFT == [1]


WRONG = {
    "nobody": "write PROVIDER:MODEL such as openai:gpt-4.1, package.module:attr, ./file.py:attr, .*#assistant",
    "nobody:x": "there is no module 'nobody' here .* and no such provider; write PROVIDER:MODEL",
    "not a module:x": "names no code; write PROVIDER:MODEL",
    "./agent.py": "got a file without a name in it; write FILE.py:attr",
    "http://127.0.0.1:1": "an address without an assistant; write http://host:port#assistant",
    "./none.py:x": "there is no file none.py",
    "none.json": "there is no file none.json",
    "./fine.py:nothing": "fine.py has no 'nothing': there are .*value",
    "./fine.py:value": "it is of type int, wanted a chat model, a Runnable, a StateGraph",
    "./fine.py:needs": "it takes 'shop', wanted a function of any of tools, policy, config, runtime",
    "./fine.py:gives": "it is None, wanted a chat model",
    "./fine.py:fails": r"making it failed: ValueError: no shop \(in .*fine.py, line 4\)",
    "./fine.py:narrow": "its input has the keys question, wanted `messages`",
    "./broken.py:x": r"no module named 'absent_package' \(in .*broken.py, line 2\); .*`pip install absent-package`",
    "./wrong.py:x": "SyntaxError: .*wrong.py, line 1",
    "./stops.py:x": "importing it failed: SystemExit: 3",
    "several.json": "has several graphs: a, b; write several.json#NAME",
    "several.json#c": "has no graph 'c': known are a, b",
    "several.json#b": "graph 'b' of several.json is 5, wanted PATH:ATTR or MODULE:ATTR",
    "empty.json": "names no graphs",
    "odd.json": "is no JSON",
    "noenv.json": "names '.env' as its environment, and there is no such file",
}


@pytest.mark.parametrize("reference", WRONG)
def test_a_wrong_reference_is_refused_in_one_line(reference: str, folder: Path) -> None:
    (folder / "fine.py").write_text(
        "value = 5\ndef needs(shop): ...\ndef gives(): ...\ndef fails(): raise ValueError('no shop')\n"
        "from langchain_core.prompts import PromptTemplate\nnarrow = PromptTemplate.from_template('{question}')\n"
    )
    (folder / "broken.py").write_text("x = 1\nimport absent_package\n")
    (folder / "wrong.py").write_text("x = = 1")
    (folder / "stops.py").write_text("raise SystemExit(3)")
    (folder / "several.json").write_text('{"graphs": {"a": "./fine.py:value", "b": 5}}')
    (folder / "empty.json").write_text('{"graphs": {}}')
    (folder / "odd.json").write_text("{")
    (folder / "noenv.json").write_text('{"graphs": {"a": "./fine.py:value"}, "env": ".env"}')
    with pytest.raises(ConfigurationError, match=WRONG[reference]) as caught:
        built(reference)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"cannot use --agent {reference!r}")


async def test_a_factory_that_fails_in_the_loop_is_told_before_the_first_trial(folder: Path) -> None:
    (folder / "agent.py").write_text("async def make(): raise ValueError('no shop')")
    with pytest.raises(ConfigurationError, match="making it failed: ValueError: no shop"):
        await open_agent(built("./agent.py:make"))


def test_options_are_refused_where_nothing_takes_them(folder: Path) -> None:
    (folder / "agent.py").write_text(VALUES["an object with a reply"])
    with pytest.raises(ConfigurationError, match="--agent-options are for chat models and graphs"):
        built("./agent.py:model", agent_options='{"policy": "system"}')
    with pytest.raises(UnknownNameError, match="'polcy'"):
        built("http://127.0.0.1:1#x", agent_options='{"polcy": 1}')


async def test_a_known_provider_wins_over_a_module_of_its_name(folder: Path, set_stage: SetStage) -> None:
    (folder / "openai.py").write_text("raise SystemExit(3)")
    with OpenAIServer(lambda request: Reply(REFUND)) as server:
        options = f'{{"base_url": "{server.base_url}", "api_key": "k"}}'
        agent = built("openai:gpt-4.1", agent_options=options)
        assert not isinstance(agent, OwnAgent)


def test_the_digest_follows_the_code_and_its_neighbours(folder: Path) -> None:
    (folder / "part.py").write_text("X = 1")
    (folder / "agent.py").write_text(f"import part\n{GRAPH}")
    first = built("./agent.py:graph").code_digest
    assert built("./agent.py:graph").code_digest == first
    (folder / "part.py").write_text("X = 2")
    assert built("./agent.py:graph").code_digest != first
    (folder / "part.py").write_text("X = 1")
    (folder / "agent.py").write_text(f"import part\n{GRAPH}\n# changed")
    assert built("./agent.py:graph").code_digest != first


def test_every_refusal_is_of_our_own_kind(folder: Path) -> None:
    with pytest.raises(TaugraphError, match="cannot use --agent"):
        built("")
    assert calls() is not None

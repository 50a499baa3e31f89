"""Every kind of agent, with every strategy, against every strategy of the user, over a real OpenAI-compatible server.

Model `good` cancels what the customer wants cancelled and says what comes back; model `bad` says it and does nothing.
"""

import json
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acting import CANCEL, HELLO, REFUND
from support.langgraph_server import find_langgraph, langgraph_server
from support.openai_server import OpenAIServer, Reply, ToolCall

from taugraph.experiments.run import start_run
from taugraph.experiments.settings import load_settings
from taugraph.experiments.store import open_store

CALL = {"name": "cancel_reservation", "arguments": {"reservation_id": "GV36FQ"}}
USERS = ("llm", "react", "verify", "reflection")
STRATEGIES = ("tool-calling", "react", "act", "few-shot", "reflect")
EXAMPLE = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}
AGENT = '''
    import os
    from typing import Annotated

    from langchain.agents import create_agent
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import InjectedToolCallId, tool
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode
    from langgraph.types import Command


    @tool
    def cancel_reservation(reservation_id: str) -> str:
        """Cancel a reservation."""
        raise SystemError("the real system must not be touched")


    def model(name):
        return ChatOpenAI(model=name, base_url=os.environ["MATRIX_URL"], api_key="test", max_retries=0)


    def by_hand(name):
        bound = model(name).bind_tools([cancel_reservation])

        def think(state: MessagesState):
            return {"messages": [bound.invoke(state["messages"])]}

        def route(state: MessagesState):
            return "shop" if state["messages"][-1].tool_calls else END

        builder = StateGraph(MessagesState)
        builder.add_node("think", think)
        builder.add_node("shop", ToolNode([cancel_reservation]))
        builder.add_edge(START, "think")
        builder.add_conditional_edges("think", route, ["shop", END])
        builder.add_edge("shop", "think")
        return builder.compile()


    def handing_over(name):
        @tool
        def to_cancellations(call_id: Annotated[str, InjectedToolCallId]) -> Command:
            """Hand over to the colleague for cancellations."""
            done = ToolMessage("handed over", tool_call_id=call_id)
            return Command(goto="cancellations", update={"messages": [done]}, graph=Command.PARENT)

        front = create_agent(model(name + "-front"), [to_cancellations], name="front")
        cancellations = create_agent(model(name), [cancel_reservation], name="cancellations")
        builder = StateGraph(MessagesState)
        builder.add_node("front", front)
        builder.add_node("cancellations", cancellations)
        builder.add_edge(START, "front")
        return builder.compile()


    def factory_of(name):
        def make_agent(tools, policy):
            return create_agent(model(name), tools, system_prompt=policy)

        return make_agent


    good_model, bad_model = model("good"), model("bad")
    good_graph, bad_graph = (create_agent(model(name), [cancel_reservation]) for name in ("good", "bad"))
    good_hand, bad_hand = by_hand("good"), by_hand("bad")
    good_team, bad_team = handing_over("good"), handing_over("bad")
    good_factory, bad_factory = factory_of("good"), factory_of("bad")
'''


def brain(request: dict[str, Any]) -> Reply:
    """Play whoever is asked: the customer, its judge, the agent in any strategy, or its critic."""
    told = str(request["messages"][0]["content"])
    names = {tool["function"]["name"] for tool in request.get("tools", [])}
    spoken = sum(message["role"] == "assistant" for message in request["messages"])
    if "judge" in names:
        return calling("judge", satisfactory=True)
    if "give_verdict" in names:
        return calling("give_verdict", approve=True, reason="fine")
    if told.startswith("You play a customer"):
        return customer(names, spoken)
    if request["model"].endswith("-front"):
        return calling("to_cancellations")
    if "To talk to the customer" in told or "You cannot call tools directly" in told or "one action" in told:
        return writing(request["model"], spoken, thinks="Thought:" in told)
    if request["model"] == "good" and not any(
        message["role"] == "tool" for message in request["messages"] if is_answer(message)
    ):
        return calling(CALL["name"], **CALL["arguments"])  # type: ignore[arg-type]
    return Reply(REFUND)


def is_answer(message: dict[str, Any]) -> bool:
    return "handed over" not in str(message.get("content"))


def customer(names: set[str], spoken: int) -> Reply:
    if "say" in names:
        return (
            calling("say", thought="hm", reply=HELLO)
            if not spoken
            else calling("say", thought="done", reply="", stop=True)
        )
    return Reply(HELLO) if not spoken else calling("end_conversation")


def writing(model: str, spoken: int, *, thinks: bool) -> Reply:
    acts = model == "good" and not spoken
    action = CALL if acts else {"name": "respond", "arguments": {"content": REFUND}}
    text = f"Action: {json.dumps(action)}"
    return Reply(f"Thought: hm\n{text}" if thinks else text)


def calling(name: str, **arguments: Any) -> Reply:
    return Reply(tool_calls=(ToolCall(name, json.dumps(arguments)),))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Serve the models, and write an agent's folder as a team has it."""
    folder = tmp_path_factory.mktemp("matrix")
    (folder / "agent.py").write_text(textwrap.dedent(AGENT))
    (folder / "examples.jsonl").write_text(json.dumps(EXAMPLE) + "\n")
    graphs = {name: f"./agent.py:{name}_graph" for name in ("good", "bad")}
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with OpenAIServer(brain, models=("good", "bad")) as server:
        os.environ["MATRIX_URL"] = server.base_url
        yield folder
    del os.environ["MATRIX_URL"]


@pytest.fixture(scope="module")
def deployed(place: Path) -> Iterator[str]:
    command = find_langgraph()
    if command is None:
        pytest.skip("langgraph-cli is not installed")
    with langgraph_server(place, command) as url:
        yield url


def rewards(agent: str, folder: Path, user: str, **given: Any) -> tuple[str, float | None]:
    """Play one trial as the command line does, and return how it ended."""
    options = {"base_url": os.environ["MATRIX_URL"], "api_key": "test"}
    settings = load_settings(
        agent=agent,
        user="openai:user",
        user_options=options,
        user_strategy=user,
        tasks=(CANCEL,),
        trials=1,
        attempts=1,
        **given,
    )
    with open_store(folder / f"results-{os.getpid()}.db") as store:
        run = start_run(settings, store)
        assert run.play() is None
        found = [*store.trials(run.name), *(attempt.trial for attempt in store.unscored(run.name))]
    [trial] = found
    return trial.termination.value, trial.reward


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_chat_model_gets_what_its_script_deserves(strategy: str, user: str, place: Path) -> None:
    options = {"base_url": os.environ["MATRIX_URL"], "api_key": "test"}
    for name, reward in (("good", 1.0), ("bad", 0.0)):
        given = chosen(strategy, place) | {"agent_options": options}
        assert rewards(f"openai:{name}", place, user, **given) == ("user_stop", reward)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_chat_model_of_one_s_own_takes_every_strategy(strategy: str, place: Path) -> None:
    for name, reward in (("good", 1.0), ("bad", 0.0)):
        ended = rewards(f"{place}/agent.py:{name}_model", place, "llm", **chosen(strategy, place))
        assert ended == ("user_stop", reward)


def chosen(strategy: str, place: Path) -> dict[str, Any]:
    examples = {"examples": str(place / "examples.jsonl")} if strategy == "few-shot" else {}
    return {"strategy": strategy, **examples}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("kind", ["graph", "hand", "team", "factory", "langgraph.json"])
def test_an_agent_as_it_is_gets_what_its_script_deserves(kind: str, user: str, place: Path) -> None:
    for name, reward in (("good", 1.0), ("bad", 0.0)):
        at = f"{place}/langgraph.json#{name}" if kind == "langgraph.json" else f"{place}/agent.py:{name}_{kind}"
        assert rewards(at, place, user) == ("user_stop", reward)


@pytest.mark.parametrize("user", USERS)
def test_a_deployed_agent_gets_what_its_script_deserves(user: str, place: Path, deployed: str) -> None:
    for name, reward in (("good", 1.0), ("bad", 0.0)):
        assert rewards(f"{deployed}#{name}", place, user) == ("user_stop", reward)

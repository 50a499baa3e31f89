"""An OpenAI-compatible server that plays both sides of every airline task by its gold, in a process of its own.

It keeps nothing between requests: who is asked follows from the tools and the system prompt, which task from what the
user has been told or has said, and the next words from the messages so far, by the demonstration models' own script.
It prints its base URL, serves until its standard input closes, and keeps connections alive as providers do.
"""

import argparse
import asyncio
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import uvicorn
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from measure import AIRLINE
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from taugraph.domains.domain import Domain, load_domain
from taugraph.domains.protocol import find_protocol
from taugraph.domains.task import Scenario
from taugraph.graphs.agents.demo import OPENING_QUESTION, DemoAgentModel
from taugraph.graphs.users.demo import DemoUserModel
from taugraph.graphs.users.llm import system_prompt
from taugraph.tools.definition import ToolKind, kind_of

Speaker = Callable[[list[BaseMessage]], AIMessage]
"""Answers a whole prompt."""


def facts_of(scenario: Scenario) -> str:
    """Return what the scripted user says second, as the transcript holds it; no two tasks share it."""
    return ". ".join([*scenario.known, scenario.instructions]).strip()


def build_user(domain: Domain, *, stops_on_token: bool) -> dict[str, Speaker]:
    """Return system prompt -> the scripted user of that task."""

    def speaker(scenario: Scenario) -> Speaker:
        model = DemoUserModel(scenario=scenario, stops_on_token=stops_on_token)
        return lambda prompt: _said(model.invoke(prompt))

    return {
        system_prompt(task.scenario, stops_on_token=stops_on_token): speaker(task.scenario) for task in domain.tasks
    }


def build_agent(domain: Domain) -> Speaker:
    """Return the scripted agent: a question first, then the gold of the task whose facts it was told."""
    writes = frozenset(tool.name for tool in domain.agent_tools if kind_of(tool) in (ToolKind.WRITE, ToolKind.HANDOFF))
    models = {
        facts_of(task.scenario): DemoAgentModel(task=task, writes=writes, seed=0, slip_rate=0.0)
        for task in domain.tasks
    }

    def speak(prompt: list[BaseMessage]) -> AIMessage:
        told = [message.text.strip() for message in prompt if message.type == "human"]
        return _said(models[told[1]].invoke(prompt)) if len(told) > 1 else AIMessage(OPENING_QUESTION)

    return speak


def _said(message: object) -> AIMessage:
    assert isinstance(message, AIMessage), "a chat model answers with an AI message"
    return message


def build_app(domain: Domain, *, stops_on_token: bool, delay_s: float) -> Starlette:
    """Build the server.

    Args:
        domain: Whose tasks are played.
        stops_on_token: Whether the user stops by the token instead of by hanging up.
        delay_s: Seconds before every answer.
    """
    users, agent = build_user(domain, stops_on_token=stops_on_token), build_agent(domain)

    async def answer(request: Request) -> Response:
        body = json.loads(await request.body())
        prompt = convert_to_messages(body["messages"])
        message = users.get(prompt[0].text, agent)(prompt)
        await asyncio.sleep(delay_s)
        return JSONResponse(_completion(message, body))

    return Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])


def _completion(message: AIMessage, body: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
        }
        for call in message.tool_calls
    ]
    wire = {"role": "assistant", "content": message.text or None} | ({"tool_calls": calls} if calls else {})
    return {
        "id": "chatcmpl-gold",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": wire, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 50, "total_tokens": 1_050},
    }


@contextmanager
def gold_server(data: Path | None, protocol: str, delay_ms: int) -> Iterator[str]:
    """Run the server in another process while this holds; give its base URL."""
    command = [sys.executable, __file__, "--protocol", protocol, "--delay-ms", str(delay_ms)]
    with Popen([*command, *(["--data", str(data)] if data else [])], stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None, "asked for"
        assert process.stdout is not None, "asked for"
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait()


def main() -> None:
    """Serve until standard input closes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of tau-bench's airline in place of our data")
    parser.add_argument("--protocol", default="strict", help="decides how the user stops")
    parser.add_argument("--delay-ms", type=int, default=0, help="milliseconds before every answer")
    chosen = parser.parse_args()
    stops_on_token = find_protocol(chosen.protocol).stops_on_token
    app = build_app(load_domain(AIRLINE, chosen.data), stops_on_token=stops_on_token, delay_s=chosen.delay_ms / 1_000)
    # asyncio turns Nagle's delay (40 ms a request) off only where the protocol is named.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1))

    def stop_with_parent() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=stop_with_parent, daemon=True).start()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", flush=True)
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()

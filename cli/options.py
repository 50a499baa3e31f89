"""The options and arguments that several commands share, each with its help."""

from pathlib import Path
from typing import Annotated

import typer

Domain = Annotated[
    str | None, typer.Argument(help="Domain: a name, a folder, or package.module:attr. Default: airline.")
]
Name = Annotated[str, typer.Argument(help="Name of the experiment.")]
StoreOption = Annotated[
    str | None, typer.Option("--store", help="Results store: a file or database URL. Default: .taugraph/results.db.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Data = Annotated[Path | None, typer.Option(help="Folder with published files in place of the domain's own data.")]
Agent = Annotated[
    str | None,
    typer.Option(
        help="Agent under test: demo (default), PROVIDER:MODEL, module:attr, FILE.py:attr, langgraph.json#name, "
        "or URL#assistant."
    ),
]
Strategy = Annotated[
    str | None, typer.Option(help="How a chat model acts: tool-calling (default), react, act, few-shot, reflect.")
]
Examples = Annotated[
    str | None, typer.Option(help="Examples of the few-shot strategy: a file, or an experiment's name.")
]
AgentTimeoutS = Annotated[
    float | None, typer.Option(help="Seconds one turn of an agent or user of your own may take. Default: 600.")
]
User = Annotated[
    str | None,
    typer.Option(help="Simulated user: demo (default), PROVIDER:MODEL, human, scripted:FILE, or module:attr."),
]
UserStrategy = Annotated[
    str | None, typer.Option(help="How a chat model plays the user: llm (default), react, verify, reflection.")
]
Personas = Annotated[
    str | None,
    typer.Option(
        "--personas", "--persona", help="Play every task with these personas: names, or all. Unset: the task's own."
    ),
]
AgentOptions = Annotated[str | None, typer.Option(help="Options of the agent's model, a JSON object. Default: {}.")]
UserOptions = Annotated[str | None, typer.Option(help="Options of the user's model, a JSON object. Default: {}.")]
Trials = Annotated[
    int | None, typer.Option("--trials", "-k", help="Trials of every task: the k of pass^k. Default: 4.")
]
Tasks = Annotated[str | None, typer.Option(help="Task ids, separated by commas. Default: all of the split.")]
Split = Annotated[
    str | None, typer.Option(help="Split of the tasks. Default: test where there is one, else all tasks.")
]
LangSmith = Annotated[
    bool, typer.Option("--langsmith", help="Send the experiment to LangSmith too; otherwise nothing is sent.")
]
ExperimentPrefix = Annotated[str | None, typer.Option(help="Stands before the name of LangSmith's experiment.")]
Limit = Annotated[int | None, typer.Option(help="Take only the first so many tasks. Default: all.")]
Concurrency = Annotated[int | None, typer.Option(help="Trials played at the same time. Default: 8.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the run. Default: 0.")]
NewName = Annotated[str | None, typer.Option("--name", help="Name of the new experiment; made up if unset.")]
Protocol = Annotated[str | None, typer.Option(help="Rules of conversation and scoring: strict (default) or tau-bench.")]
MaxTurns = Annotated[
    int | None, typer.Option(help="User messages per trial at most. Default: 30, no limit under tau-bench.")
]
MaxSteps = Annotated[
    int | None, typer.Option(help="Agent messages per trial at most. Default: 100, 30 under tau-bench.")
]
MaxToolErrors = Annotated[
    int | None, typer.Option(help="Tool errors in a row at most. Default: 10, no limit under tau-bench.")
]
Server = Annotated[
    str | None,
    typer.Option(help="LangGraph servers that play the trials: addresses, separated by commas. Unset: played here."),
]
KeepThreads = Annotated[
    bool | None, typer.Option("--keep-threads", help="Leave the threads of stored trials on the servers.")
]
TimeoutS = Annotated[float | None, typer.Option(help="Seconds one model call may take. Default: 120.")]
Attempts = Annotated[int | None, typer.Option(help="Attempts at one model call when the provider fails. Default: 4.")]

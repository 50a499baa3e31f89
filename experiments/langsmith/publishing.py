"""Publishing an experiment: its trials as runs with feedback, and pass^k of the whole, each sent once.

What was sent is noted in the store, and every id follows from what it names: an interrupted push goes on where it
stopped, and one that could not note what it sent sends the same ids again. A trial that cannot be sent costs nothing
but itself: it stays in the store and the next push sends it.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any
from uuid import UUID

from langsmith.schemas import TracerSession
from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError
from pydantic import BaseModel, ConfigDict

from taugraph.domains.domain import Domain
from taugraph.domains.errors import ConfigurationError, TaugraphError
from taugraph.domains.task import Task
from taugraph.domains.trial import Trial
from taugraph.experiments.langsmith.connection import Connection, LangSmithFailedError, langsmith_errors
from taugraph.experiments.langsmith.datasets import push_dataset
from taugraph.experiments.langsmith.feedback import Feedback, feedback_of, summary_of
from taugraph.experiments.langsmith.identifiers import example_id, feedback_id, run_id
from taugraph.experiments.langsmith.runs import TraceContext, trace_of
from taugraph.experiments.report import Report
from taugraph.experiments.store import Experiment, Store

_LOG = logging.getLogger("taugraph")
_SENDERS = 4
_GIVE_UP_AFTER = 3
"""Trials in a row that could not be sent, after which a run no longer tries: `push` sends them later."""


class Published(BaseModel):
    """What a push came to."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    experiment: str
    """Name of LangSmith's experiment."""
    url: str | None = None
    """Where to look at it; `None` if LangSmith does not say."""
    sent: int = 0
    """Trials sent now."""
    before: int = 0
    """Trials sent by an earlier push."""
    failed: int = 0
    """Trials that could not be sent."""
    reason: str | None = None
    """Why the last of them could not be sent; `None` if all were."""


class Publisher:
    """Sends the trials of one experiment, each the moment it is stored, on a thread of its own."""

    def __init__(self, connection: Connection, store: Store, experiment: Experiment, domain: Domain, name: str) -> None:
        """Set up dataset and experiment.

        Args:
            connection: Where to.
            store: Where the trials are.
            experiment: Which experiment.
            domain: Its domain, with its tasks as they were played.
            name: Name of LangSmith's experiment.

        Raises:
            LangSmithFailedError: If LangSmith refuses.
            ConfigurationError: If it has another experiment of that name.
        """
        self._connection, self._store, self._experiment, self._domain = connection, store, experiment, domain
        self._name = name
        self._tasks = {task_id: domain.task(task_id) for task_id in experiment.task_ids}
        self._goals = _base_tasks(domain, self._tasks.values())
        pushed = push_dataset(connection, domain, self._goals)
        self._dataset = pushed.dataset
        with langsmith_errors(f"set up experiment {name!r}"):
            self._project = _project(connection, experiment, name, pushed.dataset_id, len(self._goals))
        self._known = store.published(experiment.name, str(self._project.id))
        self._before = len(self._known)
        self._sent = self._failed = self._failed_in_row = 0
        self._reason: str | None = None
        self._queue: SimpleQueue[Trial | None] = SimpleQueue()
        self._senders = ThreadPoolExecutor(_SENDERS, thread_name_prefix="langsmith-feedback")
        self._worker = threading.Thread(target=self._work, name="langsmith-publisher", daemon=True)
        self._worker.start()

    def __call__(self, trial: Trial) -> None:
        """Send a trial that was stored, some time from now; an unscored one is not sent."""
        if trial.outcome != "unscored":
            self._queue.put(trial)

    def send_stored(self, on_trial: Callable[[Trial], None] = lambda trial: None) -> None:
        """Send every stored trial that was not sent yet."""
        for task_id in self._experiment.task_ids:
            for trial in self._store.trials(self._experiment.name, task_id):
                if (trial.task_id, trial.trial) not in self._known:
                    self(trial)
                    on_trial(trial)

    def finish(self, report: Report) -> Published:
        """Wait until all is sent, send what holds for the whole experiment, and close."""
        self._queue.put(None)
        self._worker.join()
        self._senders.shutdown()
        try:
            with langsmith_errors("send pass^k"):
                for feedback in summary_of(report):
                    self._send_feedback(feedback, session_id=self._project.id, project_id=self._project.id)
        except LangSmithFailedError as error:
            self._reason = str(error)
        self._connection.close()
        return Published(
            experiment=self._name,
            url=self._project.url,
            sent=self._sent,
            before=self._before,
            failed=self._failed,
            reason=self._reason,
        )

    def _work(self) -> None:
        while (trial := self._queue.get()) is not None:
            if self._failed_in_row >= _GIVE_UP_AFTER:
                self._failed += 1
                continue
            try:
                self._publish(trial)
            except TaugraphError as error:
                self._note_failure(trial, str(error))
            except Exception as error:  # noqa: BLE001 - whatever goes wrong here must not cost the run its results
                self._note_failure(trial, f"{type(error).__name__}: {error}")
            else:
                self._sent += 1
                self._failed_in_row = 0

    def _note_failure(self, trial: Trial, reason: str) -> None:
        self._failed += 1
        self._failed_in_row += 1
        self._reason = reason
        _LOG.warning("task %s trial %s was not sent to LangSmith: %s", trial.task_id, trial.trial, reason)
        if self._failed_in_row == _GIVE_UP_AFTER:
            _LOG.warning("LangSmith is given up for this run; the results are safe in the store")

    def _publish(self, trial: Trial) -> None:
        task = self._tasks[trial.task_id]
        self._connection.send_runs(trace_of(trial, self._context(task)))
        root = run_id(self._project.id, trial.task_id, trial.trial)
        place = {"run_id": root, "session_id": self._project.id}
        with langsmith_errors("send feedback"):
            list(self._senders.map(lambda one: self._send_feedback(one, **place), feedback_of(trial)))
        self._store.mark_published(self._experiment.name, str(self._project.id), trial.task_id, trial.trial)

    def _send_feedback(self, feedback: Feedback, **place: Any) -> None:
        identity = feedback_id(place.get("run_id") or place["project_id"], feedback["key"])
        try:
            self._connection.client.create_feedback(**feedback, **place, feedback_id=identity, stop_after_attempt=4)
        except LangSmithConflictError:
            changed = {name: feedback.get(name) for name in ("score", "value", "comment") if name in feedback}
            self._connection.client.update_feedback(identity, **changed)

    def _context(self, task: Task) -> TraceContext:
        base = task.variant_of or task.id
        configuration = self._experiment.configuration
        names = ("agent", "strategy", "user", "user_strategy", "protocol")
        metadata = {name: configuration[name] for name in names if configuration.get(name)}
        return TraceContext(
            project_id=self._project.id,
            project_name=self._name,
            experiment=self._experiment.name,
            thread_id=thread_of(self._experiment.name, task.id),
            example_id=example_id(self._dataset, base),
            metadata={**metadata, "persona": task.persona, "fingerprint": self._experiment.fingerprint},
            gold={"calls": [call.model_dump(mode="json") for call in task.gold]},
        )


def project_name(experiment: str, prefix: str | None) -> str:
    """Return the name of LangSmith's experiment."""
    return f"{prefix}-{experiment}" if prefix else experiment


def thread_of(experiment: str, task_id: str) -> str:
    """Return the thread that ties the trials of a task together."""
    return f"{experiment}/{task_id}"


def _base_tasks(domain: Domain, tasks: Any) -> list[Task]:
    """Return the tasks without personas: an example is a scenario, whoever speaks in it."""
    found: dict[str, Task] = {}
    for task in tasks:
        base = task.variant_of or task.id
        found.setdefault(base, task.model_copy(update={"id": base, "persona": None, "variant_of": None}))
    return list(found.values())


def _project(
    connection: Connection, experiment: Experiment, name: str, dataset_id: UUID, examples: int
) -> TracerSession:
    client, identity = connection.client, f"{experiment.fingerprint} {experiment.created_at.isoformat()}"
    try:
        project: TracerSession = client.read_project(project_name=name)
    except LangSmithNotFoundError:
        return client.create_project(
            name,
            description=f"taugraph experiment {experiment.name}: every task {experiment.trials} times",
            metadata={**_settings(experiment), "taugraph_identity": identity, "num_repetitions": experiment.trials},
            reference_dataset_id=dataset_id,
            num_examples=examples,
            num_repetitions=experiment.trials,
        )
    if (project.metadata or {}).get("taugraph_identity") != identity:
        raise ConfigurationError(
            f"LangSmith has another experiment named {name!r}; choose another name with --experiment-prefix"
        )
    return project


def _settings(experiment: Experiment) -> Mapping[str, Any]:
    configuration = experiment.configuration
    left_out = ("identity", "floors", "tasks")
    shown = {key: value for key, value in configuration.items() if key not in left_out and value not in (None, {}, [])}
    return {**shown, "fingerprint": experiment.fingerprint, "taugraph_version": experiment.package_version}

"""A folder in tau-bench's layout, small enough to be read at once, and the models that play on it.

Its tasks come in threes: one cancels the reservation, one sends a certificate, one must only be told a number.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from taugraph.domains.task import Task
from taugraph.graphs.seeds import actor_seed, trial_seed

from .openai_server import Fault, Reply, ToolCall

Place = tuple[str, int]
Json = dict[str, Any]

USER_ID, RESERVATION_ID, PASSWORD = "ada_moss_1000", "RRRRR1", "sk-very-secret-0042"
CANCEL: Json = {"name": "cancel_reservation", "kwargs": {"reservation_id": RESERVATION_ID}}
CERTIFICATE: Json = {"name": "send_certificate", "kwargs": {"user_id": USER_ID, "amount": 50}}
BAD: Json = {"name": "cancel_reservation", "kwargs": {"reservation_id": "NOSUCH"}}

_USER: Json = {
    "name": {"first_name": "Ada", "last_name": "Moss"},
    "address": {
        "address1": "1 Fern Lane",
        "address2": "Suite 2",
        "city": "Reno",
        "country": "USA",
        "state": "NV",
        "zip": "89501",
    },
    "email": "ada.moss@example.com",
    "dob": "1980-02-03",
    "payment_methods": {"gift_card_1": {"source": "gift_card", "amount": 120, "id": "gift_card_1"}},
    "saved_passengers": [],
    "membership": "gold",
    "reservations": [RESERVATION_ID],
}
_FLIGHT: Json = {
    "flight_number": "XX002",
    "origin": "RNO",
    "destination": "BOI",
    "scheduled_departure_time_est": "22:00:00",
    "scheduled_arrival_time_est": "23:30:00",
    "dates": {
        "2024-05-16": {
            "status": "available",
            "available_seats": {"basic_economy": 0, "economy": 4, "business": 9},
            "prices": {"basic_economy": 51, "economy": 110, "business": 205},
        }
    },
}
_RESERVATION: Json = {
    "reservation_id": RESERVATION_ID,
    "user_id": USER_ID,
    "origin": "RNO",
    "destination": "BOI",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [{"origin": "RNO", "destination": "BOI", "flight_number": "XX002", "date": "2024-05-16", "price": 110}],
    "passengers": [{"first_name": "Ada", "last_name": "Moss", "dob": "1980-02-03"}],
    "payment_history": [{"payment_id": "gift_card_1", "amount": 110}],
    "created_at": "2024-05-10T08:00:00",
    "total_baggages": 0,
    "nonfree_baggages": 0,
    "insurance": "no",
}


def write_tiny_airline(folder: Path, *, tasks: int = 3, gold: Json | None = None) -> Path:
    """Write the folder; `gold` replaces the first task's only call."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds: list[tuple[list[Json], list[str]]] = [([CANCEL], []), ([CERTIFICATE], []), ([], ["4711"])]
    if gold:
        kinds[0] = ([gold], [])
    records = [
        {"user_id": USER_ID, "instruction": f"You are Ada, caller {index}.", "actions": actions, "outputs": outputs}
        for index, (actions, outputs) in ((index, kinds[index % 3]) for index in range(tasks))
    ]
    documents = {
        "users": {USER_ID: _USER},
        "flights": {"XX002": _FLIGHT},
        "reservations": {RESERVATION_ID: _RESERVATION},
        "tasks_test": records,
    }
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    (folder / "wiki.md").write_text("# Policy\n\nHelp the customer.\n")
    return folder


class TinyAirlineScript:
    """Plays agent and user by the seed of each request, so that it knows the trial and keeps no conversation.

    Attributes:
        openings: How often each trial's conversation was opened.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        trials: int,
        passes: Callable[[Place], bool] = lambda place: True,
        fault: Callable[[Place], Fault | None] = lambda place: None,
        delay_s: float = 0.0,
    ) -> None:
        self.openings: Counter[Place] = Counter()
        self._tasks = {task.id: task for task in tasks}
        self._passes = passes
        self._fault = fault
        self._delay_s = delay_s
        self._places = {
            actor_seed(trial_seed(0, task.id, trial), task.id, trial, actor): (task.id, trial)
            for task in tasks
            for trial in range(trials)
            for actor in ("agent", "user")
        }

    def __call__(self, request: Json) -> Reply | Fault:
        place = self._places[request["seed"]]
        names = {tool["function"]["name"] for tool in request.get("tools", [])}
        spoken = sum(message["role"] == "assistant" for message in request["messages"])
        if "end_conversation" in names:
            return self._user(place, spoken)
        return self._fault(place) or self._agent(place, spoken)

    def _user(self, place: Place, spoken: int) -> Reply:
        if spoken:
            return Reply(tool_calls=(ToolCall("end_conversation", "{}"),), delay_s=self._delay_s)
        self.openings[place] += 1
        return Reply("Hello, it is about my trip.", delay_s=self._delay_s)

    def _agent(self, place: Place, spoken: int) -> Reply:
        task = self._tasks[place[0]]
        passes = self._passes(place)
        if passes and spoken < len(task.gold):
            call = task.gold[spoken]
            return Reply(tool_calls=(ToolCall(call.name, json.dumps(call.arguments)),), delay_s=self._delay_s)
        told = " ".join(claim.value for claim in task.claims) if passes else ""
        return Reply(f"All done. {told}", delay_s=self._delay_s)

"""A task may begin with data, calls and words of its own."""

from typing import Any

import pytest
from sqlmodel import Session, select

from taugraph.domains.airline.models import Reservation
from taugraph.domains.domain import Domain
from taugraph.domains.errors import TaskInvalidError
from taugraph.domains.retail.models import Order, Product
from taugraph.domains.task import GoldCall, InitialState, Scenario, Task
from taugraph.graphs.agents.demo import DemoAgent
from taugraph.graphs.simulation import build_simulation
from taugraph.graphs.stage import Stage
from taugraph.graphs.users.demo import DemoUser
from taugraph.tools.airline import domain as airline
from taugraph.tools.airline.documents import reservation_document
from taugraph.tools.executor import Executor
from taugraph.tools.retail import domain as retail

TRIP = "GV36FQ"


def stage_with(initial: InitialState, gold: tuple[GoldCall, ...] = (), world: Domain = airline) -> tuple[Stage, Task]:
    task = Task(id="own", scenario=Scenario(instructions="Wait.", opening="Hi."), gold=gold, initial=initial)
    with_task = Domain(**{**vars(world), "tasks": (task,)})
    return Stage(with_task, DemoAgent("demo:0", with_task), DemoUser()), task


def trip_of(stage: Stage, changes: Any) -> dict[str, Any]:
    def read(session: Session) -> dict[str, Any]:
        return reservation_document(session, session.get_one(Reservation, TRIP))

    return stage.executor.database.read(changes, read)


def test_data_are_merged_into_the_record_and_nothing_else_changes() -> None:
    stage, task = stage_with(InitialState(data={"reservations": {TRIP: {"insurance": "yes", "total_baggages": 3}}}))
    before, after = trip_of(stage, {}), trip_of(stage, stage.start(task))
    assert after == before | {"insurance": "yes", "total_baggages": 3}
    assert list(stage.start(task)) == ["reservations"]
    stage.close()


@pytest.mark.parametrize("collection", ["users", "flights", "reservations"])
def test_records_without_new_fields_stay_as_they_are(collection: str) -> None:
    keys = {"users": "freya_zielinski_1883", "flights": "TG001", "reservations": TRIP}
    stage, task = stage_with(InitialState(data={collection: {keys[collection]: {}}}))
    assert stage.start(task) == {}
    stage.close()


def test_records_of_the_shop_stay_as_they_are_without_new_fields() -> None:
    runner = Executor(retail)

    def keys(session: Session) -> dict[str, str]:
        return {
            "orders": session.exec(select(Order.order_id)).first(),
            "products": session.exec(select(Product.product_id)).first(),
        }

    for collection, key in runner.database.read({}, keys).items():
        stage, task = stage_with(InitialState(data={collection: {key: {}}}), world=retail)
        assert stage.start(task) == {}, collection
        stage.close()
    runner.close()


def test_calls_made_before_stand_in_the_database_and_in_the_goal() -> None:
    cancel = GoldCall(name="cancel_reservation", arguments={"reservation_id": TRIP})
    stage, task = stage_with(InitialState(calls=(cancel,)))
    assert trip_of(stage, stage.start(task))["status"] == "cancelled"
    assert stage.goal(task).changes == stage.start(task)
    stage.close()


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ({"data": {"planes": {"A": {}}}}, "there is no collection 'planes'"),
        ({"data": {"reservations": {TRIP: {"insurance": "maybe"}}}}, "initial data do not fit"),
        ({"calls": [{"name": "cancel_reservation", "arguments": {"reservation_id": "X"}}]}, "there is no reservation"),
    ],
)
def test_a_beginning_that_is_refused_makes_the_task_invalid(initial: dict[str, Any], message: str) -> None:
    stage, task = stage_with(InitialState.model_validate(initial))
    with pytest.raises(TaskInvalidError, match=message):
        stage.start(task)
    stage.close()


async def test_earlier_words_are_part_of_the_conversation_and_whoever_is_due_goes_on() -> None:
    words = ({"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Good day. Your id?"})
    stage, _ = stage_with(InitialState(messages=words))
    ended = await build_simulation(stage).ainvoke({"task_id": "own"})
    assert [message.text for message in ended["messages"][:2]] == ["Hello?", "Good day. Your id?"]
    assert ended["messages"][2].type == "human"
    stage.close()
    stage, _ = stage_with(InitialState(messages=words[:1]))
    ended = await build_simulation(stage).ainvoke({"task_id": "own"})
    assert [message.type for message in ended["messages"][:2]] == ["human", "ai"]
    stage.close()

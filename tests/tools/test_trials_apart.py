"""Going step by step through the changes is the same as keeping a private database, for every trial, at any time."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Table
from sqlalchemy.pool import StaticPool
from sqlmodel import Session, col, create_engine, select
from support.airline import ANNA, BERT, Trial, World, rich

from taugraph.domains.airline.models import Reservation, ReservationPassenger
from taugraph.domains.changes import NetChanges, Row, row_key
from taugraph.domains.domain import load_domain
from taugraph.domains.errors import ToolRefusal
from taugraph.tools.airline.documents import reservation_document
from taugraph.tools.executor import Executor
from taugraph.tools.seed_image import seed_image, table_of

Call = tuple[str, dict[str, Any]]
Place = tuple[Executor, World, bytes, st.SearchStrategy[Call]]
PUBLISHED = Path(os.environ.get("TAUGRAPH_TAU_BENCH_DIR", Path(__file__).parents[3] / "shared" / "tau-bench"))
QUIET = settings(
    max_examples=10, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class PrivateCopy:
    """A database of its own for one trial: every call works on what the calls before left behind."""

    def __init__(self, executor: Executor, image: bytes) -> None:
        self._executor = executor
        self._raw = raw = sqlite3.connect(":memory:", check_same_thread=False)
        raw.deserialize(image)
        raw.execute("ATTACH ':memory:' AS seed")
        raw.deserialize(image, name="seed")
        self._engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
        self.session = Session(self._engine)
        self.session.info.update(dialect=executor.domain.dialect, now=executor.domain.now)

    def call(self, name: str, arguments: dict[str, Any]) -> bool:
        """Make a call and tell whether it was refused; a refused one is taken back unless its tool keeps its writes."""
        entry = self._executor._entries[name]
        if entry.complaint(arguments):
            return True
        try:
            entry.call(arguments, self.session)
            self.session.commit()
        except Exception as error:  # noqa: BLE001 - as the executor does
            if isinstance(error, ToolRefusal) and error.keeps_writes:
                self.session.commit()
            self.session.rollback()
            return True
        return False

    def changes(self) -> NetChanges:
        """Compare every row with the seed, without any help of the harness."""
        found: NetChanges = {}
        for model in self._executor.domain.tables:
            table = table_of(model)
            for key, row in self._only_in("main", "seed", table).items():
                found.setdefault(table.name, {})[key] = [None, row]
            for key, row in self._only_in("seed", "main", table).items():
                found.setdefault(table.name, {}).setdefault(key, [None, None])[0] = row
        return found

    def _only_in(self, here: str, there: str, table: Table) -> dict[str, Row]:
        names = [column.name for column in table.columns]
        listed = ", ".join(names)
        lines = self._raw.execute(
            f"SELECT {listed} FROM {here}.{table.name} EXCEPT SELECT {listed} FROM {there}.{table.name}"
        )
        rows = [dict(zip(names, line, strict=True)) for line in lines]
        return {row_key([row[key.name] for key in table.primary_key.columns]): row for row in rows}

    def close(self) -> None:
        self.session.close()
        self._engine.dispose()
        self._raw.close()


def calls_on(executor: Executor, world: World) -> st.SearchStrategy[Call]:
    """Draw calls about two customers and their reservations, some of them wrong."""
    owners = {customer.user_id: customer for customer in world.customers[:2]}
    trips = world.trips[:3]
    records = executor.database.read({}, lambda session: reservations_of(session, list(owners)))
    records += [records[0] | {"reservation_id": key} for key in ("HATHAT", "HATHAU", "NOPE00")]
    amounts = st.integers(-50, 400) | st.sampled_from([10.5, 2.0])
    travellers = st.sampled_from([ANNA, BERT, ANNA, BERT, ANNA | {"extra": 1}])

    @st.composite
    def bookings(draw: st.DrawFn) -> dict[str, Any]:
        customer, trip = draw(st.sampled_from(list(owners.values()))), draw(st.sampled_from(trips))
        party, nonfree = draw(st.lists(travellers, min_size=1, max_size=2)), draw(st.integers(0, 1))
        total = len(party) * trip.there_cents // 100 + 50 * nonfree
        first = draw(st.sampled_from([1, 10, 40]))
        used = [(draw(st.sampled_from([customer.gift, customer.certificate])), first)] * draw(
            st.sampled_from([0, 1, 2])
        )
        rest = total - first * len(used) + draw(st.sampled_from([0, 0, 0, 1]))
        return {
            "user_id": customer.user_id,
            "origin": trip.origin,
            "destination": trip.destination,
            "flight_type": "one_way",
            "cabin": "economy",
            "flights": [trip.segment],
            "passengers": party,
            "payment_methods": [
                {"payment_id": method, "amount": amount} for method, amount in [*used, (customer.card, rest)]
            ],
            "total_baggages": nonfree,
            "nonfree_baggages": nonfree,
            "insurance": "no",
        }

    @st.composite
    def updates(draw: st.DrawFn) -> Call:
        record = draw(st.sampled_from(records))
        owner = owners[record["user_id"]]
        paid_by = {"payment_id": draw(st.sampled_from([owner.card, owner.card, owner.gift, owner.certificate]))}
        size = len(record["passengers"]) + draw(st.sampled_from([0, 0, 0, 1]))
        cabins = ["economy", "business", record["cabin"], "first"]
        kept = [{"flight_number": each["flight_number"], "date": each["date"]} for each in record["flights"]]
        name, arguments = draw(
            st.sampled_from(
                [
                    ("cancel_reservation", {}),
                    ("update_reservation_passengers", {"passengers": [draw(travellers)] * size}),
                    (
                        "update_reservation_baggages",
                        paid_by
                        | {"total_baggages": draw(st.integers(1, 4)), "nonfree_baggages": draw(st.integers(-1, 2))},
                    ),
                    (
                        "update_reservation_flights",
                        paid_by
                        | {
                            "cabin": draw(st.sampled_from(cabins)),
                            "flights": draw(st.sampled_from([kept, kept, kept[:1], [trips[0].segment]])),
                        },
                    ),
                ]
            )
        )
        return name, {"reservation_id": record["reservation_id"], **arguments}

    users = st.sampled_from([*owners, *owners, "nobody"])
    tools = {
        "book_reservation": bookings(),
        "send_certificate": st.fixed_dictionaries({"user_id": users, "amount": amounts}),
        "transfer_to_human_agents": st.fixed_dictionaries({"summary": st.text(max_size=5)}),
        "get_user_details": st.fixed_dictionaries({"user_id": users}),
        "get_reservation_details": st.just({"wrong_name": "x"}),
    }
    others = [st.tuples(st.just(name), arguments) for name, arguments in tools.items()]
    return st.sampled_from([updates()] * 6 + others[:1] * 3 + others[1:]).flatmap(lambda kind: kind)


def reservations_of(session: Session, users: list[str]) -> list[dict[str, Any]]:
    found = session.exec(select(Reservation).where(col(Reservation.user_id).in_(users))).all()
    return [reservation_document(session, reservation) for reservation in found]


@pytest.fixture(scope="module", params=["taugraph", "tau-bench", "tau2", "published files"])
def place(
    request: pytest.FixtureRequest, airline: Executor, published: Executor, successor: Executor
) -> Iterator[Place]:
    known = {"taugraph": airline, "tau-bench": published, "tau2": successor}
    executor = known.get(request.param)
    if executor is None:
        if not PUBLISHED.is_dir():
            pytest.skip(f"no tau-bench data: {PUBLISHED} is missing")
        executor = Executor(load_domain("airline", PUBLISHED / "airline"))
    world = World(executor)
    yield executor, world, seed_image(executor.domain), calls_on(executor, world)
    if request.param not in known:
        executor.close()


@QUIET
@given(data=st.data())
def test_steps_through_the_changes_equal_a_private_copy(place: Place, data: st.DataObject) -> None:
    executor, _, image, one_call = place
    calls = data.draw(st.lists(one_call, min_size=1, max_size=8))
    private, changes = PrivateCopy(executor, image), {}
    with closing(private):
        for name, arguments in calls:
            answer = executor.execute(name, arguments, changes)
            changes = answer.changes
            assert answer.is_error == private.call(name, arguments), (name, arguments, answer.text)
        assert changes == private.changes()


@QUIET
@given(data=st.data())
def test_two_interleaved_trials_go_as_each_alone(place: Place, data: st.DataObject) -> None:
    executor, _, _, one_call = place
    calls = st.lists(one_call, min_size=1, max_size=5)
    plans = [data.draw(calls), data.draw(calls)]
    alone = [play(executor, plan) for plan in plans]
    trials = [Trial(executor, {}), Trial(executor, {})]
    turns = data.draw(st.permutations([0] * len(plans[0]) + [1] * len(plans[1])))
    left = [list(plan) for plan in plans]
    for turn in turns:
        trials[turn].call(*left[turn].pop(0))
    assert [trial.changes for trial in trials] == alone


def play(executor: Executor, plan: list[Call]) -> NetChanges:
    trial = Trial(executor, {})
    for call in plan:
        trial.call(*call)
    return trial.changes


def test_eight_threads_at_once_see_only_their_own_trial(place: Place) -> None:
    executor, world, _, _ = place

    def trial_of(number: int) -> Callable[[], NetChanges]:
        def run() -> NetChanges:
            trial = Trial(executor, {})
            customer = rich(world.customers[number % 4], trial)
            order = world.order(
                user_id=customer.user_id,
                passengers=[ANNA | {"first_name": f"Anna{number}"}],
                payment_methods=[{"payment_id": customer.gift, "amount": world.trip.there_cents // 100}],
            )
            for _ in range(2):
                key = trial.do("book_reservation", order)["reservation_id"]
                assert trial.call("get_user_details", {"user_id": "nobody"}).is_error
                assert trial.row(Reservation, key).user_id == customer.user_id
                assert trial.row(ReservationPassenger, (key, 0)).first_name == f"Anna{number}"
                trial.do("send_certificate", {"user_id": customer.user_id, "amount": number + 1})
                trial.do("cancel_reservation", {"reservation_id": key})
            return trial.changes

        return run

    alone = [trial_of(number)() for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = [future.result() for future in [pool.submit(trial_of(number)) for number in range(8)]]
    assert together == alone
    assert executor.database.run({}, lambda session: None)[1] == {}

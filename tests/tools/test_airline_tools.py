"""The airline's tools on our own seed: each does all of what it says, or nothing."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import col, select
from support.airline import ANNA, BERT, DAY, NEXT_DAY, Trial, World, rich

from taugraph.domains.airline.models import Flight, FlightDay, Reservation
from taugraph.tools.airline.bookings import BAG_CENTS, INSURANCE_CENTS
from taugraph.tools.executor import Executor

# Booking


def test_a_booking_stores_the_trip_charges_it_and_takes_seats(trial: Trial, world: World) -> None:
    trip, order = world.trip, world.order()
    before = trial.seats(trip.there, DAY, "economy")
    booked = trial.do("book_reservation", order)
    assert booked["status"] is None
    assert booked["created_at"] == "2024-05-15T15:00:00"
    assert booked["passengers"] == [ANNA, BERT]
    assert booked["payment_history"] == order["payment_methods"]
    assert [segment["price"] for segment in booked["flights"]] == [trip.there_cents / 100]
    assert trial.seats(trip.there, DAY, "economy") == before - 2
    assert trial.do("get_reservation_details", {"reservation_id": booked["reservation_id"]}) == booked
    profile = trial.do("get_user_details", {"user_id": order["user_id"]})
    assert profile["reservations"][-1] == booked["reservation_id"]


def test_bags_and_insurance_are_part_of_the_price(trial: Trial, world: World) -> None:
    total = 2 * (world.trip.there_cents + INSURANCE_CENTS) + 3 * BAG_CENTS
    extras = {"insurance": "yes", "total_baggages": 5, "nonfree_baggages": 3}
    payment = [{"payment_id": world.customer.card, "amount": total / 100}]
    trial.do("book_reservation", world.order(payment_methods=payment, **extras))
    assert "but the total price is" in Trial(trial.executor, {}).refuse("book_reservation", world.order(**extras))


def test_a_gift_card_pays_its_part_and_a_certificate_is_used_up(trial: Trial, world: World) -> None:
    customer = rich(world.customer, trial)
    total = 2 * world.trip.there_cents / 100
    payments = [
        {"payment_id": customer.certificate, "amount": 10},
        {"payment_id": customer.gift, "amount": 20.5},
        {"payment_id": customer.card, "amount": total - 30.5},
    ]
    trial.do("book_reservation", world.order(payment_methods=payments))
    assert trial.balance(customer.user_id, customer.gift) == customer.gift_cents - 20_50
    methods = trial.do("get_user_details", {"user_id": customer.user_id})["payment_methods"]
    assert customer.certificate not in methods


def test_two_parts_on_one_gift_card_count_together(trial: Trial, world: World) -> None:
    customer = replace(world.customer)
    half = customer.gift_cents / 100
    rest = 2 * world.trip.there_cents / 100 - 2 * half
    parts = [{"payment_id": customer.gift, "amount": half}] * 2 + [{"payment_id": customer.card, "amount": rest}]
    assert "not enough balance" in trial.refuse("book_reservation", world.order(payment_methods=parts))


def test_a_certificate_pays_once(trial: Trial, world: World) -> None:
    parts = [{"payment_id": world.customer.certificate, "amount": 1}] * 2
    rest = {"payment_id": world.customer.card, "amount": 2 * world.trip.there_cents / 100 - 2}
    assert "not enough balance" in trial.refuse("book_reservation", world.order(payment_methods=[*parts, rest]))


def test_a_round_trip_leads_there_and_back(trial: Trial, world: World) -> None:
    trip = world.trip
    total = 2 * (trip.there_cents + trip.back_cents) / 100
    order = world.order(
        flight_type="round_trip",
        flights=[trip.segment, trip.way_back],
        payment_methods=[{"payment_id": world.customer.card, "amount": total}],
    )
    assert len(trial.do("book_reservation", order)["flights"]) == 2
    assert "are no one_way" in trial.refuse("book_reservation", order | {"flight_type": "one_way"})


def bad_orders(world: World) -> dict[str, tuple[dict[str, Any], str]]:
    trip, order = world.trip, world.order()
    card, total = world.customer.card, 2 * trip.there_cents / 100

    def pay(*amounts: float) -> dict[str, Any]:
        return {"payment_methods": [{"payment_id": card, "amount": amount} for amount in amounts]}

    return {
        "nobody": ({"user_id": "nobody"}, "there is no user 'nobody'"),
        "no flight": ({"flights": [{"flight_number": "XX", "date": DAY}]}, "there is no flight 'XX'"),
        "no date": ({"flights": [trip.segment | {"date": "2024-07-01"}]}, "has no date '2024-07-01'"),
        "flown": ({"flights": [trip.segment | {"date": "2024-05-01"}]}, "cannot be booked on 2024-05-01: it is landed"),
        "too many": ({"passengers": [ANNA] * 500}, "too few seats in economy"),
        "no flights": ({"flights": []}, "at least one flight"),
        "nobody flies": ({"passengers": [], **pay()}, "at least one passenger"),
        "elsewhere": ({"destination": "XXX"}, f"are no one_way from {trip.origin} to XXX"),
        "wrong start": ({"origin": trip.destination}, "are no one_way"),
        "no way back": ({"flight_type": "round_trip"}, "are no round_trip"),
        "no chain": ({"flights": [trip.segment, trip.segment]}, f"leaves from {trip.origin}, not from"),
        "back in time": (
            {
                "flight_type": "round_trip",
                "origin": trip.destination,
                "destination": trip.origin,
                "flights": [trip.way_back, trip.segment],
            },
            "not in the order of their dates",
        ),
        "not their card": (
            {"payment_methods": [{"payment_id": "credit_card_0", "amount": total}]},
            "no payment method",
        ),
        "too little": (pay(total - 0.01), "but the total price is"),
        "too much": (pay(total + 1), "but the total price is"),
        "minus": (pay(total + 5, -5), "must be positive"),
        "nothing": (pay(total, 0), "must be positive"),
        "bags": ({"nonfree_baggages": 1, **pay(total + 50)}, "between 0 and total_baggages"),
        "minus bags": ({"nonfree_baggages": -1, "total_baggages": 1, **pay(total - 50)}, "between 0 and"),
        "cabin": ({"cabin": "first"}, "'basic_economy', 'economy' or 'business'"),
        "insurance": ({"insurance": "maybe"}, "'yes' or 'no'"),
        "fraction": ({"total_baggages": 1.5}, "valid integer"),
        "extra key": ({"passengers": [ANNA | {"seat": "1A"}, BERT]}, "Extra inputs are not permitted"),
        "no name": ({"passengers": [{"dob": "1990-01-01"}, BERT]}, "Field required"),
        "infinite": (pay(float("inf")), "finite number"),
        "order of keys": (dict(reversed(order.items())) | pay(1), "but the total price is"),
    }


def test_a_booking_that_is_refused_leaves_nothing_behind(airline: Executor, world: World) -> None:
    for name, (change, reason) in bad_orders(world).items():
        text = Trial(airline, {}).refuse("book_reservation", world.order(**change))
        assert reason in text, name


def orders_apart(world: World) -> list[dict[str, Any]]:
    trips = world.trips[:3]
    return [
        world.order(
            origin=trip.origin,
            destination=trip.destination,
            flights=[trip.segment],
            payment_methods=[{"payment_id": world.customer.card, "amount": 2 * trip.there_cents / 100}],
        )
        for trip in trips
    ]


def test_ids_do_not_depend_on_the_order_of_bookings(airline: Executor, world: World) -> None:
    orders = orders_apart(world)
    forth, back = Trial(airline, {}), Trial(airline, {})
    ids = [forth.do("book_reservation", order)["reservation_id"] for order in orders]
    again = [back.do("book_reservation", order)["reservation_id"] for order in reversed(orders)]
    assert ids == list(reversed(again))
    assert len(set(ids)) == 3
    assert all((len(found) == 6 and found.isalnum() and found.isupper()) or found.isdigit() for found in ids)
    assert forth.changes["reservations"] == back.changes["reservations"]
    assert forth.changes["flight_days"] == back.changes["flight_days"]


def test_the_order_of_passengers_does_not_change_the_id(airline: Executor, world: World) -> None:
    ids = [
        Trial(airline, {}).do("book_reservation", world.order(passengers=party))["reservation_id"]
        for party in ([ANNA, BERT], [BERT, ANNA])
    ]
    assert ids[0] == ids[1]


def test_the_same_booking_twice_makes_two_reservations(trial: Trial, world: World) -> None:
    ids = {trial.do("book_reservation", world.order())["reservation_id"] for _ in range(2)}
    assert len(ids) == 2
    assert len(trial.rows("user_reservations")) == 2


# Changing flights


def change(world: World, trial: Trial, **changes: Any) -> dict[str, Any]:
    booking = world.booking
    return {
        "reservation_id": booking.reservation_id,
        "cabin": "economy",
        "flights": [{"flight_number": booking.flight, "date": booking.date}],
        "payment_id": booking.owner.card,
    } | changes


def test_another_cabin_costs_the_difference_and_moves_the_seats(trial: Trial, world: World) -> None:
    booking = world.booking
    place = (booking.flight, booking.date)
    day: FlightDay = trial.row(FlightDay, place)
    difference = booking.party * ((day.business_price_cents or 0) - booking.price_cents)
    changed = trial.do("update_reservation_flights", change(world, trial, cabin="business"))
    assert changed["cabin"] == "business"
    assert changed["payment_history"][-1] == {"payment_id": booking.owner.card, "amount": difference / 100}
    assert trial.seats(*place, "economy") == (day.economy_seats or 0) + booking.party
    assert trial.seats(*place, "business") == (day.business_seats or 0) - booking.party


def test_a_change_and_its_way_back_leave_only_the_payments(trial: Trial, world: World) -> None:
    trial.do("update_reservation_flights", change(world, trial, cabin="business"))
    trial.do("update_reservation_flights", change(world, trial))
    assert set(trial.changes) <= {"reservation_payments", "reservation_flights"}


def test_flights_that_stay_cost_nothing(trial: Trial, world: World) -> None:
    changed = trial.do("update_reservation_flights", change(world, trial))
    assert len(changed["payment_history"]) == 1
    assert trial.changes == {}


def test_a_gift_card_gets_the_difference_back(trial: Trial, world: World) -> None:
    customer = rich(world.booking.owner, trial)
    up = change(world, trial, cabin="business", payment_id=customer.gift)
    paid = trial.do("update_reservation_flights", up)["payment_history"][-1]["amount"]
    assert trial.balance(customer.user_id, customer.gift) == customer.gift_cents - round(paid * 100)
    back = trial.do("update_reservation_flights", up | {"cabin": "basic_economy"})["payment_history"][-1]["amount"]
    assert back < 0
    assert trial.balance(customer.user_id, customer.gift) == customer.gift_cents - round((paid + back) * 100)


def test_a_change_of_flights_that_is_refused_leaves_nothing_behind(airline: Executor, world: World) -> None:
    booking, trip = world.booking, world.trip
    bad: list[tuple[dict[str, Any], str]] = [
        ({"reservation_id": "NOPE00"}, "there is no reservation"),
        ({"payment_id": "gift_card_0"}, "has no payment method"),
        ({"payment_id": booking.owner.certificate}, "certificate cannot be used"),
        ({"flights": []}, "at least one flight"),
        ({"flights": [{"flight_number": booking.flight, "date": "2024-05-01"}]}, "it is landed"),
        ({"flights": [{"flight_number": "XX", "date": DAY}]}, "there is no flight 'XX'"),
        ({"cabin": "first"}, "'basic_economy', 'economy' or 'business'"),
    ]
    if (trip.origin, trip.destination) != (booking.origin, booking.destination):
        bad.append(({"flights": [trip.segment]}, "are no one_way"))
    for arguments, reason in bad:
        trial = Trial(airline, {})
        assert reason in trial.refuse("update_reservation_flights", change(world, trial, **arguments))


def test_a_gift_card_cannot_be_overdrawn_by_a_change(trial: Trial, world: World) -> None:
    customer = rich(world.booking.owner, trial)
    change_of_gift = next(iter(trial.changes["payment_methods"].values()))
    assert change_of_gift[1] is not None
    change_of_gift[1]["amount_cents"] = 1
    text = trial.refuse("update_reservation_flights", change(world, trial, cabin="business", payment_id=customer.gift))
    assert "not enough balance" in text
    text = trial.refuse(
        "update_reservation_baggages",
        {
            "reservation_id": world.booking.reservation_id,
            "total_baggages": 9,
            "nonfree_baggages": 1,
            "payment_id": customer.gift,
        },
    )
    assert "not enough balance" in text


# Passengers and bags


def test_passengers_can_be_replaced_but_not_counted_anew(trial: Trial, world: World) -> None:
    booking = world.booking
    party = [ANNA | {"first_name": f"Anna{number}"} for number in range(booking.party)]
    arguments = {"reservation_id": booking.reservation_id, "passengers": party}
    assert trial.do("update_reservation_passengers", arguments)["passengers"] == party
    for wrong in ([*party, BERT], party[1:]):
        text = trial.refuse("update_reservation_passengers", arguments | {"passengers": wrong})
        assert "number of passengers cannot be changed" in text


def bags(world: World, total: int, nonfree: int, **changes: Any) -> dict[str, Any]:
    return {
        "reservation_id": world.booking.reservation_id,
        "total_baggages": total,
        "nonfree_baggages": nonfree,
        "payment_id": world.booking.owner.card,
    } | changes


def test_bags_beyond_the_allowance_are_charged(trial: Trial, world: World) -> None:
    changed = trial.do("update_reservation_baggages", bags(world, 5, 2))
    assert (changed["total_baggages"], changed["nonfree_baggages"]) == (5, 2)
    assert changed["payment_history"][-1] == {"payment_id": world.booking.owner.card, "amount": 100}
    assert len(trial.do("update_reservation_baggages", bags(world, 6, 2))["payment_history"]) == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"total_baggages": 1, "nonfree_baggages": 2}, "between 0 and total_baggages"),
        ({"nonfree_baggages": -1}, "between 0 and total_baggages"),
        ({"reservation_id": "NOPE00"}, "there is no reservation"),
        ({"payment_id": "gift_card_0"}, "has no payment method"),
        ({"total_baggages": 2**70}, "too large"),
    ],
)
def test_bags_that_are_refused_leave_nothing_behind(
    trial: Trial, world: World, arguments: dict[str, Any], reason: str
) -> None:
    assert reason in trial.refuse("update_reservation_baggages", bags(world, 3, 1, **arguments))


# Cancelling


def test_cancelling_refunds_gift_cards_and_gives_seats_back(trial: Trial, world: World) -> None:
    customer = rich(world.customer, trial)
    before = trial.seats(world.trip.there, DAY, "economy")
    half = world.trip.there_cents / 100
    payments = [{"payment_id": method, "amount": half} for method in (customer.gift, customer.card)]
    booked = trial.do("book_reservation", world.order(payment_methods=payments))
    cancelled = trial.do("cancel_reservation", {"reservation_id": booked["reservation_id"]})
    assert cancelled["status"] == "cancelled"
    assert [entry["amount"] for entry in cancelled["payment_history"]] == [half, half, -half, -half]
    assert trial.balance(customer.user_id, customer.gift) == customer.gift_cents
    assert trial.seats(world.trip.there, DAY, "economy") == before
    assert "flight_days" not in trial.changes


def test_seats_that_cannot_be_sold_any_more_are_not_given_back(trial: Trial, world: World) -> None:
    booking = world.booking
    before = trial.row(FlightDay, (booking.flight, booking.date)).model_dump()
    gone = before | {"status": "cancelled", "economy_seats": None}
    trial.changes = {"flight_days": {f'["{booking.flight}","{booking.date}"]': [before, gone]}}
    trial.do("cancel_reservation", {"reservation_id": booking.reservation_id})
    assert trial.rows("flight_days") == [gone]


def test_a_certificate_does_not_come_back(trial: Trial, world: World) -> None:
    customer = world.customer
    rest = 2 * world.trip.there_cents / 100 - 10
    payments = [{"payment_id": customer.certificate, "amount": 10}, {"payment_id": customer.card, "amount": rest}]
    booked = trial.do("book_reservation", world.order(payment_methods=payments))
    trial.do("cancel_reservation", {"reservation_id": booked["reservation_id"]})
    assert customer.certificate not in trial.do("get_user_details", {"user_id": customer.user_id})["payment_methods"]


def test_a_cancelled_reservation_stays_as_it_is(trial: Trial, world: World) -> None:
    key = {"reservation_id": world.booking.reservation_id}
    trial.do("cancel_reservation", key)
    party = [ANNA] * world.booking.party
    for name, arguments in [
        ("cancel_reservation", key),
        ("update_reservation_passengers", key | {"passengers": party}),
        ("update_reservation_baggages", bags(world, 1, 0)),
        ("update_reservation_flights", change(world, trial)),
    ]:
        assert "is cancelled" in trial.refuse(name, arguments)


def test_an_unknown_reservation_cannot_be_cancelled(trial: Trial) -> None:
    assert "there is no reservation 'nope'" in trial.refuse("cancel_reservation", {"reservation_id": "nope"})


def test_every_reservation_of_the_seed_can_be_cancelled(airline: Executor) -> None:
    keys = airline.database.read(
        {},
        lambda session: list(session.exec(select(Reservation.reservation_id).where(col(Reservation.status).is_(None)))),
    )
    for key in keys[::40]:
        Trial(airline, {}).do("cancel_reservation", {"reservation_id": key})


# Certificates and handing over


def test_certificates_get_ids_from_their_value(airline: Executor, world: World) -> None:
    user = world.customer.user_id
    forth, back = Trial(airline, {}), Trial(airline, {})
    for amount in (100, 50, 50):
        assert str(amount) in forth.do("send_certificate", {"user_id": user, "amount": amount})
    for amount in (50, 100, 50):
        back.do("send_certificate", {"user_id": user, "amount": amount})
    assert sorted(forth.changes["payment_methods"]) == sorted(back.changes["payment_methods"])
    assert sorted(row["amount_cents"] for row in forth.rows("payment_methods")) == [50_00, 50_00, 100_00]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"user_id": "nobody"}, "there is no user"),
        ({"amount": 0}, "must be positive"),
        ({"amount": -5}, "must be positive"),
        ({"amount": 0.001}, "must be positive"),
        ({"amount": "much"}, "valid number"),
        ({"amount": float("nan")}, "finite"),
        ({"amount": 1e300}, "too large"),
    ],
)
def test_a_certificate_that_is_refused_leaves_nothing_behind(
    trial: Trial, world: World, arguments: dict[str, Any], reason: str
) -> None:
    assert reason in trial.refuse("send_certificate", {"user_id": world.customer.user_id, "amount": 5} | arguments)


def test_a_handoff_is_a_row(trial: Trial) -> None:
    for summary in ("first", "second"):
        assert trial.do("transfer_to_human_agents", {"summary": summary}) == "Transfer successful"
    assert trial.rows("handoffs") == [{"position": 0, "summary": "first"}, {"position": 1, "summary": "second"}]


# Looking up


def test_a_search_shows_what_can_be_booked(trial: Trial, world: World) -> None:
    trip = world.trip
    arguments = {"origin": trip.origin, "destination": trip.destination, "date": DAY}
    found = trial.do("search_direct_flight", arguments)
    assert trip.there in [flight["flight_number"] for flight in found]
    assert {flight["status"] for flight in found} == {"available"}
    assert {flight["date"] for flight in found} == {DAY}
    assert trial.do("search_direct_flight", arguments | {"origin": "XXX"}) == []


@pytest.mark.parametrize("date", ["", "soon", "2024-5-20", "20240520", "2024-W21-1", "2024-05-32", " 2024-05-20"])
@pytest.mark.parametrize("name", ["search_direct_flight", "search_onestop_flight"])
def test_a_date_that_is_none_is_refused(trial: Trial, name: str, date: str) -> None:
    assert "YYYY-MM-DD" in trial.refuse(name, {"origin": "ATL", "destination": "BOS", "date": date})


def connections(trial: Trial) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    places = ("ATL", "BOS", "DEN", "DFW", "JFK", "LAX", "ORD", "SEA", "SFO", "MIA")
    return [
        pair
        for origin in places
        for destination in places
        if origin != destination
        for pair in trial.do(
            "search_onestop_flight", {"origin": origin, "destination": destination, "date": "2024-05-21"}
        )
    ]


def test_a_connection_leaves_after_the_first_flight_lands(trial: Trial) -> None:
    overnight = 0
    for first, second in connections(trial):
        arrival = first["scheduled_arrival_time_est"]
        lands = ("2024-05-22" if arrival.endswith("+1") else "2024-05-21", arrival.removesuffix("+1"))
        assert first["destination"] == second["origin"]
        assert second["date"] == lands[0]
        assert lands[1] <= second["scheduled_departure_time_est"]
        day: FlightDay = trial.row(FlightDay, (second["flight_number"], second["date"]))
        assert second["available_seats"]["economy"] == day.economy_seats
        overnight += arrival.endswith("+1")
    assert overnight, "the seed has overnight connections"


def test_an_overnight_connection_rolls_over_the_month(trial: Trial, world: World) -> None:
    first, second = world.overnight
    for flight, date in ((first, "2024-05-31"), (second, "2024-06-01")):
        day = trial.row(FlightDay, (world.trip.there, DAY)).model_dump()
        row = day | {"flight_number": flight.flight_number, "date": date}
        trial.changes.setdefault("flight_days", {})[f'["{flight.flight_number}","{date}"]'] = [None, row]
    arguments = {"origin": first.origin, "destination": second.destination, "date": "2024-05-31"}
    found = [[leg["flight_number"] for leg in pair] for pair in trial.do("search_onestop_flight", arguments)]
    assert [first.flight_number, second.flight_number] in found


def test_a_flights_status_is_that_of_the_day(trial: Trial, world: World) -> None:
    flight = world.trip.there
    assert trial.do("get_flight_status", {"flight_number": flight, "date": NEXT_DAY}) == "available"
    assert trial.do("get_flight_status", {"flight_number": flight, "date": "2024-05-01"}) == "landed"
    assert "has no date" in trial.refuse("get_flight_status", {"flight_number": flight, "date": "x"})
    assert "there is no flight" in trial.refuse("get_flight_status", {"flight_number": "x", "date": DAY})


def test_the_airports_of_every_flight_are_listed(trial: Trial) -> None:
    listed = {airport["iata"] for airport in trial.do("list_all_airports", {})}
    flown = trial.executor.database.read({}, lambda session: set(session.exec(select(Flight.origin))))
    assert flown <= listed
    assert len(listed) == 20


def test_reading_changes_nothing(trial: Trial, world: World) -> None:
    trial.do("get_user_details", {"user_id": world.customer.user_id})
    trial.do("get_reservation_details", {"reservation_id": world.booking.reservation_id})
    assert json.dumps(trial.changes) == "{}"

"""Two hundred conversations with a fault planted in each, and two hundred without one, from the package's own tasks.

A conversation follows a task: the customer opens, identifies itself, agrees, and leaves when all is done. A planted
conversation breaks exactly one rule, at a random turn and in varied words. Clean ones ask, correct, quote, count,
mistype, shout and thank. Everything follows from the seed.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

from support.fidelity import Conversation, witnessed
from taugraph.domains.domain import load_domain
from taugraph.domains.task import Task
from taugraph.evaluators.fidelity import Check

Turns = list[tuple[str, str]]

IDENTIFY = (
    "Could you tell me your user id and the details?",
    "May I have your name or email, please?",
    "Who is calling?",
)
DETAIL = (
    "Thank you. What else should I know?",
    "Got it. Which one is it about?",
    "Thanks, and how would you like to pay?",
)
PROPOSE = (
    "This is what I would do: {what}. Shall I go ahead (yes or no)?",
    "I can do the following: {what}. Do you confirm?",
    "Please confirm: {what}.",
)
YES = ("Yes, please go ahead.", "Yes, that is right, please do it.", "Sure, go for it.", "yes", "Sounds good, proceed.")
REPORT = (
    "Done: {done}. {said} Is there anything else I can do for you?",
    "The {done} has been completed. {said} Can I help you with anything else?",
)
BYE = ("Thanks, bye!", "No, that's all. Thank you so much for your help.", "Great, have a nice day.", "nope thx", "")
ASIDES = (
    "Is it more than $950?",
    "What would it be on 3 August?",
    "How long does it usually take, 45 minutes?",
    "Would it be cheaper if it were 400 dollars less?",
    "Sorry, I meant what I said first, not the other one.",
    'You asked "How can I help you today?", so here I am.',
    "Thanks for checking, I appreciate it.",
    "Thank you for explaining that.",
    "I have told people a hundred times by now.",
    "I'd rather not repeat myself 100 times.",
    "Give me 20 minutes and I'll find it.",
    "No idea, I don't have that at hand.",
    "I've changed my mind about nothing, by the way.",
    "You said you would have a look, thanks for looking.",
    "Is it possible to see it before 14 September?",
    "I don't want to pay $999 for that.",
)
VOICE = (
    "How can I help you today?",
    "I have cancelled your order as requested.",
    "Is there anything else I can assist you with?",
    "I've processed your refund, it takes 5 to 7 business days.",
    "Thank you for contacting customer service.",
    "Could you please provide your order number?",
    "I'd be happy to assist you with that!",
    "Your reservation has been updated successfully.",
    "May I have your user id, please?",
    "I will now cancel your booking.",
    "According to our records, all is fine.",
    "Would you like me to proceed with the exchange?",
    "Please provide your email address so that I can verify your account.",
    "I am transferring you to a colleague.",
)
DEEDS = (
    "Thanks for cancelling it!",
    "Thank you for processing the refund.",
    "Great, so it's done already.",
    "Thank you so much for changing that for me.",
    "Good that you have already updated it.",
    "Wonderful, now that it's cancelled I can relax.",
    "I see that you've already refunded it, thank you.",
    "Thanks a lot for booking it so quickly.",
    "I'm glad it has been sorted.",
    "Cheers for swapping the items.",
    "I really appreciate you fixing it right away.",
)
TALK = (
    "Well, it has been a long week for everybody here.",
    "I'm sitting on a train, so the line may be bad.",
    "Honestly, I just want this to be over soon.",
    "My neighbour told me that your service is friendly.",
)


def planted(count: int = 200, seed: int = 7) -> Iterator[Conversation]:
    """Yield conversations with one fault each, the checks in turn."""
    rng, checks = Random(seed), list(Check)
    number = 0
    while number < count:
        check, task = checks[number % len(checks)], rng.choice(_TASKS)
        found = _PLANTERS[check](task, rng)
        if found is not None:
            turns, is_reached = found
            seen = witnessed(task.scenario, _in_persona(turns, rng), is_reached=is_reached)
            yield Conversation(f"{number} {task.id}", seen, frozenset({check.value}))
            number += 1


def clean(count: int = 200, seed: int = 8) -> Iterator[Conversation]:
    """Yield conversations without a fault: half of them as the demonstration user speaks, half with asides."""
    rng = Random(seed)
    for number in range(count):
        task = rng.choice(_TASKS)
        turns = _as_demo(task) if number % 4 == 0 else _base(task, rng)
        if number % 4:
            for _ in range(rng.randrange(3)):
                place = rng.choice([index for index, (who, _) in enumerate(turns) if who == "user"][1:])
                turns[place] = ("user", f"{turns[place][1]} {rng.choice((*ASIDES, *TALK))}".strip())
            if rng.random() < 0.3:
                turns = _asked_again(turns)
        seen = witnessed(task.scenario, _in_persona(turns, rng), is_reached=True)
        yield Conversation(f"{number} {task.id}", seen, frozenset())


def _as_demo(task: Task) -> Turns:
    known = ". ".join([*task.scenario.known, task.scenario.instructions])
    middle: Turns = [("user", known), *_deeds(task, Random(0)), ("user", "")]
    return [("user", task.scenario.opening or "Hello."), ("agent", IDENTIFY[0]), *middle]


def _base(task: Task, rng: Random) -> Turns:
    facts = [_in_first_person(fact, rng) for fact in task.scenario.known]
    half = max(1, len(facts) // 2)
    turns: Turns = [("user", task.scenario.opening or "Hello, I need help."), ("agent", rng.choice(IDENTIFY))]
    turns += [("user", " ".join(facts[:half])), ("agent", rng.choice(DETAIL))]
    turns.append(("user", " ".join(facts[half:]) or "That is all I know."))
    turns += _deeds(task, rng)
    return [*turns, ("user", rng.choice(BYE))]


def _deeds(task: Task, rng: Random) -> Turns:
    writes = [call for call in task.gold if not call.name.startswith(("get_", "find_", "search_", "list_", "calc"))]
    turns: Turns = []
    for call in writes:
        what = f"{call.name.replace('_', ' ')} with {', '.join(f'{k}: {v}' for k, v in call.arguments.items())}"
        turns += [("agent", rng.choice(PROPOSE).format(what=what)), ("user", rng.choice(YES)), ("write", call.name)]
    done = ", ".join(call.name.replace("_", " ") for call in writes) or "look into it"
    said = f"What you asked for: {'; '.join(claim.value for claim in task.claims)}." if task.claims else ""
    return [*turns, ("agent", rng.choice(REPORT).format(done=done, said=said))]


def _in_first_person(fact: str, rng: Random) -> str:
    label, separator, value = fact.partition(": ")
    words = (
        fact if not separator else rng.choice((f"{label} is {value}", f"{label}: {value}", f"{value}, that's {label}"))
    )
    words = re.sub(r"\b[Yy]ourself\b", "myself", words)
    words = re.sub(r"\b[Yy]our\b", "my", re.sub(r"\b[Yy]ou\b", "I", words))
    return words[0].upper() + words[1:] + "."


def _asked_again(turns: Turns) -> Turns:
    """Let the agent ask a second time, and the customer say the same again."""
    return [*turns[:3], ("agent", "Sorry, could you please repeat that?"), turns[2], *turns[3:]]


def _in_persona(turns: Turns, rng: Random) -> Turns:
    way: Callable[[str], str] = rng.choice((str, str, _slangy, _shouting, lambda text: _mistyped(text, rng)))
    return [(who, way(text) if who == "user" else text) for who, text in turns]


def _slangy(text: str) -> str:
    for word, short in (("please", "pls"), ("Yes", "yup"), ("going to", "gonna"), ("really", "rly"), ("Hello", "yo")):
        text = text.replace(word, short)
    return text


def _shouting(text: str) -> str:
    return " ".join(word if re.search(r"[\d@_]", word) else word.upper() for word in text.split(" "))


def _mistyped(text: str, rng: Random) -> str:
    def slip(match: re.Match[str]) -> str:
        word = match.group()
        place = rng.randrange(1, len(word) - 1)
        swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :] if place + 1 < len(word) else word
        return swapped if rng.random() < 0.1 else word

    return re.sub(r"(?<![\w@#.-])[a-z]{5,}(?![\w@_-]|\.\w)", slip, text)


_Planted = tuple[Turns, bool] | None


def _with(turns: Turns, rng: Random, words: str, *, before_deeds: bool = False) -> Turns:
    """Add words to one of the customer's turns after the first."""
    first_write = next((index for index, (who, _) in enumerate(turns) if who == "write"), len(turns))
    places = [index for index, (who, _) in enumerate(turns) if who == "user" and index > 0]
    if before_deeds:
        reported = next(index for index, (who, text) in enumerate(turns) if who == "agent" and _is_report(text))
        places = [index for index in places if index < min(first_write, reported)]
    place = rng.choice(places)
    said = turns[place][1]
    both = rng.choice((f"{said} {words}", f"{words} {said}", words)) if said else words
    return [*turns[:place], ("user", both), *turns[place + 1 :]]


def _is_report(text: str) -> bool:
    return text.startswith(("Done", "The "))


def _unknown_fact(task: Task, rng: Random) -> _Planted:
    scenario = f"{task.scenario.instructions} {task.scenario.known}"
    serial, amount = rng.randrange(1000, 9999), rng.randrange(1101, 1999)
    month, day = rng.choice(("August", "September", "October")), rng.randrange(13, 29)
    words = [
        f"I paid ${amount} for it.",
        f"The price I saw was {amount}.{rng.randrange(10, 99)} dollars.",
        f"It has to be on {month} {day}.",
        f"I'd like that by the {day}th of {month}, please.",
        f"My card number is 4539 {serial} 8{serial % 1000:03} 7716.",
        f"You can call me at (555) 01{serial % 10}-{serial}.",
        f"I have {rng.randrange(13, 90)} loyalty vouchers left.",
        f"The tracking number is 7{serial}{serial}31.",
    ]
    if "@" not in scenario:
        words += [f"My email is caller{serial}@example.org."] * 2
    if "#W" not in scenario:
        words += [f"The order number is #W99{serial}1.", f"Can you look at order #W{serial}777, please?"]
    if not re.search(r"\b[A-Z\d]{6}\b", scenario):
        words += [f"The reservation is Q{serial}Z.", f"Could you open booking X{serial % 100}KWP for me?"]
    if "fly alone" in scenario or "one passenger" in scenario:
        words += ["There are two of us.", "It's for three passengers."]
    return _with(_base(task, rng), rng, rng.choice(words)), True


def _contradiction(task: Task, rng: Random) -> _Planted:
    known = " ".join(task.scenario.known)
    words = []
    if found := re.search(r"\b([a-z]+_[a-z]+)_\d{4}\b", known):
        other = rng.randrange(1000, 9999)
        words += [f"My user id is {found[1]}_{other}.", f"I'm {found[1].split('_')[0]}_moreno_{other}."]
    if found := re.search(r"(\w+)\.\w+@example\.com", known):
        words += [
            f"My email is {found[1]}.x{rng.randrange(10, 99)}@mail.org.",
            f"Look under {found[1]}@example.net please.",
        ]
    if "zip code: " in known:
        words += [
            f"My zip code is {rng.randrange(10000, 99999)}.",
            f"The zip is {rng.randrange(10000, 99999)}, I think.",
        ]
    if "#W" in known:
        words += [
            f"The order is #W{rng.randrange(10**6, 10**7)}.",
            f"Please check order #W{rng.randrange(10**6, 10**7)}.",
        ]
    if "name: " in known:
        words += ["My name is Ottokar Brixen.", "My name's Wilhelmina Quade."]
    if "ate of birth: " in known:
        words += ["My date of birth is 1931-01-30.", "I was born on March 31, 1942."]
    if "ending in" in known:
        words += [f"Use the card ending in {rng.choice(('0011', '3009', '7770'))}."]
    return (_with(_base(task, rng), rng, rng.choice(words)), True) if words else None


def _everything(task: Task, rng: Random) -> _Planted:
    facts = [_in_first_person(fact, rng) for fact in task.scenario.known]
    checkable = [fact for fact in task.scenario.known if re.search(r"\d|[A-Z]\w+ .*[A-Z]\w", fact)]
    if len(facts) < 4 or len(checkable) < 4:
        return None
    rng.shuffle(facts)
    greeting = rng.choice(("Hi there! ", "Hello, ", "", f"{task.scenario.opening} "))
    turns = _base(task, rng)
    return [("user", greeting + " ".join(facts)), *turns[1:]], True


def _early_stop(task: Task, rng: Random) -> _Planted:
    turns = _base(task, rng)
    end = rng.choice(("", "", "Thanks, bye!", "Okay, goodbye.", "Great, thank you so much!", "Never mind, bye."))
    match rng.randrange(4):
        case 0:
            return turns[:1], False
        case 1:
            return [*turns[:2], ("user", end)], False
        case 2:
            wait = rng.choice(
                ("One moment, please.", "Let me check that for you.", "I'll now cancel it.", "Please hold on.")
            )
            return [*turns[:3], ("agent", wait), ("user", end)], False
        case _:
            return [*turns[:4], ("user", end)], False


def _repetition(task: Task, rng: Random) -> _Planted:
    turns = _base(task, rng)
    opening = turns[0][1]
    if len(re.findall(r"\w+", opening)) <= 4:
        return None
    if rng.random() < 0.4:
        return [*turns[:-1], ("user", opening), ("agent", "That is settled already."), ("user", "ok")], True
    place = rng.choice([index for index, (who, _) in enumerate(turns) if who == "user" and index > 0])
    again = rng.choice((opening, opening.lower(), opening.replace(",", "")))
    return [*turns[:place], ("user", again), *turns[place + 1 :]], True


def _voice(task: Task, rng: Random) -> _Planted:
    return _with(_base(task, rng), rng, rng.choice(VOICE)), True


def _undone(task: Task, rng: Random) -> _Planted:
    return _with(_base(task, rng), rng, rng.choice(DEEDS), before_deeds=True), True


_PLANTERS: dict[Check, Callable[[Task, Random], _Planted]] = {
    Check.SAYS_UNKNOWN_FACT: _unknown_fact,
    Check.CONTRADICTS_KNOWN_FACT: _contradiction,
    Check.GIVES_EVERYTHING_AT_ONCE: _everything,
    Check.STOPS_EARLY: _early_stop,
    Check.REPEATS_ITSELF: _repetition,
    Check.SPEAKS_AS_AGENT: _voice,
    Check.CLAIMS_UNDONE_ACTION: _undone,
}
_TASKS: Sequence[Task] = [task for name in ("airline", "retail") for task in load_domain(name).tasks]

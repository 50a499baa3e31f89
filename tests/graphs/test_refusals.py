"""Why a provider did not answer, whatever SDK says so and however deep it is buried."""

from typing import Any

import httpx
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError, ModelAPIError, ModelRateLimitError, ModelTimeoutError
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda

from taugraph.domains.errors import ModelCallError
from taugraph.graphs.calling import CallSettings, RejectedError, call_model
from taugraph.graphs.refusals import cause_of, is_transient, provider_cause

REQUEST = httpx.Request("POST", "http://127.0.0.1/v1")


def refusal(status: int, text: str = "no", code: str | None = None) -> openai.APIStatusError:
    body = {"message": text, "code": code}
    return openai.APIStatusError(text, response=httpx.Response(status, request=REQUEST), body=body)


def of(module: str, name: str, **fields: Any) -> Exception:
    """Make an error that looks like one of another package."""
    error: Exception = type(name, (Exception,), {"__module__": module, **fields})("no")
    return error


PROVIDERS = [
    (refusal(401), "authentication", False),
    (refusal(402), "quota", False),
    (refusal(429), "rate_limit", True),
    (refusal(429, code="insufficient_quota"), "quota", False),
    (refusal(400, "Your credit balance is too low"), "quota", False),
    (refusal(529), "provider_error", True),
    (ModelRateLimitError("slow"), "rate_limit", True),
    (ModelTimeoutError("slow"), "timeout", True),
    (ModelAPIError("down"), "provider_error", True),
    (openai.APITimeoutError(request=REQUEST), "timeout", True),
    (openai.APIConnectionError(request=REQUEST), "connection", True),
    (openai.APIError("in a stream", REQUEST, body={"code": "rate_limit_exceeded"}), "rate_limit", True),
    (openai.APIError("in a stream", REQUEST, body={"code": "server_error"}), "provider_error", True),
    (of("anthropic", "OverloadedError", status_code=529), "provider_error", True),
    (of("google.genai.errors", "ClientError", code=429), "rate_limit", True),
    (of("google.api_core.exceptions", "DeadlineExceeded", code=504), "timeout", True),
    (of("botocore.exceptions", "NoCredentialsError"), "authentication", True),
    (of("groq", "InternalServerError", status_code=500), "provider_error", True),
    (of("mistralai.models", "SDKError", status_code=503), "provider_error", True),
    (of("botocore.errorfactory", "ThrottlingException", response={"Error": {"Code": "x"}}), "rate_limit", True),
]


@pytest.mark.parametrize(("error", "cause", "transient"), PROVIDERS)
def test_a_providers_failure_is_named_wherever_it_is_found(error: Exception, cause: str, transient: bool) -> None:
    assert (cause_of(error), is_transient(error)) == (cause, transient)
    wrapped = ValueError("the agent could not answer")
    wrapped.__cause__ = KeyError("x")
    wrapped.__cause__.__context__ = ExceptionGroup("several", [OSError("disk"), error])
    assert provider_cause(error) == provider_cause(wrapped) == cause


OWN = [
    refusal(400, "bad message"),
    refusal(404),
    ContextOverflowError("too long"),
    TimeoutError(),
    ConnectionError(),
    httpx.ConnectError("refused", request=REQUEST),
    of("my_agent", "RateLimitError", status_code=429),
    of("openai_tricks", "RateLimitError", status_code=429),
    ValueError("x"),
]


@pytest.mark.parametrize("error", OWN)
def test_any_other_failure_is_no_providers(error: Exception) -> None:
    assert provider_cause(error) is None


def test_an_error_that_was_hidden_on_purpose_is_not_looked_for() -> None:
    def hide() -> None:
        try:
            raise refusal(429)
        except openai.APIStatusError:
            raise ValueError("own") from None

    with pytest.raises(ValueError, match="own") as caught:
        hide()
    assert provider_cause(caught.value) is None


def test_errors_that_cause_each_other_end_the_search() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert provider_cause(first) is None


@pytest.mark.parametrize("package", ["langchain_mistralai.chat_models", "my_agent.tools"])
def test_a_transports_error_counts_where_a_providers_package_let_it_through(package: str) -> None:
    names: dict[str, Any] = {"__name__": package, "httpx": httpx}
    exec("def call(): raise httpx.ConnectError('refused')", names)
    with pytest.raises(httpx.ConnectError, match="refused") as caught:
        names["call"]()
    assert provider_cause(caught.value) == ("connection" if package.startswith("langchain") else None)


RATES = [
    "Rate limit reached. Please try again in 20s. Add a payment method at /account/billing.",
    "You exceeded your current quota, please check your plan and billing details. Please retry in 12.5s.",
]


@pytest.mark.parametrize("text", RATES)
def test_a_limit_of_rate_that_speaks_of_billing_is_waited_for(text: str) -> None:
    assert (cause_of(refusal(429, text)), is_transient(refusal(429, text))) == ("rate_limit", True)


def test_the_same_words_without_a_time_are_about_the_account() -> None:
    error = refusal(429, "You exceeded your current quota, please check your plan and billing details.")
    assert (cause_of(error), is_transient(error)) == ("quota", False)


async def test_what_another_sdk_answers_with_a_status_is_read_off_its_response() -> None:
    answer = httpx.Response(400, request=REQUEST, text="maximum context length is 8 tokens")
    error = httpx.HTTPStatusError("400: maximum context length is 8 tokens", request=REQUEST, response=answer)

    def fail(_: object) -> None:
        raise error

    model: Any = RunnableLambda(fail)
    with pytest.raises(RejectedError, match="maximum context length"):
        await call_model(model, [HumanMessage("Hi")], actor="agent", settings=CallSettings(attempts=3))


async def test_the_body_of_an_answer_is_told_where_the_error_leaves_it_out() -> None:
    def fail(_: object) -> None:
        response = httpx.Response(422, request=REQUEST)
        raise openai.UnprocessableEntityError("Error code: 422", response=response, body={"detail": "no such field"})

    model: Any = RunnableLambda(fail)
    with pytest.raises(ModelCallError, match=r"\(rejected_request\).*no such field"):
        await call_model(model, [HumanMessage("Hi")], actor="agent", settings=CallSettings(attempts=3))

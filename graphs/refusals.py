"""Why a provider did not answer: one word per kind of failure, and whether the same call may succeed later.

Read off what the exception is, not who raised it: LangChain's own classes, an HTTP status, or the name of an SDK's
class. `provider_cause` also finds such an exception behind another one.
"""

import re
from collections.abc import Iterator
from typing import Any

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)

_PROVIDER_PACKAGES = frozenset(
    {
        *(
            "openai",
            "anthropic",
            "groq",
            "cohere",
            "mistralai",
            "fireworks",
            "together",
            "cerebras",
            "ollama",
            "xai_sdk",
        ),
        *("google.genai", "google.api_core", "google.generativeai", "google.auth", "vertexai", "botocore"),
        *("azure.core", "azure.ai", "azure.identity", "huggingface_hub", "litellm", "replicate", "ibm_watsonx_ai"),
        *("langchain_openai", "langchain_anthropic", "langchain_google_genai", "langchain_google_vertexai"),
        *("langchain_mistralai", "langchain_groq", "langchain_cohere", "langchain_aws", "langchain_fireworks"),
        *("langchain_together", "langchain_ollama", "langchain_deepseek", "langchain_xai", "langchain_huggingface"),
        *(
            "xai_sdk",
            "langchain_perplexity",
            "langchain_azure_ai",
            "langchain_nvidia_ai_endpoints",
            "langchain_litellm",
        ),
    }
)
_TRANSPORTS = frozenset(
    {
        "httpx",
        "httpx2",
        "httpcore",
        "httpcore2",
        "requests",
        "urllib3",
        "aiohttp",
        "builtins",
        "asyncio",
        "grpc",
        "json",
    }
)
_EMPTY_ACCOUNT = re.compile(
    r"insufficient[_ ](?:quota|credits?|funds|balance)|credit balance|out of credits?|billing|(?:usage|spend\w*) limit"
    r"|exceeded your current quota",
    re.IGNORECASE,
)
_COMES_BACK = re.compile(r"(?:retry|try again) in|retry-?delay|per ?minute", re.IGNORECASE)
"""Says that a limit is one of rate, in texts that speak of plans and billing all the same."""
_BAD_KEY = re.compile(
    r"(?:invalid|incorrect|expired|missing|no)[_ ]api[_ ]?key|api[_ ]?key (?:is )?(?:not valid|invalid|expired)",
    re.IGNORECASE,
)
_BY_STATUS = {
    401: "authentication",
    402: "quota",
    403: "authentication",
    404: "unknown_model",
    408: "timeout",
    429: "rate_limit",
    504: "timeout",
}
_BY_CODE = {"rate_limit_exceeded": "rate_limit", "insufficient_quota": "quota", "server_error": "provider_error"}
"""Codes of errors that come in the middle of a stream, which has its status already."""
_BY_CLASS = (
    (ModelRateLimitError, "rate_limit"),
    (ModelAuthenticationError, "authentication"),
    (ModelPermissionDeniedError, "authentication"),
    (ModelTimeoutError, "timeout"),
    (ModelConnectionError, "connection"),
    (ModelAPIError, "provider_error"),
)
_BY_NAME = (
    (re.compile(r"RateLimit|Throttl|TooManyRequests|ResourceExhausted"), "rate_limit"),
    (re.compile(r"Authentication|PermissionDenied|Unauthorized|Unauthenticated|Credentials"), "authentication"),
    (re.compile(r"Time[d]?out|DeadlineExceeded"), "timeout"),
    (re.compile(r"Connect|RemoteProtocol|ReadError|WriteError|ClientPayload|IncompleteRead"), "connection"),
    (re.compile(r"InternalServer|ServiceUnavailable|Overloaded|ServerError"), "provider_error"),
)
_INFRASTRUCTURE = frozenset({"rate_limit", "authentication", "quota", "timeout", "connection", "provider_error"})
_TOO_LONG = re.compile(r"maximum context length|prompt is too long|context[_ ]length[_ ]exceeded", re.IGNORECASE)
_DEEPEST_CAUSE = 30
_LONGEST_TEXT = 4_000


def is_transient(error: BaseException) -> bool:
    """Tell whether the same call may succeed later."""
    if not isinstance(error, Exception) or account_trouble(error):
        return False
    if isinstance(error, ModelError):
        return error.is_retryable
    status = status_of(error)
    if status is not None:
        return status in (408, 409, 425, 429) or status >= 500
    return True  # no status: connection lost, timed out, or an answer nobody can read


def cause_of(error: BaseException) -> str:
    """Return one word for the failure of a model call.

    Returns:
        `rate_limit`, `authentication`, `quota`, `timeout`, `connection`, `provider_error`, `unknown_model`,
        `rejected_request` or `unreadable_answer`.
    """
    if account := account_trouble(error):
        return account
    status = status_of(error)
    if status is not None:
        return _BY_STATUS.get(status, "provider_error" if status >= 500 else "rejected_request")
    if (code := code_of(error)) in _BY_CODE:
        return _BY_CODE[code]
    for kind, cause in _BY_CLASS:
        if isinstance(error, kind):
            return cause
    for pattern, cause in _BY_NAME:
        if pattern.search(type(error).__name__):
            return cause
    return "connection" if isinstance(error, OSError) else "unreadable_answer"


def provider_cause(error: BaseException) -> str | None:
    """Find a provider's failure in an error, or in what it was raised from, and name it.

    An error counts where its class comes from the package of a provider, where it is one of LangChain's `ModelError`,
    or where such a package raised an error of its transport. What a provider rejects as a bad request does not count.

    Args:
        error: Anything that came out of an agent or a simulated user.

    Returns:
        `rate_limit`, `authentication`, `quota`, `timeout`, `connection` or `provider_error`; `None` for any other.
    """
    for each in _chain(error):
        if isinstance(each, ModelError) or _is_of_provider(each) or _crossed_provider(each):
            cause = cause_of(each)
            return cause if cause in _INFRASTRUCTURE else None
    return None


def is_about_conversation(error: BaseException, *, spoke: bool) -> bool:
    """Tell a refused conversation from refused settings.

    A conversation too long for the model is the actor's own affair from the first call on; any other refusal is where
    the actor has already contributed to what was sent.

    Args:
        error: What the provider raised.
        spoke: Whether a message of the actor's own was sent.
    """
    if isinstance(error, ContextOverflowError) or code_of(error) == "context_length_exceeded":
        return True
    if status_of(error) in (400, 413) and _TOO_LONG.search(text_of(error)):
        return True
    return spoke and not account_trouble(error) and status_of(error) in (400, 413, 422)


def account_trouble(error: BaseException) -> str | None:
    """Name a refusal that is about the account, whatever status it came with: providers send some as a bad request."""
    text = f"{code_of(error) or ''} {text_of(error)}" if status_of(error) is not None else ""
    is_rate = status_of(error) == 429 and code_of(error) != "insufficient_quota" and _COMES_BACK.search(text)
    if _EMPTY_ACCOUNT.search(text) and not is_rate:
        return "quota"
    return "authentication" if _BAD_KEY.search(text) else None


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of a refusal, wherever the SDK keeps it; `None` if there was none."""
    response = getattr(error, "response", None)
    for found in (
        getattr(error, "status_code", None),
        getattr(error, "code", None),
        getattr(error, "http_status", None),
        getattr(response, "status_code", None),
        _of_aws(response, "ResponseMetadata", "HTTPStatusCode"),
    ):
        if isinstance(found, int) and 400 <= found < 600:
            return int(found)
    return None


def code_of(error: BaseException) -> str | None:
    """Return the provider's own word for the error, such as `insufficient_quota`; `None` if it gave none."""
    code = getattr(error, "code", None) or _of_aws(getattr(error, "response", None), "Error", "Code")
    return code if isinstance(code, str) else None


def text_of(error: BaseException) -> str:
    """Return what an error says, with the body of the provider's answer where its text leaves that out; bounded."""
    text, body = str(error), getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    if body and not (isinstance(message, str) and message in text) and str(body) not in text:
        text = f"{text} - {body}"
    return text[:_LONGEST_TEXT]


def describe(error: BaseException) -> str:
    """Return class and text of an error, bounded."""
    text = f"{type(error).__name__}: {text_of(error)}"
    return text if len(text) <= 500 else f"{text[:500]}... (cut)"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Walk an error, what it was raised from or while handling, and the members of groups; each once."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _DEEPEST_CAUSE:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        shown = None if each.__suppress_context__ else each.__context__
        waiting += [found for found in (each.__cause__, shown) if found is not None]


def _is_of_provider(error: BaseException) -> bool:
    return any(_is_provider(kind.__module__) for kind in type(error).__mro__)


def _crossed_provider(error: BaseException) -> bool:
    """Tell whether an error of the transport passed through a provider's package: some raise nothing of their own."""
    if type(error).__module__.partition(".")[0] not in _TRANSPORTS or cause_of(error) not in _INFRASTRUCTURE:
        return False
    trace = error.__traceback__
    while trace is not None:
        if _is_provider(trace.tb_frame.f_globals.get("__name__", "")):
            return True
        trace = trace.tb_next
    return False


def _is_provider(module: str) -> bool:
    parts = module.split(".")
    return parts[0] in _PROVIDER_PACKAGES or ".".join(parts[:2]) in _PROVIDER_PACKAGES


def _of_aws(response: Any, section: str, name: str) -> Any:
    found = response.get(section) if isinstance(response, dict) else None
    return found.get(name) if isinstance(found, dict) else None

"""A LangSmith-compatible recorder on a real local socket: it keeps what the client sends, and answers what it asks.

It serves datasets, examples, sessions (experiments), runs (multipart with or without zstd, and JSON batches), feedback
and run queries. Like the service it merges by id: a run that is sent again is the same run.
"""

import json
import re
import socket
import threading
from collections.abc import Iterable
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, Self
from uuid import uuid4

import uvicorn
import zstandard
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_STARTED = "2026-01-01T00:00:00+00:00"
_TENANT = "00000000-0000-0000-0000-000000000001"

Record = dict[str, Any]


class LangSmithRecorder:
    """A server on 127.0.0.1 that accepts from entry of its `with` block to exit."""

    url: str
    """Root for clients; set on entry."""

    def __init__(self, *, zstd: bool = True) -> None:
        self.datasets: dict[str, Record] = {}
        self.examples: dict[str, Record] = {}
        self.sessions: dict[str, Record] = {}
        self.runs: dict[str, Record] = {}
        self.feedback: dict[str, Record] = {}
        self.requests: list[tuple[str, str]] = []
        """Method and path of everything that was asked, in order of arrival."""
        self.raw_bytes = 0
        """Bytes of runs, decompressed."""
        self.duplicates: list[str] = []
        """Ids of runs that were created more than once."""
        self.refuse: int | None = None
        """Status with which every upload of runs and feedback is refused; `None` to accept."""
        self.refuse_after: int | None = None
        """Root runs after which every upload is refused; `None` for never."""
        self._zstd = zstd
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(self._build_app(), log_level="critical", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *outcome: object) -> None:
        self._server.should_exit = True
        self._thread.join(10)

    def roots(self) -> list[Record]:
        """Return the runs without a parent."""
        return [run for run in self.runs.values() if not run.get("parent_run_id")]

    def children(self, run_id: str) -> list[Record]:
        """Return the runs right below one, in the order of their dotted order."""
        found = [run for run in self.runs.values() if run.get("parent_run_id") == run_id]
        return sorted(found, key=lambda run: str(run["dotted_order"]))

    def feedback_of(self, run_id: str) -> dict[str, Any]:
        """Return score by key of one run."""
        return {one["key"]: one.get("score") for one in self.feedback.values() if one.get("run_id") == run_id}

    def summary_of(self, session_id: str) -> dict[str, Any]:
        """Return score by key of one experiment."""
        return {
            one["key"]: one.get("score")
            for one in self.feedback.values()
            if not one.get("run_id") and one.get("session_id") == session_id
        }

    def _build_app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/info", self._info),
                Route("/datasets", self._datasets, methods=["GET", "POST"]),
                Route("/datasets/{id}", self._dataset),
                Route("/v1/platform/datasets/{id}/examples", self._upload_examples, methods=["POST", "PATCH"]),
                Route("/examples", self._examples, methods=["GET", "DELETE"]),
                Route("/examples/{id}", self._example, methods=["GET", "DELETE"]),
                Route("/sessions", self._sessions, methods=["GET", "POST"]),
                Route("/sessions/{id}", self._session, methods=["GET", "PATCH"]),
                Route("/runs/multipart", self._multipart, methods=["POST"]),
                Route("/runs/batch", self._batch, methods=["POST"]),
                Route("/runs", self._one_run, methods=["POST"]),
                Route("/runs/query", self._query_runs, methods=["POST"]),
                Route("/runs/{id}", self._one_run, methods=["PATCH"]),
                Route("/feedback", self._feedback, methods=["GET", "POST"]),
                Route("/feedback/{id}", self._patch_feedback, methods=["PATCH"]),
            ]
        )

    def _note(self, request: Request) -> None:
        self.requests.append((request.method, request.url.path))

    async def _info(self, request: Request) -> Response:
        self._note(request)
        flags = {"dataset_examples_multipart_enabled": True, "zstd_compression_enabled": self._zstd}
        limits = {
            "use_multipart_endpoint": True,
            "size_limit": 100,
            "size_limit_bytes": 20_971_520,
            "scale_up_qsize_trigger": 1000,
            "scale_up_nthreads_limit": 16,
            "scale_down_nempty_trigger": 4,
        }
        return JSONResponse({"version": "0.13.0", "instance_flags": flags, "batch_ingest_config": limits})

    async def _datasets(self, request: Request) -> Response:
        self._note(request)
        if request.method == "POST":
            record = {"created_at": _STARTED, "modified_at": _STARTED, **await request.json()}
            record.setdefault("id", str(uuid4()))
            if any(one["name"] == record["name"] for one in self.datasets.values()):
                return JSONResponse({"detail": "Dataset with this name already exists."}, status_code=409)
            self.datasets[record["id"]] = record
            return JSONResponse(_dataset(record))
        name = request.query_params.get("name")
        return JSONResponse([_dataset(one) for one in self.datasets.values() if name in (None, one["name"])])

    async def _dataset(self, request: Request) -> Response:
        self._note(request)
        found = self.datasets.get(request.path_params["id"])
        return JSONResponse(_dataset(found)) if found else JSONResponse({"detail": "not found"}, status_code=404)

    async def _upload_examples(self, request: Request) -> Response:
        self._note(request)
        dataset, ids = request.path_params["id"], []
        for name, value in _parts(await _body(request), request.headers["content-type"]):
            example_id, _, field = name.partition(".")
            record = self.examples.setdefault(example_id, {"id": example_id, "dataset_id": dataset})
            if field:
                record[field] = value
            else:
                ids.append(example_id)
                record.update({"metadata": value.get("metadata") or {}, "split": value.get("split")})
        return JSONResponse({"example_ids": ids, "count": len(ids), "as_of": _STARTED})

    async def _examples(self, request: Request) -> Response:
        self._note(request)
        if request.method == "DELETE":
            for example_id in request.query_params.getlist("example_ids"):
                self.examples.pop(example_id, None)
            return JSONResponse({})
        dataset, offset = request.query_params.get("dataset"), int(request.query_params.get("offset", 0))
        wanted = set(request.query_params.getlist("id"))
        found = [one for one in self.examples.values() if one["dataset_id"] == dataset and _in(wanted, one["id"])]
        return JSONResponse([_example(one) for one in found[offset : offset + 100]])

    async def _example(self, request: Request) -> Response:
        self._note(request)
        if request.method == "DELETE":
            self.examples.pop(request.path_params["id"], None)
            return JSONResponse({})
        return JSONResponse(_example(self.examples[request.path_params["id"]]))

    async def _sessions(self, request: Request) -> Response:
        self._note(request)
        if request.method == "POST":
            record = {"start_time": _STARTED, "tenant_id": _TENANT, **await request.json()}
            same = [one for one in self.sessions.values() if one["name"] == record["name"]]
            if same and "upsert" not in request.query_params:
                return JSONResponse({"detail": "Session with this name already exists."}, status_code=409)
            record = {**same[0], **record, "id": same[0]["id"]} if same else record
            self.sessions[record["id"]] = record
            return JSONResponse(record)
        name = request.query_params.get("name")
        found = [one for one in self.sessions.values() if name in (None, one["name"])]
        return JSONResponse(found[: int(request.query_params.get("limit", 100))])

    async def _session(self, request: Request) -> Response:
        self._note(request)
        record = self.sessions.get(request.path_params["id"])
        if record is None:
            return JSONResponse({"detail": "not found"}, status_code=404)
        if request.method == "PATCH":
            record.update({key: value for key, value in (await request.json()).items() if value is not None})
        return JSONResponse(record)

    async def _multipart(self, request: Request) -> Response:
        self._note(request)
        body = await _body(request)
        if (refusal := self._refusal()) is not None:
            return refusal
        self.raw_bytes += len(body)
        with self._lock:
            created: set[str] = set()
            for name, value in _parts(body, request.headers["content-type"]):
                event, record_id, *field = name.split(".", 2)
                if event == "feedback":
                    self.feedback[record_id] = value
                    continue
                if event == "post" and not field:
                    created.add(record_id)
                self._merge(record_id, {field[0]: value} if field else value)
            self.duplicates += [run_id for run_id in created if self.runs[run_id].setdefault("_seen", False)]
            for run_id in created:
                self.runs[run_id]["_seen"] = True
        return JSONResponse({"message": "Runs batch ingested"}, status_code=202)

    async def _batch(self, request: Request) -> Response:
        self._note(request)
        if (refusal := self._refusal()) is not None:
            return refusal
        body = await request.json()
        for record in [*body.get("post", []), *body.get("patch", [])]:
            self._merge(record["id"], record)
        return JSONResponse({"message": "Runs batch ingested"}, status_code=202)

    async def _one_run(self, request: Request) -> Response:
        self._note(request)
        record = await request.json()
        self._merge(request.path_params.get("id") or record["id"], record)
        return JSONResponse({"message": "Run created"}, status_code=202)

    async def _query_runs(self, request: Request) -> Response:
        self._note(request)
        body = await request.json()
        sessions = {str(one) for one in body.get("session") or []}
        found = [
            {"status": "success", "app_path": "", **run}
            for run in self.runs.values()
            if (not sessions or self._session_of(run) in sessions)
            and (not body.get("is_root") or not run.get("parent_run_id"))
        ]
        for run in found:
            stats = {key: {"n": 1, "avg": score} for key, score in self.feedback_of(run["id"]).items()}
            run |= {"session_id": self._session_of(run), "feedback_stats": stats}
        return JSONResponse({"runs": found, "cursors": {}})

    def _session_of(self, run: Record) -> str | None:
        if run.get("session_id"):
            return str(run["session_id"])
        named = [one["id"] for one in self.sessions.values() if one["name"] == run.get("session_name")]
        return named[0] if named else None

    async def _feedback(self, request: Request) -> Response:
        self._note(request)
        if request.method == "GET":
            runs = set(request.query_params.getlist("run"))
            return JSONResponse([one for one in self.feedback.values() if _in(runs, one.get("run_id"))])
        if (refusal := self._refusal()) is not None:
            return refusal
        record = await request.json()
        self.feedback[record["id"]] = record
        return JSONResponse(record)

    async def _patch_feedback(self, request: Request) -> Response:
        self._note(request)
        self.feedback[request.path_params["id"]].update(await request.json())
        return JSONResponse(self.feedback[request.path_params["id"]])

    def _refusal(self) -> Response | None:
        full = self.refuse_after is not None and len(self.roots()) >= self.refuse_after
        status = self.refuse or (503 if full else None)
        return JSONResponse({"detail": "scripted refusal"}, status_code=status) if status else None

    def _merge(self, run_id: str, record: Record) -> None:
        self.runs.setdefault(run_id, {"id": run_id}).update(record)


def _in(wanted: set[str], value: object) -> bool:
    return not wanted or value in wanted


def _dataset(record: Record) -> Record:
    return {"example_count": 0, "session_count": 0, "last_session_start_time": None, "data_type": "kv", **record}


def _example(record: Record) -> Record:
    metadata = {**(record.get("metadata") or {}), "dataset_split": record.get("split") or ["base"]}
    return {"created_at": _STARTED, "modified_at": _STARTED, "outputs": None, **record, "metadata": metadata}


async def _body(request: Request) -> bytes:
    body = await request.body()
    if request.headers.get("content-encoding") == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(body)
    return body


def _parts(body: bytes, content_type: str) -> Iterable[tuple[str, Any]]:
    """Yield name and JSON value of every part of a multipart body."""
    head = f"Content-Type: {content_type}\r\nMIME-Version: 1.0\r\n\r\n".encode()
    for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():  # type: ignore[attr-defined]
        name = re.search(r'name="([^"]+)"', str(part["Content-Disposition"]))
        assert name is not None, "every part has a name"
        yield name.group(1), json.loads(part.get_payload(decode=True))

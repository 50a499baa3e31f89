"""Every test runs offline, without keys, and keeps its files to itself."""

import os
import tempfile

for name in list(os.environ):
    if name.startswith(("LANGSMITH_", "LANGCHAIN_", "TAUGRAPH_AGENT", "TAUGRAPH_USER")) or name.endswith("_API_KEY"):
        del os.environ[name]  # langsmith caches what it reads, so this must come before any import of it
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
if "TAUGRAPH_CACHE" not in os.environ:
    os.environ["TAUGRAPH_CACHE"] = os.path.join(tempfile.gettempdir(), f"taugraph-test-seeds-{os.getuid()}")

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import insert

from calve.engine.core.lease import take_lease
from calve.engine.orchestrator import Orchestrator
from calve.server.app import create_app
from calve.settings import load_settings
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import leases, permits
from calve.ui.site import add_pages
from support.engine_rows import push_jobs, set_run, start

pytestmark = pytest.mark.slow

SECRETS = """
default_catalog = "rest"
[catalogs.rest]
type = "rest"
uri = "https://user:hunter2@lake.example/api?token=abc&x=1"
warehouse = "s3://lake"
credential = "id:hunter3"
"s3.secret-access-key" = "${NOT_THERE}"
[spark.conf]
"spark.hadoop.fs.s3a.secret.key" = "hunter4"
"spark.ui.enabled" = "false"
"""


def test_a_page_without_engines_says_what_to_do(browser: TestClient) -> None:
    page = browser.get("/settings")
    assert page.status_code == 200
    assert "No engine is there" in page.text
    assert "No tag has a limit." in page.text


def test_engines_queues_and_permits_are_told(
    browser: TestClient, twins: TestClient, orchestrator: Orchestrator, database: Database
) -> None:
    with database.write() as connection:
        own = take_lease(connection, now_ms())
        stale = {"host": "elsewhere", "pid": 7, "process_started": "", "alive": True, "beat": 1}
        connection.execute(insert(leases).values(**stale, started_at=1, beaten_at=now_ms() - 60_000))
        connection.execute(insert(permits).values(tag="spark", run=1, step_id="a"))
    orchestrator.set_permit("spark", 4)
    push_jobs(database, "wf", "a")
    start(database, "wf")
    set_run(database, start(database, "wf").run, status="IN_PROGRESS", owner=own.generation)
    found = twins.get("/settings").json()
    assert [(one["host"] == "elsewhere", one["status"], one["runs"]) for one in found["engines"]] == [
        (False, "OK", 1),
        (True, "LATE", 0),
    ]
    assert found["queues"]["CREATED"] == {"count": 1, "most": [{"workflow_id": "wf", "count": 1}]}
    assert found["queues"]["IN_PROGRESS"]["count"] == 1
    assert found["permits"] == [{"tag": "spark", "limit": 4, "used": 1}]
    assert 'href="/workflows/wf"' in browser.get("/settings").text


def test_no_secret_is_shown(home: Path, orchestrator: Orchestrator) -> None:
    (home / "calve.toml").write_text(SECRETS, encoding="utf-8")
    other = Orchestrator(load_settings(home), orchestrator.database)
    site = add_pages(create_app(other))
    client = TestClient(site, base_url="http://localhost", headers={"accept": "text/html"})
    for address in ("/settings", "/api/v3/views/settings"):
        text = client.get(address).text
        assert "lake.example" in text
        assert "${NOT_THERE}" in text
        assert "spark.ui.enabled" in text.replace("<wbr>", "")
        for secret in ("hunter2", "hunter3", "hunter4", "abc"):
            assert secret not in text

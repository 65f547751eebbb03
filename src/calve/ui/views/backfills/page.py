"""One backfill: its plan, how far it is, what was compared and what was published."""

from __future__ import annotations

from fastapi.responses import PlainTextResponse, RedirectResponse

from calve.backfill.acting import act
from calve.backfill.explaining import explain
from calve.backfill.service import Backfills
from calve.backfill.store import read_backfill, read_chunks, read_stages
from calve.engine.views.runs import run_summary
from calve.server.dependencies import Json, Number, Orchestrating
from calve.ui.addresses import backfill_address
from calve.ui.forms import Fields, Person, go_to
from calve.ui.pages import Pages
from calve.ui.views.backfills.actions import DONE_WORDS, allowed_actions, read_options
from calve.ui.views.backfills.head import backfill_head, driver_errors
from calve.ui.views.backfills.plan import plan_graph, plan_totals
from calve.ui.views.backfills.stages import stage_models

pages = Pages()


@pages.page("/backfills/{backfill_id}", "backfill.html")
def show_backfill(orchestrator: Orchestrating, backfill_id: Number) -> Json:
    """The plan, progress by stage and chunk, the validation and what was published."""
    with orchestrator.database.read() as connection:
        backfill = read_backfill(connection, backfill_id)
        stages = read_stages(connection, backfill)
        chunks = read_chunks(connection, backfill_id)
        driver = None
        if backfill.instance_id is not None:
            driver = run_summary(connection, backfill.driver, backfill.instance_id)
    models = stage_models(backfill, stages, chunks)
    return {
        "backfill": backfill_head(backfill, models),
        "actions": allowed_actions(backfill, stages),
        "errors": driver_errors(backfill, driver),
        "totals": plan_totals(backfill.plan),
        "graph": plan_graph(models),
        "explanation": explain(backfill.plan),
        "stages": models,
        "command": f"calve backfill status {backfill_id}",
    }


@pages.html.get("/backfills/{backfill_id}/report")
def report(orchestrator: Orchestrating, backfill_id: Number) -> PlainTextResponse:
    """What a backfill did, as Markdown."""
    text = Backfills(orchestrator).report(backfill_id)
    return PlainTextResponse(text, media_type="text/markdown")


@pages.html.post("/backfills/{backfill_id}/actions/{action}")
def act_on_backfill(
    orchestrator: Orchestrating, person: Person, fields: Fields, backfill_id: Number, action: str
) -> RedirectResponse:
    """Do what a button says, and show the backfill again."""
    act(Backfills(orchestrator), backfill_id, action, read_options(fields), person)
    return go_to(backfill_address(backfill_id), DONE_WORDS[action])

"""Tag permits: how many steps with a tag may run at a time."""

from __future__ import annotations

from fastapi import APIRouter

from calve.server.bodies import PermitBody
from calve.server.dependencies import Json, Orchestrating

router = APIRouter(prefix="/tag-permits", tags=["tag permits"])


@router.post("")
def set_permit(orchestrator: Orchestrating, body: PermitBody) -> Json:
    """Limit a tag."""
    orchestrator.set_permit(body.tag, body.max_allowed)
    return {"tag": body.tag, "max_allowed": body.max_allowed}


@router.get("/{tag:path}")
def get_permit(orchestrator: Orchestrating, tag: str) -> Json:
    """The limit of a tag."""
    return {"tag": tag, "max_allowed": orchestrator.get_permit(tag)}


@router.delete("/{tag:path}")
def delete_permit(orchestrator: Orchestrating, tag: str) -> Json:
    """Take the limit off a tag."""
    orchestrator.delete_permit(tag)
    return {}

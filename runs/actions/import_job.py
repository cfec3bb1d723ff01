"""An import as a row that a worker carries out: asked for, done once, tried again.

The row is the ledger. A worker that dies leaves it running; after a while of silence another one
removes the half campaign and begins anew from the texts, which are kept until the import has ended.
"""

from __future__ import annotations

import logging

from celery.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError, transaction

from people.models import Person
from runs import pending
from runs.actions.import_large import remove
from runs.actions.import_texts import import_texts
from runs.actions.launch import Refused
from runs.actions.pieces import JobPieces, Overtaken
from runs.actions.read_again import read_again, size_of
from runs.models import Campaign, Import
from runs.outlines import prepare
from runs.tasks import ring_import

log = logging.getLogger(__name__)

MOST_TRIES = 3
SILENT = (
    "Each of {tries} workers that read this was ended before it was done; most often there was not "
    "enough memory. The texts are kept for a day: try again once there is, or cut them into parts."
)
GONE = "The texts are no longer here. Choose them again."


def begin_import(*, kept: pending.PendingTexts, by: Person) -> Import:
    """Have a worker make a campaign of the texts."""
    told = [[source.path.name, source.name] for source in kept.sources]
    job = Import.objects.create(person=by, texts=told, size=kept.size)
    transaction.on_commit(lambda: ring_import(job.pk))
    return job


def begin_reading_again(*, campaign: Campaign, by: Person) -> Import:
    """Have a worker read an import again; the one that is under way, if there is one."""
    again = Import.objects.open().filter(kind=Import.Kind.AGAIN, campaign=campaign).first()
    if again is not None:
        return again
    size = size_of(campaign)
    job = Import.objects.create(kind=Import.Kind.AGAIN, person=by, campaign=campaign, size=size)
    transaction.on_commit(lambda: ring_import(job.pk))
    return job


def try_again(*, job: Import) -> Import:
    """Put a failed import back. Raises :class:`Refused` if its texts are gone."""
    if job.kind == Import.Kind.TEXTS and pending.sources(job.texts) is None:
        raise Refused(GONE)
    failed = Import.objects.filter(pk=job.pk, state=Import.State.FAILED)
    if failed.update(state=Import.State.WAITING, tries=0, position=0, error="", ended_at=None):
        transaction.on_commit(lambda: ring_import(job.pk))
    return job


def perform(import_id: int, worker: str) -> None:
    """Claim the import, carry it out and end it. Told twice, done once."""
    job = Import.objects.claim(import_id, worker)
    if job is None:
        return
    try:
        campaign = _make(job)
    except Overtaken as overtaken:
        log.warning("another worker has taken over: %s", overtaken)
    except OperationalError:
        raise  # the database was away: the row is as it was, and a worker is rung again
    except Exception as error:  # noqa: BLE001 - it is logged, and told to whoever waits
        # left as it is, it would be tried again for ever, and nobody would learn why
        if job.ended(Import.State.FAILED, error=_why(job, error)):
            pending.touch(job.texts)  # for a day from now it can be tried again
    else:
        if job.kind == Import.Kind.TEXTS:
            pending.forget(job.texts)
        if campaign is not None:
            prepare(campaign)


def _why(job: Import, error: Exception) -> str:
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, SoftTimeLimitExceeded):
        return "This took longer than a worker may work. Cut the texts into parts."
    log.exception("%s", job)
    what = f"{type(error).__name__}: {error}"[:500]
    return f"This is a fault of Throughline ({what}). The worker's log has the details."


def _make(job: Import) -> Campaign | None:
    if job.half is not None:
        remove(job.half)
    if job.tries > MOST_TRIES:
        raise Refused(SILENT.format(tries=MOST_TRIES))
    pieces = JobPieces(job)
    if job.kind == Import.Kind.AGAIN:
        if job.campaign is None:
            raise Refused("The campaign is no longer here.")
        read_again(campaign=job.campaign, by=job.person, pieces=pieces)
        return job.campaign
    sources = pending.sources(job.texts)
    if sources is None:
        raise Refused(GONE)
    return import_texts(sources=sources, by=job.person, pieces=pieces)

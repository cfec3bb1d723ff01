"""Addresses of campaigns, runs, comparisons and notes."""

from django.urls import URLPattern, path

from runs.views import (
    campaigns,
    caveats,
    compare,
    health,
    import_jobs,
    imports,
    launch,
    notes,
    overview,
    rerun,
    run,
    runs_list,
    share,
    stream,
)

urlpatterns: list[URLPattern] = [
    path("", overview.overview, name="overview"),
    path("campaigns/", campaigns.campaign_list, name="campaign-list"),
    path("campaigns/new/", launch.campaign_new, name="campaign-new"),
    path("campaigns/preview/", launch.campaign_preview, name="campaign-preview"),
    path("campaigns/<int:pk>/", campaigns.campaign_detail, name="campaign-detail"),
    path(
        "campaigns/<int:pk>/conclusion/", campaigns.campaign_conclusion, name="campaign-conclusion"
    ),
    path("caveats/dismiss/", caveats.caveat_dismiss, name="caveat-dismiss"),
    path("caveats/dismissals/<int:pk>/undo/", caveats.caveat_undo, name="caveat-undo"),
    path("caveats/test/", caveats.caveat_test, name="caveat-test"),
    path("notes/", notes.note_list, name="note-list"),
    path("notes/add/", notes.note_add, name="note-add"),
    path("import/", imports.import_text, name="import"),
    path("import/<int:pk>/", import_jobs.import_detail, name="import-detail"),
    path("import/<int:pk>/again/", import_jobs.import_try_again, name="import-try-again"),
    path("runs/", runs_list.run_list, name="run-list"),
    path("runs/<uuid:uid>/", run.run_by_uid, name="run-by-uid"),
    path("runs/<int:pk>/", run.run_detail, name="run-detail"),
    path("runs/<int:pk>/stream", stream.run_stream, name="run-stream"),
    path("runs/<int:pk>/log/", run.run_log, name="run-log"),
    path("runs/<int:pk>/samples.csv", run.run_samples, name="run-samples"),
    path("runs/<int:pk>/levels/<int:index>/output/", run.run_output, name="run-output"),
    path("runs/<int:pk>/read-again/", run.run_read_again, name="run-read-again"),
    path("runs/<int:pk>/cancel/", run.run_cancel, name="run-cancel"),
    path("runs/<int:pk>/try-again/", run.run_try_again, name="run-try-again"),
    path("arms/<int:pk>/rerun/", rerun.arm_rerun, name="arm-rerun"),
    path("compare/", compare.compare, name="compare"),
    path("compare/share/", share.compare_share, name="compare-share"),
    path("share/<int:pk>/revoke/", share.share_revoke, name="share-revoke"),
    path("healthz/worker", health.worker, name="health-worker"),
    path("healthz/conductor", health.conductor, name="health-conductor"),
    path("s/<str:token>/", share.shared_comparison, name="shared-comparison"),
]

"""What lies in static/vendor is what was written there once, and the locks agree with it."""

import json
import re

from scripts import vendor


def test_every_vendored_file_has_the_checksum_written_beside_it() -> None:
    assert (vendor.TARGET / "SHA256SUMS").read_text() == vendor.checksums(vendor.TARGET)


def test_nothing_lies_there_that_the_script_does_not_know() -> None:
    known = {name for _, _, name in vendor.FILES} | {"SHA256SUMS", "VERSIONS"}
    assert {path.name for path in vendor.TARGET.iterdir()} == known


def test_versions_are_the_ones_asked_for_and_locked() -> None:
    asked = json.loads((vendor.LOCK / "package.json").read_text())["dependencies"]
    locked = json.loads((vendor.LOCK / "package-lock.json").read_text())["packages"]
    for line in (vendor.TARGET / "VERSIONS").read_text().splitlines():
        package, version, _licence = line.split(" ", 2)
        assert asked[package] == version
        assert locked[f"node_modules/{package}"]["version"] == version


def test_no_vendored_style_sheet_loads_anything_from_elsewhere() -> None:
    for path in vendor.TARGET.glob("*.css"):
        assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", path.read_text()), path.name


def test_the_lock_names_no_registry_host() -> None:
    text = (vendor.LOCK / "package-lock.json").read_text()
    lock = json.loads(text)
    assert not [name for name, entry in lock["packages"].items() if "resolved" in entry]
    assert "://" not in text


def test_it_names_a_changed_a_missing_and_an_extra_file(tmp_path) -> None:
    fresh, kept = tmp_path / "fresh", tmp_path / "kept"
    for folder in (fresh, kept):
        folder.mkdir()
        (folder / "same").write_text("x")
        (folder / "changed").write_text(folder.name)
    (fresh / "missing").touch()
    (kept / "extra").touch()
    assert vendor.differences(fresh, kept) == ["changed", "extra", "missing"]

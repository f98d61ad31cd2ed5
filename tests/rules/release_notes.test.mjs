import assert from "node:assert/strict";
import test from "node:test";
import { notesOf } from "../../scripts/release_notes.mjs";

const changelog =
  "# Changelog\n\n## [Unreleased]\n\n- c\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- b\n\n## [0.1.0]\n\n- a\n\n[0.1.0]: https://x.test\n";

test("the notes of a release are the version's part of the changelog", () => {
  assert.equal(notesOf(changelog, "0.2.0"), "### Added\n\n- b");
  assert.equal(notesOf(changelog, "0.1.0"), "- a");
  assert.throws(() => notesOf(changelog, "0.3.0"), /has no section ## \[0\.3\.0\]/);
  assert.throws(() => notesOf("## [1.0.0]\n\n## [0.9.0]\n- x\n", "1.0.0"), /is empty/);
});

// scripts/setup/emsdk.mjs installs an archive only if its checksum is right. A small archive on a local server replaces the real one.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

const scripts = join(import.meta.dirname, "..", "..", "scripts");

/** Copies the scripts to a new folder, so that its .toolchain/ is theirs, and serves an archive with an emcc that prints a version. */
async function withRelease(use, { version = "6.0.5" } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-emsdk-"));
  await cp(scripts, join(folder, "checkout", "scripts"), { recursive: true });
  const emscripten = join(folder, "install", "emscripten");
  await mkdir(emscripten, { recursive: true });
  const emcc = `#!/bin/sh\necho "emcc (Emscripten gcc/clang-like replacement) ${version} (abc)"\n`;
  await writeFile(join(emscripten, "emcc"), emcc, { mode: 0o755 });
  execFileSync("tar", ["-cf", join(folder, "archive.tar"), "-C", folder, "install"]);
  const archive = await readFile(join(folder, "archive.tar"));
  const server = createServer(({ url }, response) => {
    response.writeHead(url === "/archive" ? 200 : 404).end(archive);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const setup = join(folder, "checkout", "scripts", "setup");
    const { installRelease } = await import(join(setup, "emsdk.mjs"));
    const { findToolchain } = await import(join(setup, "toolchain.mjs"));
    await use({
      url: `http://127.0.0.1:${server.address().port}/archive`,
      sha256: createHash("sha256").update(archive).digest("hex"),
      folder,
      toolchain: join(folder, "checkout", ".toolchain"),
      installRelease,
      findToolchain,
    });
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
}

const onWindows = process.platform === "win32";

test("a release is unpacked, configured and recorded", { skip: onWindows }, async () => {
  await withRelease(async ({ url, sha256, toolchain, installRelease, findToolchain }) => {
    assert.equal(findToolchain(), undefined);
    await installRelease({ url, sha256 });
    const root = join(toolchain, "emscripten");
    assert.deepEqual(findToolchain(), { root, version: "6.0.5", source: "emsdk 6.0.5" });
    const configuration = await readFile(join(root, ".emscripten"), "utf8");
    assert.ok(configuration.includes(`LLVM_ROOT = "${join(toolchain, "install", "bin")}"`), configuration);
    await installRelease({ url, sha256 }); // replaces what is there
    assert.equal(findToolchain().version, "6.0.5");
  });
});

test("works in a checkout that was moved or copied", { skip: onWindows }, async () => {
  await withRelease(async ({ url, sha256, folder, installRelease }) => {
    await installRelease({ url, sha256 });
    const copy = join(folder, "copy");
    await cp(join(folder, "checkout"), copy, { recursive: true, verbatimSymlinks: true });
    const { placeRelease } = await import(join(copy, "scripts", "setup", "emsdk.mjs"));
    const { findToolchain, movedToolchain } = await import(join(copy, "scripts", "setup", "toolchain.mjs"));
    assert.deepEqual([findToolchain(), movedToolchain()], [undefined, "emsdk 6.0.5"]);
    placeRelease();
    assert.equal(movedToolchain(), undefined);
    assert.equal(findToolchain().root, join(copy, ".toolchain", "emscripten"));
    const configuration = await readFile(join(copy, ".toolchain", "emscripten", ".emscripten"), "utf8");
    assert.ok(!configuration.includes(join(folder, "checkout")), configuration);
  });
});

test("a .toolchain/ that is a link to another checkout's is used as it is", { skip: onWindows }, async () => {
  await withRelease(async ({ url, sha256, folder, toolchain, installRelease }) => {
    await installRelease({ url, sha256 });
    const linked = join(folder, "linked");
    await cp(scripts, join(linked, "scripts"), { recursive: true });
    await symlink(toolchain, join(linked, ".toolchain"));
    const { findToolchain, movedToolchain } = await import(join(linked, "scripts", "setup", "toolchain.mjs"));
    assert.equal(movedToolchain(), undefined);
    assert.equal(findToolchain().version, "6.0.5");
  });
});

test("rejects a wrong checksum, a missing file and an old version", { skip: onWindows }, async () => {
  await withRelease(async ({ url, sha256, installRelease, findToolchain }) => {
    const wrong = sha256.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
    await assert.rejects(installRelease({ url, sha256: wrong }), new RegExp(`has SHA-256 ${sha256}, not the pinned`));
    await assert.rejects(installRelease({ url: `${url}/absent`, sha256 }), /status 404/);
    assert.equal(findToolchain(), undefined);
  });
  await withRelease(
    async ({ url, sha256, installRelease, findToolchain }) => {
      await assert.rejects(installRelease({ url, sha256 }), /has Emscripten 3\.1\.6, not 4\.0\.12/);
      assert.equal(findToolchain(), undefined);
    },
    { version: "3.1.6" },
  );
});

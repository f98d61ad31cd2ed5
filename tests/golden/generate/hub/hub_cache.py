"""hub_cache.json: the folder that huggingface_hub leaves after it has downloaded a repository, and what it finds in one.

A small server answers as the Hub does. The repository is the one in tests/unit/files/hub_disk.test.mjs, which compares the folder that
Ropewalk leaves. Run it by itself: python tests/golden/generate/hub/hub_cache.py

With the path of such a folder, it checks instead that huggingface_hub finds the repository's files there without a network:
python tests/golden/generate/hub/hub_cache.py <folder>
"""

import hashlib
import json
import os
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

REPOSITORY = "org/tiny"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "README.md": b"# A model\n",
    "config.json": b'{"model_type": "llama"}\n',
    "sub/weights.gguf": bytes(range(256)) * 16,
}


def etag_of(path, content):
    if path.endswith(".gguf"):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.split("?")[0]
        if path.startswith("/api/models/"):
            siblings = [{"rfilename": name} for name in FILES]
            return self.answer(json.dumps({"id": REPOSITORY, "sha": COMMIT, "siblings": siblings}).encode(), {})
        name = path.split("/resolve/")[-1].split("/", 1)[-1]
        if name not in FILES:
            return self.send_error(404)
        content = FILES[name]
        etag = etag_of(name, content)
        linked = {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(content))} if name.endswith(".gguf") else {}
        self.answer(content, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT, **linked})

    def answer(self, content, headers):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def tree_of(folder):
    """What a folder contains: the target of each link, the text of refs, and the SHA-256 of blobs."""
    tree = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            tree[name] = {"link": os.readlink(path)}
        elif path.is_file() and name.startswith("models--"):
            tree[name] = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    return {name: entry for name, entry in tree.items() if not name.startswith(".")}


def check(folder):
    from huggingface_hub import scan_cache_dir, snapshot_download, try_to_load_from_cache

    for name, content in FILES.items():
        found = try_to_load_from_cache(REPOSITORY, name, cache_dir=folder)
        assert isinstance(found, str) and Path(found).read_bytes() == content, name
    snapshot_download(REPOSITORY, cache_dir=folder, local_files_only=True)
    scanned = scan_cache_dir(folder)
    assert not scanned.warnings, scanned.warnings
    [repository] = scanned.repos
    [revision] = repository.revisions
    assert (repository.repo_id, revision.commit_hash, set(revision.refs)) == (REPOSITORY, COMMIT, {"main"})
    assert {file.file_name for file in revision.files} == {Path(name).name for name in FILES}
    print(f"huggingface_hub {version('huggingface_hub')} finds {len(FILES)} files of {REPOSITORY}")


def main():
    if len(sys.argv) > 1:
        return check(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ.update(HF_ENDPOINT=f"http://127.0.0.1:{server.server_address[1]}", HF_HUB_DISABLE_XET="1")
    from huggingface_hub import hf_hub_download

    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            hf_hub_download(REPOSITORY, name, cache_dir=folder)
        golden = {
            "made_with": f"huggingface_hub {version('huggingface_hub')}",
            "repository": REPOSITORY,
            "commit": COMMIT,
            "files": {name: content.hex() for name, content in FILES.items()},
            "tree": tree_of(Path(folder)),
        }
    target = Path(__file__).parents[2] / "hub_cache.json"
    target.write_text(json.dumps(golden, indent=2) + "\n")


main()

# SPDX-License-Identifier: Apache-2.0
"""`kymo agent` with a store of other authors: versitygw, whose folder is looked into. It is built from its
Go module, which takes minutes, so this is for `make store` and not among the tests of `make test`.
KYMO_TEST_AWAY says for how many seconds the store is away.
"""
import io
import os
import shutil
import socket
import subprocess
import time
import zipfile

import kymotest
from agent_s3 import AWAY_S, KEY, SECRET, Run, keys
from kymotest import BUILD, case, check, folder, main, say, skip, wait_until

kymotest.cases.clear()  # those of agent_s3

MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
BUCKET = "profiles"


def built():
    """The program, in the build's folder from the first time on."""
    path = BUILD / "tests" / "versitygw"
    if not path.exists():
        if not shutil.which("go"):
            skip("go is not installed")
        say(f"builds {MODULE}")
        done = subprocess.run(["go", "install", MODULE], env={**os.environ, "GOBIN": str(path.parent)},
                              capture_output=True, text=True)
        if done.returncode != 0:
            skip(f"it cannot be built: {done.stderr.strip()[-500:]}")
    return path


class Gateway:
    """A store whose objects are files; it can go and come back."""

    def __init__(self, region="us-east-1"):
        self.program, self.region = built(), region
        self.place, self.where = folder(), folder()
        (self.place / BUCKET).mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = None
        self.begin()

    def begin(self):
        with open(self.where / "said", "ab") as said:
            # What it keeps of objects beside their content: not every file system of a test has attributes.
            side = self.where / "side"
            side.mkdir(exist_ok=True)
            self.process = subprocess.Popen(
                [self.program, "--access", "AKIDTEST", "--secret", SECRET, "--region", self.region, "--port",
                 f"127.0.0.1:{self.port}", "posix", "--sidecar", side, self.place], stdout=said, stderr=said,
                start_new_session=True)
        wait_until("an answer of the store", self.answers)

    def answers(self):
        check(self.process.poll() is None, f"the store has ended: {(self.where / 'said').read_text()[-1000:]}")
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def end(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def target(self, *options, bucket=BUCKET):
        return f"s3://{bucket}/team/a b=c?" + "&".join((f"endpoint=http://127.0.0.1:{self.port}", "timeout=5s",
                                                       *options))

    def objects(self):
        """Number: the profiles in its objects."""
        found = {}
        for path in (self.place / BUCKET).rglob("*.zip"):
            key = str(path.relative_to(self.place / BUCKET))
            match = KEY.match(key.removeprefix("team/a b=c/"))
            check(match, f"the key {key}")
            with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
                check(archive.testzip() is None, "a broken zip file")
                found.setdefault(int(match.group(5)), []).append(archive.read("async_profiler_dump_0.jfr"))
        return found


def check_arrived(store, done):
    """Each profile once, and as the local reporter has it."""
    found = store.objects()
    check(found == {number: [content] for number, content in done.local.items()},
          f"{sorted(found)} arrived of {sorted(done.local)}, or other contents")
    say(f"{len(found)} profiles")


@case
def stored():
    with Gateway(region="eu-central-1") as store:
        check_arrived(store, Run(store.target("region=eu-central-1"), env=keys()))


@case
def refusals():
    """What is wrong is said, and nothing is stored."""
    with Gateway() as store:
        for env, text in (keys(secret=SECRET + "x"), "SignatureDoesNotMatch: the secret key is another"), \
                (keys(access="AKIDOTHER"), "XAdminUserNotFound"):  # its own name for an unknown access key
            done = Run(store.target(), env=env, deadline="500ms")
            check(text in done.said and not store.objects(), done.said)
        done = Run(store.target(bucket="others"), env=keys(), deadline="500ms")
        check("NoSuchBucket: there is no such bucket" in done.said and not store.objects(), done.said)


@case
def region():
    """Signed for another region than the store's at first: the agent learns from its answer which it is."""
    with Gateway(region="eu-central-1") as store:
        check_arrived(store, Run(store.target("region=us-west-1"), env=keys()))


@case
def away():
    """The store goes while profiles are made, and comes back."""
    with Gateway() as store:
        def meanwhile():
            wait_until("some are stored", lambda: len(store.objects()) >= 2)
            store.end()
            time.sleep(AWAY_S)
            store.begin()
        # The program may end before the store is back.
        done = Run(store.target(), "--report=1s", env=keys(), rounds=int(min(AWAY_S, 400) * 35) + 200,
                   meanwhile=meanwhile, deadline=f"{AWAY_S + 120:.0f}s")
        check("onnect" in done.said, done.said)
        check_arrived(store, done)


if __name__ == "__main__":
    main()

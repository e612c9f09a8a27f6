# SPDX-License-Identifier: Apache-2.0
"""`kymo agent` with reporters on the network: a store that verifies signatures, an HTTP server, and
the services of a cloud. Whatever fails on the way, each profile arrives, and once.

What should arrive is what a local reporter beside the other wrote.
"""
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import ssl
import sys
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from agents import environment
from kymotest import BUILD, KYMO, WORKLOADS, Running, case, check, folder, main, run, say, skip, wait_until
from servers.cloud import INSTANCE, TASK, Cloud
from servers.http_stub import Stub
from servers.s3_store import Store

MODULE = BUILD / "src" / "remote" / "libkymo-remote.so"
SECRET = "SECRET/with+chars="
TOKEN = "TOKEN-of-a-file"
# For how long a store is away, in s; `make store` says 300.
AWAY_S = float(os.environ.get("KYMO_TEST_AWAY", "1"))
KEY = re.compile(r"profile_(.*)_((?:ec2|ecs|onprem|unknown)_.*_)_(\d+)_"
                 r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)-(\d+)-[0-9a-f]{8}\.zip$")


def keys(access="AKIDTEST", secret=SECRET, **more):
    return environment(AWS_ACCESS_KEY_ID=access, AWS_SECRET_ACCESS_KEY=secret, **more)


def program(rounds):
    return [WORKLOADS / "intervals", str(rounds), "20"]


class Run:
    """The agent with one more reporter, to its end; what the local one wrote, by number."""

    def __init__(self, target, *options, env, rounds=40, deadline="60s", meanwhile=lambda: None, form="jfr"):
        if not MODULE.exists():
            skip("built without libcurl or libzip")
        place = folder() / "profiles"
        running = Running([KYMO, "agent", "--report=200ms", f"--deadline={deadline}",
                           f"--reporter=local:{place}", f"--format={form}",
                           f"--reporter={target}", f"--format={form}", *options, "--", *program(rounds)], env=env)
        meanwhile()
        result = running.finish()
        self.said = result.stderr
        check("by signal" not in self.said, f"a delivery crashed: {self.said}")
        check(result.status == 0, f"status {result.status}: {result.stderr}")
        check(json.loads(result.stdout)["rounds"] == rounds, "the program did not do its work")
        self.local = {int(re.search(r"Z\.(\d+)\.", p.name).group(1)): p.read_bytes()
                      for p in place.iterdir() if not p.name.startswith(".")}
        check(len(self.local) >= 3, f"only {len(self.local)} profiles")
        for secret in (SECRET, TOKEN, "unseen-word"):
            check(secret not in self.said, f"a secret in {self.said}")
            check(not any(secret.encode() in content for content in self.local.values()), "a secret in a profile")


def s3(store, *options, prefix="team/a b=c"):
    return f"s3://{store.bucket}/{prefix}?" + "&".join((f"endpoint={store.url}", "timeout=2s", *options))


def check_arrived(store, done, prefix="team/a b=c/"):
    """Each profile is in one object; one that was sent twice replaced itself."""
    numbers = {}
    for key, stored in store.objects.items():
        check(key.startswith(prefix), f"the key {key}")
        match = KEY.match(key[len(prefix):])
        check(match, f"the key {key}")
        check(int(match.group(5)) not in numbers, f"{match.group(5)} is in two objects")
        check(len({body for body, _ in stored}) == 1, f"{key} was sent with different contents")
        numbers[int(match.group(5))] = stored[0]
    check(set(numbers) == set(done.local), f"{sorted(numbers)} arrived of {sorted(done.local)}")
    for number, (body, headers) in numbers.items():
        check(headers["Content-Type"] == "application/zip", str(headers))
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            check(archive.testzip() is None, "a broken zip file")
            check(archive.namelist() == ["async_profiler_dump_0.jfr", "metadata.json"], archive.namelist())
            check(archive.read("async_profiler_dump_0.jfr") == done.local[number], f"profile {number} is another")
            metadata = json.loads(archive.read("metadata.json"))
        check(list(metadata)[:3] == ["start", "end", "reporting_interval"], metadata)
        check(metadata["reporting_interval"] == 200 and metadata["start"] <= metadata["end"], metadata)
        check(metadata["number"] == number and metadata["program"] == "intervals", metadata)
    say(f"{len(numbers)} profiles, {sum(map(len, store.objects.values()))} PUTs, refused: {sorted(set(store.codes))}")
    return metadata


def first_tries(*faults):
    """The first try of each key fails, by turns as faults say."""
    seen, turns = set(), list(faults)

    def fault(request):
        if request.target in seen:
            return None
        seen.add(request.target)
        turns.append(turns.pop(0))
        return turns[-1]
    return fault


# ---- the store ----

@case
def signed():
    """What is signed rightly is stored, as the Rust agent would call it."""
    with Store() as store:
        done = Run(s3(store, "owner=123456789012", "group=a%20group"), "--label=team=it's", "--metadata=none",
                   env=keys())
        metadata = check_arrived(store, done)
    check(metadata["metadata"] == {"team": "it's"}, metadata)
    for key, stored in store.objects.items():
        check("/profile_a group_unknown___" in key, key)
        check(stored[0][1]["x-amz-expected-bucket-owner"] == "123456789012", "the owner is missing")
        check("Expect" not in stored[0][1], "it waits for a 100 Continue")


@case
def virtual():
    """The bucket in the host's name; *.localhost is this machine. The settings of AWS's tools."""
    with Store(region="eu-central-1", token="SESSION/token==") as store:
        done = Run("s3://profiles?style=virtual&timeout=2s", env=keys(
            AWS_SESSION_TOKEN="SESSION/token==", AWS_REGION="eu-central-1",
            AWS_ENDPOINT_URL=f"http://localhost:{store.port}"))
        check_arrived(store, done, prefix="")
        check(all(r.headers["Host"] == f"profiles.localhost:{store.port}" for r in store.stub.requests), "Host")


@case
def faults():
    """Errors, resets, lost answers, stalls: each profile arrives once."""
    with Store() as store:
        store.stub.fault = first_tries(500, "reset", "lose", "stall", 503)
        done = Run(s3(store), env=keys())
        check_arrived(store, done)


@case
def away():
    """A store that is not there at first."""
    with Store() as store:
        port = store.port
    back = contextlib.ExitStack()
    with back:
        def meanwhile():
            time.sleep(AWAY_S)
            nonlocal store
            store = back.enter_context(Store(port=port))
        # The program ends before the store is back.
        done = Run(s3(store), env=keys(), meanwhile=meanwhile, deadline=f"{AWAY_S + 90:.0f}s")
        check("refused" in done.said or "connect" in done.said.lower(), done.said)
        check_arrived(store, done)


def refused(code, env, *options, **of_store):
    """Nothing is stored; the program and other reporters do not notice, and a line says why."""
    with Store(**of_store) as store:
        done = Run(s3(store, *options), env=env, deadline="500ms")
        check(not store.objects, "it was stored")
        check(set(store.codes) == {code}, store.codes)
        check("answers 4" in done.said and code in done.said, done.said)
        check("endpoint=" not in done.said, f"a query in the log: {done.said}")
    return done


@case
def refusals():
    refused("SignatureDoesNotMatch", keys(secret=SECRET + "x"))
    refused("InvalidAccessKeyId", keys(access="AKIDOTHER"))
    refused("InvalidToken", keys(), token="SESSION")
    with Store() as store:
        done = Run(s3(store).replace("s3://profiles", "s3://others"), env=keys(), deadline="500ms")
        check(set(store.codes) == {"NoSuchBucket"} and not store.objects, store.codes)
        done = Run(s3(store), env=environment(), deadline="500ms")
        check("no credentials for AWS" in done.said, done.said)


@case
def mended():
    """A key that is replaced while the program runs: what was refused arrives."""
    with Store() as store:
        env = environment()
        file = pathlib.Path(env["HOME"]) / ".aws" / "credentials"
        file.parent.mkdir()
        text = "[default]\naws_access_key_id = AKIDTEST\naws_secret_access_key = {}\n"
        file.write_text(text.format("unseen-word"))

        def meanwhile():
            wait_until("refused", lambda: store.codes)
            file.write_text(text.format(SECRET))
        done = Run(s3(store), env=env, rounds=80, meanwhile=meanwhile)
        check("SignatureDoesNotMatch" in store.codes, store.codes)
        check_arrived(store, done)


@case
def expired():
    """Keys of an instance that expire before and while the program runs: new ones are asked for, and what was
    refused arrives."""
    old, new = ("AKIDTEST", SECRET, "SESSION/old=="), ("AKIDTEST", SECRET, "SESSION/new==")
    with Cloud(key=old) as cloud, Store(token=new[2]) as store:
        store.expired = {old[2]}

        def meanwhile():
            wait_until("refused", lambda: store.codes)
            cloud.key = new
            wait_until("stored", lambda: store.objects)
            newest = new[:2] + ("SESSION/newest==",)
            store.expired, store.token, cloud.key = {old[2], new[2]}, newest[2], newest
        done = Run(s3(store), env=environment(AWS_EC2_METADATA_DISABLED="false",
                                              AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url),
                   rounds=80, meanwhile=meanwhile)
        check("ExpiredToken: the credentials have expired" in done.said, done.said)
        check_arrived(store, done)
        tokens = {headers["x-amz-security-token"] for stored in store.objects.values() for _, headers in stored}
        check(tokens == {new[2], "SESSION/newest=="}, tokens)


@case
def skew():
    """A clock that is an hour wrong: the store's time is taken."""
    for skew_s in (3600, -3600):
        with Store(skew_s=skew_s) as store:
            done = Run(s3(store), env=keys())
            check("RequestTimeTooSkewed" in store.codes, store.codes)
            check_arrived(store, done)


@case
def elsewhere():
    """A bucket of another region than the machine's, or than the one that was given."""
    for option in ((), ("region=us-west-1",)):
        with Cloud() as cloud, Store(region="ap-south-1") as store:
            done = Run(s3(store, *option), env=keys(AWS_EC2_METADATA_DISABLED="false",
                                                    AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url))
            check("AuthorizationHeaderMalformed" in store.codes, store.codes)
            check_arrived(store, done)


@case
def region_not_told():
    """A store that does not say where the bucket is: the line says what is wrong."""
    with Store(region="ap-south-1") as store:
        store.tells_region = False
        done = Run(s3(store, "region=us-west-1"), env=keys(), deadline="500ms")
        check(set(store.codes) == {"AuthorizationHeaderMalformed"} and not store.objects, store.codes)
        check("AuthorizationHeaderMalformed: the bucket is not in region=us-west-1" in done.said,
              done.said)


@case
def other_format():
    with Store() as store:
        done = Run(s3(store), env=keys(), form="kymo")
        check(len(store.objects) == len(done.local), "not all arrived")
        for stored in store.objects.values():
            with zipfile.ZipFile(io.BytesIO(stored[0][0])) as archive:
                check(archive.namelist() == ["profile.kymo", "metadata.json"], archive.namelist())
                check(archive.read("profile.kymo") in done.local.values(), "another profile")


# ---- the cloud ----

@case
def instance():
    """On EC2 the instance has the keys, says the region, and is in the name."""
    with Cloud() as cloud, Store(region="eu-west-1", token=cloud.key[2]) as store:
        done = Run(s3(store), env=environment(AWS_EC2_METADATA_DISABLED="false",
                                              AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url + "/"))
        metadata = check_arrived(store, done)["metadata"]
    check(all(f"_ec2_{INSTANCE['instanceId']}__" in key for key in store.objects), list(store.objects))
    check(metadata["host.type"] == "c5.4xlarge" and metadata["cloud.platform"] == "aws_ec2", metadata)


@case
def task():
    """On ECS the task has; its service of keys wants a token from a file. A label replaces what was found."""
    with Cloud(authorization="Basic " + TOKEN) as cloud, Store(region="us-west-2", token=cloud.key[2]) as store:
        file = folder() / "token"
        file.write_text(f"Basic {TOKEN}\n")
        done = Run(s3(store), "--label=aws.ecs.task.family=mine", env=environment(
            ECS_CONTAINER_METADATA_URI_V4=cloud.url + "/v4/container",
            AWS_CONTAINER_CREDENTIALS_FULL_URI=cloud.url + "/keys",
            AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=file, AWS_EC2_METADATA_DISABLED="false",
            AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url,
            OTEL_SERVICE_NAME="shop", OTEL_RESOURCE_ATTRIBUTES="a.b=c%2Cd"))
        metadata = check_arrived(store, done)["metadata"]
        # ECS alone was asked.
        check({r.target for r in cloud.requests} == {"/v4/container/task", "/keys"}, "more was asked")
        check(sum(r.target == "/v4/container/task" for r in cloud.requests) == 1, "it was asked more than once")
    arn = re.sub("[/_]", "-", TASK["TaskARN"])
    check(all(f"_ecs_{arn}__" in key for key in store.objects), list(store.objects))
    for name, value in {"aws.ecs.limits.cpu": "0.25", "aws.ecs.task.family": "mine", "service.name": "shop",
                        "a.b": "c,d", "cloud.region": "us-west-2"}.items():
        check(metadata.get(name) == value, metadata)


@case
def no_cloud():
    """Services that are not there, hang or answer nonsense delay profiles, and lose none."""
    for fault in ("stall", 404, "reset"):
        with Cloud() as cloud, Store() as store:
            cloud.fault = lambda request, fault=fault: fault
            done = Run(s3(store), env=keys(AWS_EC2_METADATA_DISABLED="false",
                                           AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url))
            check(len(cloud.requests) == 1, f"{len(cloud.requests)} requests")
            check_arrived(store, done)
            check(all("_onprem___" in key for key in store.objects), list(store.objects))


@case
def nothing_is_asked():
    """A local reporter alone, or metadata=none, causes no request."""
    with Cloud() as cloud:
        env = keys(AWS_EC2_METADATA_DISABLED="false", AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url,
                   ECS_CONTAINER_METADATA_URI_V4=cloud.url + "/v4/container")
        place = folder() / "profiles"
        result = run([KYMO, "agent", "--report=200ms", f"--reporter=local:{place}", "--", *program(20)], env=env)
        check(result.status == 0, result.stderr)
        with Store() as store:
            done = Run(s3(store), "--metadata=none", env=env)
            check_arrived(store, done)
        check(not cloud.requests, "it was asked")


# ---- HTTP servers ----

def received(stub):
    return {int(r.headers["X-Kymo-Number"]): r for r in stub.got}


def http_server(context=None):
    """One that takes everything; got: the requests that it took."""
    def serve(request):
        stub.got.append(request)
        return 204, {}, b""
    stub = Stub(serve, context=context)
    stub.got = []
    return stub


@case
def put():
    """A PUT for each profile, with a token from a file and its name in a folder."""
    token = folder() / "token"
    token.write_text(TOKEN + "\n")
    with http_server() as stub:
        stub.fault = first_tries(500, "reset", "lose", 429, 408)
        done = Run(f"http://127.0.0.1:{stub.port}/in/?x=unseen-word&token-file={token}", "--label=a=b c",
                   "--metadata=none", env=environment(), form="pprof")
        got = received(stub)
        check(set(got) == set(done.local), f"{sorted(got)} of {sorted(done.local)}")
        for number, request in got.items():
            check(request.method == "PUT" and request.body == done.local[number], f"profile {number} is another")
            check(re.match(rf"/in/intervals\.\S+\.{number}\.pb\.gz\?x=unseen-word$", request.target), request.target)
            check(request.headers["Authorization"] == f"Bearer {TOKEN}", "no token")
            check(request.headers["Content-Type"] == "application/gzip", request.headers["Content-Type"])
            check(request.headers["X-Kymo-Program"] == "intervals" and request.headers["X-Kymo-Label"] == "a=b%20c",
                  str(request.headers))
            check(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", request.headers["X-Kymo-End"]), "X-Kymo-End")


@case
def post():
    with http_server() as stub:
        done = Run(f"http://127.0.0.1:{stub.port}/in?method=POST", env=environment())
        check({r.method for r in stub.got} == {"POST"} and {r.target for r in stub.got} == {"/in"}, "not as asked for")
        check(set(received(stub)) == set(done.local), "not all arrived")


@case
def refused_for_good():
    """After 4xx a profile is dropped, and counted; a redirect is not followed, nor its token sent."""
    token = folder() / "token"
    token.write_text(TOKEN)
    with http_server() as stub, http_server() as other:
        stub.fault = lambda request: 403 if request.headers["X-Kymo-Number"] == "1" else None
        done = Run(f"http://127.0.0.1:{stub.port}/in", env=environment())
        check(set(received(stub)) == set(done.local) - {1}, "the wrong ones arrived")
        check(sum(r.headers["X-Kymo-Number"] == "1" for r in stub.requests) == 1, "it was tried again")
        check("answers 403; this profile is dropped" in done.said and "1 dropped" in done.said, done.said)
        stub.fault = lambda request: None
        stub.serve = lambda request: (307, {"Location": f"http://127.0.0.1:{other.port}/"}, b"")
        done = Run(f"http://127.0.0.1:{stub.port}/in?token-file={token}", env=environment(), deadline="500ms")
        check("a redirect" in done.said and not other.requests, done.said)


@case
def tls():
    """A certificate that is not known is refused; one that CURL_CA_BUNDLE names is not."""
    if not shutil.which("openssl"):
        skip("no openssl")
    where = folder()
    made = run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost", "-keyout", where / "key", "-out", where / "cert"])
    check(made.status == 0, made.stderr)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(where / "cert", where / "key")
    with http_server(context) as stub:
        done = Run(f"https://localhost:{stub.port}/in", env=environment(), deadline="500ms")
        check(not stub.got and "ertificate" in done.said, done.said)
        for variable in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            stub.got.clear()
            done = Run(f"https://localhost:{stub.port}/in", env=environment(**{variable: where / "cert"}))
            check(set(received(stub)) == set(done.local), "not all arrived")
        # It is for localhost, and for no other name of this machine.
        stub.got.clear()
        done = Run(f"https://127.0.0.1:{stub.port}/in", env=environment(CURL_CA_BUNDLE=where / "cert"),
                   deadline="500ms")
        check(not stub.got, "another host's certificate was taken")


@case
def proxy():
    """A proxy of the environment is used for stores, and not for services of the machine."""
    with http_server() as stub, Cloud() as cloud:
        Run("http://store.invalid/in", env=environment(
            http_proxy=f"http://127.0.0.1:{stub.port}", AWS_EC2_METADATA_DISABLED="false",
            AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url))
        check(stub.got and all(r.target == "http://store.invalid/in" for r in stub.got), "the proxy was not asked")
        check(len(cloud.requests) == 2, "the machine was asked by the proxy")


@case
def wrong_targets():
    """They are errors of the command line, before the program runs, and show no secret."""
    for target, why in (("s3://", "names no bucket"), ("s3://bucket?x=1", "no option 'x'"),
                        ("https://me:unseen-word@host/", "token-file="), ("http://host:x/", "a port"),
                        ("ftp://me:unseen-word@host/?unseen-word", "it takes local:DIR")):
        result = run([KYMO, "agent", f"--reporter={target}", "--", "echo", "it ran"], env=environment())
        check(result.status == 2 and why in result.stderr and not result.stdout, f"{target}: {result.stderr}")
        check("unseen-word" not in result.stderr, result.stderr)


if __name__ == "__main__":
    main()

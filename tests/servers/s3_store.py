# SPDX-License-Identifier: Apache-2.0
"""A store with the protocol of Amazon S3, as far as PUT goes, that verifies each request: it signs
what it got by Signature Version 4 itself, from the raw request, and compares.

Written from the protocol's description, without a look at src/remote/: the two must not share a
mistake.
"""
import email.utils
import hashlib
import hmac
import re
import time
import urllib.parse

from .http_stub import Stub

AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
                           r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$")
MOST_SKEW_S = 15 * 60


class Refused(Exception):
    def __init__(self, status, code, more=""):
        super().__init__(code)
        self.status = status
        self.body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message>{more}</Error>".encode()


class Store:
    """objects: key -> list of the bodies that were stored there, with the headers."""

    def __init__(self, access="AKIDTEST", secret="SECRET/with+chars=", region="us-east-1", token=None,
                 bucket="profiles", skew_s=0, port=0, context=None):
        self.access, self.secret, self.region, self.token = access, secret, region, token
        self.bucket = bucket
        self.skew_s = skew_s
        self.expired = set()  # tokens
        self.tells_region = True
        self.objects = {}
        self.codes = []  # of what was refused
        self.stub = Stub(self.serve, port, context)
        self.stub.date = lambda: email.utils.formatdate(self.now(), usegmt=True)
        self.port = self.stub.port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stub.__exit__()

    def now(self):
        return time.time() + self.skew_s

    def serve(self, request):
        try:
            self.verify(request)
            key = self.key_of(request)
        except Refused as why:
            self.codes.append(str(why))
            return why.status, {"Content-Type": "application/xml"}, why.body
        if request.method != "PUT":
            return 405, {}, b""
        self.objects.setdefault(key, []).append((request.body, request.headers))
        return 200, {"ETag": '"' + hashlib.md5(request.body).hexdigest() + '"'}, b""

    def key_of(self, request):
        """By path, or by a host that begins with the bucket's name."""
        path = urllib.parse.unquote(request.target.partition("?")[0])
        if request.headers["Host"].startswith(self.bucket + "."):
            return path[1:]
        _, bucket, key = path.split("/", 2)
        if bucket != self.bucket:
            raise Refused(404, "NoSuchBucket")
        return key

    def verify(self, request):
        headers = {name.lower(): " ".join(value.split()) for name, value in request.headers.items()}
        if len(headers) != len(request.headers.items()):
            raise Refused(400, "InvalidRequest")
        match = AUTHORIZATION.match(headers.get("authorization", ""))
        if not match:
            raise Refused(403, "AccessDenied")
        access, day, region, names, signature = match.groups()
        if access != self.access:
            raise Refused(403, "InvalidAccessKeyId")
        if region != self.region:
            raise Refused(400, "AuthorizationHeaderMalformed",
                          f"<Region>{self.region}</Region>" if self.tells_region else "")
        date = headers.get("x-amz-date", "")
        if not re.match(r"\d{8}T\d{6}Z$", date) or date[:8] != day:
            raise Refused(403, "AccessDenied")
        sent = time.mktime(time.strptime(date, "%Y%m%dT%H%M%SZ")) - time.timezone
        if abs(sent - self.now()) > MOST_SKEW_S:
            raise Refused(403, "RequestTimeTooSkewed")
        if headers.get("x-amz-content-sha256") != hashlib.sha256(request.body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch")
        if headers.get("x-amz-security-token") in self.expired:
            raise Refused(400, "ExpiredToken")
        if self.token and headers.get("x-amz-security-token") != self.token:
            raise Refused(400, "InvalidToken")
        signed = names.split(";")
        if signed != sorted(signed) or "host" not in signed:
            raise Refused(403, "AccessDenied")
        if any(name.startswith("x-amz-") and name not in signed for name in headers):
            raise Refused(403, "AccessDenied")
        if self.sign(request, headers, signed, date) != signature:
            raise Refused(403, "SignatureDoesNotMatch")

    def sign(self, request, headers, signed, date):
        path, _, query = request.target.partition("?")
        canonical = "\n".join([
            request.method,
            urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"),
            "&".join(sorted(part if "=" in part else part + "=" for part in query.split("&") if part)),
            *(f"{name}:{headers[name]}" for name in signed),
            "",
            ";".join(signed),
            headers["x-amz-content-sha256"],
        ])
        scope = f"{date[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("AWS4" + self.secret).encode()
        for word in (*scope.split("/"), text):
            key = hmac.new(key, word.encode(), hashlib.sha256).digest()
        return key.hex()

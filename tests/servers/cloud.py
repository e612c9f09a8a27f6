# SPDX-License-Identifier: Apache-2.0
"""The services that a machine of a cloud has: EC2's instance metadata, version 2, and those of ECS:
task metadata, version 4, and credentials."""
import json
import secrets

from .http_stub import Stub

INSTANCE = {"accountId": "123456789012", "architecture": "x86_64", "availabilityZone": "eu-west-1b",
            "billingProducts": None, "imageId": "ami-052d4b310b0a459ff",
            "instanceId": "i-092eba08c089f6325", "instanceType": "c5.4xlarge", "region": "eu-west-1",
            "pendingTime": "2026-03-20T16:41:24Z", "version": "2017-09-30"}
TASK = {"Cluster": "arn:aws:ecs:us-west-2:123456789012:cluster/default",
        "TaskARN": "arn:aws:ecs:us-west-2:123456789012:task/default/158d1c8083dd49d6b527399fd6414f5c",
        "Family": "shop", "Revision": "26", "DesiredStatus": "RUNNING", "KnownStatus": "RUNNING",
        "Limits": {"CPU": 0.25, "Memory": 512}, "LaunchType": "FARGATE", "AvailabilityZone": "us-west-2a",
        "Containers": [{"DockerId": "abc-1", "Name": "app", "Image": "app:latest"}]}
ROLE = "a-role"
ROLES = "/latest/meta-data/iam/security-credentials/"


class Cloud(Stub):
    """key: access key, secret key and session token that it gives. authorization: what the service of
    a container's credentials wants to be sent; None: nothing."""

    def __init__(self, key=("AKIDTEST", "SECRET/with+chars=", "SESSION/token=="), authorization=None):
        self.key = key
        self.authorization = authorization
        self.tokens = set()
        super().__init__(self.answer_to)
        self.url = f"http://127.0.0.1:{self.port}"

    def credentials(self):
        return {"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": self.key[0],
                "SecretAccessKey": self.key[1], "Token": self.key[2], "Expiration": "2099-01-01T00:00:00Z"}

    def answer_to(self, request):
        if request.target == "/latest/api/token":
            ttl = request.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
            if request.method != "PUT" or not ttl.isdigit() or not 1 <= int(ttl) <= 21600:
                return 400, {}, b""
            # A request that came by a proxy.
            if "X-Forwarded-For" in request.headers:
                return 403, {}, b""
            token = secrets.token_urlsafe(40)
            self.tokens.add(token)
            return 200, {}, token.encode()
        if request.target.startswith("/latest/"):
            if request.headers.get("X-aws-ec2-metadata-token") not in self.tokens:
                return 401, {}, b""
            if request.target == ROLES:
                return 200, {}, ROLE.encode()
            answers = {"/latest/dynamic/instance-identity/document": INSTANCE, ROLES + ROLE: self.credentials()}
        elif request.target == "/keys":
            if self.authorization and request.headers.get("Authorization") != self.authorization:
                return 401, {}, b""
            answers = {"/keys": self.credentials()}
        else:
            answers = {"/v4/container/task": TASK}
        found = answers.get(request.target)
        if found is None:
            return 404, {}, b""
        return 200, {"Content-Type": "application/json"}, json.dumps(found).encode()

"""Starts a function's `bootstrap` in the Lambda runtime interface emulator and checks its answers to events.

No AWS is there: every call of an AWS service meets a closed port. What needs none must work, what needs one must
fail as Lambda expects it.
"""

import argparse
import json
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

EVENTS = Path(__file__).parent / "events"
START_SECONDS_MAX = 20
ANSWER_SECONDS_MAX = 60

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_REGION": "us-east-1",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "AWS_MAX_ATTEMPTS": "1",
    "AWS_LAMBDA_FUNCTION_TIMEOUT": "60",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
    "RETROSPECT_TABLE": "table",
    "RETROSPECT_BUCKET": "bucket",
    "RETROSPECT_KMS_KEY": "key",
    "RETROSPECT_LEARN_QUEUE_URL": "http://127.0.0.1:9/000000000000/learn.fifo",
    "RETROSPECT_AGGREGATE_QUEUE_URL": "http://127.0.0.1:9/000000000000/aggregate.fifo",
    "RETROSPECT_OPERATE_QUEUE_URL": "http://127.0.0.1:9/000000000000/operate.fifo",
    "RETROSPECT_EVALUATE_QUEUE_ARN": "arn:aws:sqs:us-east-1:000000000000:evaluate.fifo",
    "RETROSPECT_SCHEDULER_ROLE_ARN": "arn:aws:iam::000000000000:role/scheduler",
    "RETROSPECT_EVALUATE_QUEUE_URL": "http://127.0.0.1:9/000000000000/evaluate.fifo",
    "PATH": os.environ["PATH"],
}


def emulator() -> Path:
    """The emulator that the package aws-sam-cli brings along."""
    import samcli

    machine = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    return Path(samcli.__file__).parent / "local" / "rapid" / f"aws-lambda-rie-{machine}"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Function:
    """A function in its emulator. Ends both on leaving the `with` block."""

    def __init__(self, bootstrap: Path):
        self.bootstrap = bootstrap
        self.port = free_port()
        self.log = tempfile.TemporaryFile()

    def __enter__(self):
        command = [
            emulator(),
            "--runtime-interface-emulator-address", f"127.0.0.1:{self.port}",
            "--runtime-api-address", f"127.0.0.1:{free_port()}",
            self.bootstrap.resolve(),
        ]
        self.process = subprocess.Popen(command, env=ENVIRONMENT, stdout=self.log, stderr=subprocess.STDOUT)
        until = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.05)
        raise SystemExit(f"the emulator does not listen after {START_SECONDS_MAX} s:\n{self.read_log()}")

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def read_log(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def invoke(self, event: str):
        """What the function answers to the event of that name."""
        body = (EVENTS / f"{event}.json").read_bytes()
        url = f"http://127.0.0.1:{self.port}/2015-03-31/functions/function/invocations"
        with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=ANSWER_SECONDS_MAX) as answer:
            return json.loads(answer.read())


def check(event: str, what: str, wanted, got):
    if wanted != got:
        raise SystemExit(f"{event}: {what} is {got!r}, not {wanted!r}")


def check_http(function: Function, event: str, status: int) -> dict:
    """Checks what every HTTP answer has; returns the parsed body."""
    answer = function.invoke(event)
    check(event, "status", status, answer.get("statusCode"))
    headers = {name.lower(): value for name, value in answer.get("headers", {}).items()}
    check(event, "content type", "application/json", headers.get("content-type"))
    if not re.fullmatch("[0-9a-f]{8}", headers.get("x-correlation-id", "")):
        raise SystemExit(f"{event}: no correlation id in {headers}")
    print(f"  {event}: {status}")
    return json.loads(answer["body"])


def check_api(function: Function):
    check("api_health", "status", "healthy", check_http(function, "api_health", 200).get("status"))
    document = check_http(function, "api_openapi", 200)
    check("api_openapi", "version", "3.1.0", document.get("openapi"))
    if "post" not in document["paths"]["/api/publish_interaction"]:
        raise SystemExit("api_openapi: publish_interaction is not described")
    refused = check_http(function, "api_publish_without_key", 401)
    check("api_publish_without_key", "body", {"detail": "Authentication required"}, refused)
    check_http(function, "api_unknown_path_without_key", 401)


def check_learn(function: Function):
    # A malformed wake cannot be mended by another delivery: acknowledged.
    check_batch(function, "learn_malformed_body", [])
    # The store does not answer: to be delivered again.
    check_batch(function, "learn_store_unreachable", ["8c1b6f0e-0001"])
    # Of one group, everything after the first failure waits for it.
    check_batch(function, "learn_two_groups", ["8c1b6f0e-0002", "8c1b6f0e-0003", "8c1b6f0e-0005"])


def check_batch(function: Function, event: str, failed: list[str]):
    failures = function.invoke(event).get("batchItemFailures")
    check(event, "failed messages", failed, sorted(failure["itemIdentifier"] for failure in failures))
    print(f"  {event}: {len(failed)} to be delivered again")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("function", choices=["api", "learn"])
    parser.add_argument("bootstrap", type=Path)
    arguments = parser.parse_args()
    checks = {"api": check_api, "learn": check_learn}
    with Function(arguments.bootstrap) as function:
        try:
            checks[arguments.function](function)
        except BaseException:
            print(function.read_log(), file=sys.stderr)
            raise
        log = function.read_log()
    report = re.search(r"INIT REPORT\(.*?durationMs: ([0-9.]+)", log)
    if not report:
        raise SystemExit(f"no INIT REPORT in the emulator's log:\n{log}")
    print(f"  {arguments.function}: started in {report[1]} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the AWS emulator with event source mappings that are closer to Lambda's.

The emulator polls all sources in one thread, waits for the functions of streams, and
receives at most 10 messages from a queue. Lambda polls each source separately and fills
a batch up to BatchSize. Without these changes, a backlog of thousands of messages takes
minutes. The emulator also parses a key condition again for each item of a partition, parses
the policies of the caller again for each request, and looks for due schedules every 10
seconds only. uvicorn serves it, because hypercorn, its own server, parses HTTP in Python and
takes twice the processor time for a request. uvicorn also writes the date, which it formats once
a second. The emulator collects the policies of a caller twice for each request, and checks a
projection again for each item of a query. After each call of a function, the emulator waits up
to 50 milliseconds for its log, although all that the function wrote is there to read. The emulator
evaluates conditions of policies, but knows no dynamodb:LeadingKeys: each request would meet them.
"""

import contextlib
import functools
import json
import logging
import os
import queue
import re
import select
import threading
import time

import uvicorn
from ministack import app as gateway
from ministack.core import iam_actions, iam_evaluator, responses
from ministack.core.lambda_runtime import ProvidedWorker
from ministack.services import dynamodb, lambda_svc, scheduler, sqs
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

IDLE_SECONDS = 0.05
SCHEDULES_SECONDS = 1
PARSED_EXPRESSIONS = 1000
NEXT_CALL_SECONDS = 5
PRINCIPAL_SECONDS = 1
PRINCIPALS = 1000
OUTPUT_BYTES = 1 << 16
PARTITION_KEY = "pk"  # of each table
RECORD = "calls-by-key.jsonl"
QUERIED = re.compile(r"\s*[#\w]+\s*=\s*(:\w+)")  # the partition key comes first

poll_streams = lambda_svc._poll_dynamodb_streams


def poll_streams_forever():
    while True:
        found = False
        try:
            found = poll_streams()
        except Exception:
            logging.exception("polling the streams failed")
        if not found:
            time.sleep(IDLE_SECONDS)


parse_policy = iam_evaluator.parse_policy_document
parse_policy_text = functools.lru_cache(PARSED_EXPRESSIONS)(parse_policy)


def parse_policy_once(document):
    return parse_policy_text(document) if isinstance(document, str) else parse_policy(document)


resolve_principal = iam_evaluator.resolve_principal
principals = {}


def resolve_principal_once_a_second(access_key, account, credential=None):
    """Returns the caller of a request. AWS also takes a while to apply a changed policy."""
    until, principal = principals.get((access_key, account), (0, None))
    now = time.monotonic()
    if now >= until:
        principal = resolve_principal(access_key, account, credential)
        if not isinstance(principal, iam_evaluator.AuthError):
            if len(principals) >= PRINCIPALS:
                principals.clear()
            principals[access_key, account] = now + PRINCIPAL_SECONDS, principal
    return principal


class KeyedArn(str):
    """The ARN of a table or an index, with the partition keys that a request names in it.

    What the emulator checks of a request are pairs of an action and an ARN, so the keys go with the ARN.
    """

    leading_keys = ()


def keyed(arn, rows):
    arn = KeyedArn(arn)
    arn.leading_keys = [value for row in rows for value in (row.get(PARTITION_KEY) or {}).values()]
    return arn


table_arns = iam_actions.dynamodb_resource_arns


def table_arns_with_keys(body, region, account):
    arns = table_arns(body, region, account)
    if not arns:
        return arns
    request = json.loads(body)
    if "TableName" in request:
        return [keyed(arns[0], rows_of(request))]
    return [keyed(arn, rows_of(asked)) for arn, asked in zip(arns, request["RequestItems"].values(), strict=True)]


def rows_of(asked):
    """Returns the rows, at least with their keys, that a request, one of its items or a batch names."""
    if isinstance(asked, list):  # of BatchWriteItem
        return [row for write in asked for part in write.values() for row in rows_of(part)]
    if condition := QUERIED.match(asked.get("KeyConditionExpression", "")):
        return [{PARTITION_KEY: asked["ExpressionAttributeValues"][condition[1]]}]
    return asked.get("Keys") or [asked[part] for part in ("Key", "Item") if part in asked]


transaction_checks = iam_actions.dynamodb_transaction_checks


def transaction_checks_with_keys(action, body, region, account):
    checks = transaction_checks(action, body, region, account)
    if not checks:
        return checks
    items = [asked for item in json.loads(body)["TransactItems"] for asked in item.values()]
    return [(of_item, keyed(arn, rows_of(asked))) for (of_item, arn), asked in zip(checks, items, strict=True)]


enforce = iam_evaluator.enforce


def enforce_with_keys(access_key, action, service, region, resource_arn="*", service_context=None):
    keys = getattr(resource_arn, "leading_keys", None)
    if keys:
        service_context = {**(service_context or {}), "dynamodb:LeadingKeys": keys}
    refusal = enforce(access_key, action, service, region, resource_arn, service_context)
    if keys and refusal is None:
        record(access_key, action, resource_arn, keys)
    return refusal


KINDS = re.compile(r"(?:[A-Za-z]{1,12}(?:#|$))*")  # of rows: a partition key begins with them, and names a row after them
recorded = set()


def record(access_key, action, arn, keys):
    """Writes once which kinds of rows a caller may use an action for, for the proof that it needs each prefix of its role."""
    principal = iam_evaluator.resolve_principal(access_key or "", responses.get_account_id())
    kinds = tuple(sorted({KINDS.match(key)[0] for key in keys if isinstance(key, str)}))
    call = principal.arn, action, str(arn), kinds
    if principal.policies is None or call in recorded:
        return
    recorded.add(call)
    with open(RECORD, "a", encoding="utf-8") as file:
        file.write(json.dumps({"caller": principal.arn, "action": action, "resource": str(arn), "keys": kinds}) + "\n")


class Output:
    """The output of a function's process, as lines in the queue that the emulator reads.

    A thread reads it so that the process never waits. drain_output reads what is left.
    """

    def __init__(self, stream, lines):
        self.stream, self.lines = stream, lines
        self.lock, self.rest, self.ended = threading.Lock(), b"", False

    def read_until_end(self):
        poll = select.poll()
        poll.register(self.stream, select.POLLIN)
        with self.stream:
            while not self.ended:
                poll.poll()
                self.read_available()

    def read_available(self):
        poll = select.poll()
        with self.lock:
            if self.ended:
                return
            poll.register(self.stream, select.POLLIN)
            while not self.ended and poll.poll(0):
                self.read_some()

    def read_some(self):
        text = os.read(self.stream.fileno(), OUTPUT_BYTES)
        self.ended = not text
        *whole, self.rest = (self.rest + text).split(b"\n")
        if self.ended and self.rest:
            whole.append(self.rest)
        for line in whole:
            self.add(line.decode(errors="replace").rstrip("\r"))

    def add(self, line):
        if self.lines.full():
            with contextlib.suppress(queue.Empty):  # drain_output was faster
                self.lines.get_nowait()
        self.lines.put_nowait(line)


def pump_output(worker, stream, lines):
    lines.output = Output(stream, lines)
    lines.output.read_until_end()


def drain_output(worker, **_):
    """Returns the lines that a function has written."""
    lines, found = worker._stderr_queue, []
    if output := getattr(lines, "output", None):
        output.read_available()
    while True:
        try:
            found.append(lines.get_nowait())
        except queue.Empty:
            return "\n".join(found)


build_handler_class = ProvidedWorker._build_handler_class


def build_handler_waiting_long(worker, generation, calls):
    """The emulator looks every 100 milliseconds whether a process that waits for a call has to end.

    A process that ends closes its connection, so a look every few seconds is enough.
    """
    get = calls.get
    calls.get = lambda timeout: get(timeout=NEXT_CALL_SECONDS)
    return build_handler_class(worker, generation, calls)


project_item = dynamodb._project_item


@functools.lru_cache(PARSED_EXPRESSIONS)
def attributes_of(projection, aliases):
    """Returns the attributes of a projection, or None if it has a path into one, or a fault."""
    names = dict(aliases)
    paths = [path.strip() for path in projection.split(",")]
    attributes = [names.get(path, "") if path.startswith("#") else path for path in paths]
    plain = all(name and not set(name) & set(".[") for name in attributes)
    reserved = any(path.upper() in dynamodb.AWS_KEYWORDS for path in paths)
    return attributes if plain and not reserved and len(set(attributes)) == len(attributes) else None


def project_plain_item(item, projection, aliases):
    attributes = attributes_of(projection, tuple((aliases or {}).items())) if projection else None
    if attributes is None:
        return project_item(item, projection, aliases)
    return {name: item[name] for name in attributes if name in item}


class JoinedWrites:
    """A connection that sends the head and the body of a response with one system call."""

    def __init__(self, transport, loop):
        self.transport, self.loop, self.parts = transport, loop, []

    def __getattr__(self, name):
        return getattr(self.transport, name)

    def write(self, data):
        if not self.parts:
            self.loop.call_soon(self.flush)
        self.parts.append(data)

    def flush(self):
        if self.parts:
            self.transport.write(b"".join(self.parts))
            self.parts = []

    def close(self):
        self.flush()
        self.transport.close()


class Protocol(HttpToolsProtocol):
    def connection_made(self, transport):
        super().connection_made(JoinedWrites(transport, self.loop))


def receive_batch(queue_url, batch_size):
    """Returns up to batch_size visible messages of the queue and makes them invisible."""
    with sqs._queues_lock:
        queue = sqs._get_q(queue_url)
        sqs._expire_retained(queue)
        sqs._dlq_sweep(queue)
        return sqs._collect_msgs(queue, int(batch_size), int(queue["attributes"].get("VisibilityTimeout", "30")))


for parse in (dynamodb._tokenize, dynamodb._condition_syntax_error):
    setattr(dynamodb, parse.__name__, functools.lru_cache(PARSED_EXPRESSIONS)(parse))
dynamodb._project_item = project_plain_item
iam_actions.dynamodb_resource_arns = table_arns_with_keys
iam_actions.dynamodb_transaction_checks = transaction_checks_with_keys
iam_evaluator.enforce = enforce_with_keys
iam_evaluator.parse_policy_document = parse_policy_once
iam_evaluator.resolve_principal = resolve_principal_once_a_second
gateway._with_date_header = lambda send: send
sqs._receive_messages_for_esm = receive_batch
ProvidedWorker._pump_output = pump_output
ProvidedWorker._drain_stderr_bounded = drain_output
ProvidedWorker._build_handler_class = build_handler_waiting_long
lambda_svc._poll_dynamodb_streams = lambda: False
scheduler._SCHEDULE_TICK_INTERVAL = SCHEDULES_SECONDS
threading.Thread(target=poll_streams_forever, daemon=True, name="streams").start()
uvicorn.run(
    gateway.app,
    host=os.environ["BIND_HOST"],
    port=int(os.environ["GATEWAY_PORT"]),
    loop="uvloop",
    http=Protocol,
    access_log=False,
    log_level="warning",
    timeout_keep_alive=75,
    timeout_graceful_shutdown=1,
    server_header=False,
)

"""Runs the AWS emulator with event source mappings that are closer to Lambda's.

The emulator polls all sources in one thread, waits for the functions of streams, and
receives at most 10 messages from a queue. Lambda polls each source separately and fills
a batch up to BatchSize. Without these changes, a backlog of thousands of messages takes
minutes. The emulator also parses a key condition again for each item of a partition, parses
the policies of the caller again for each request, and looks for due schedules every 10
seconds only. uvicorn serves it, because hypercorn, its own server, parses HTTP in Python and
takes twice the processor time for a request.
"""

import functools
import logging
import os
import threading
import time

import uvicorn
from ministack.app import app
from ministack.core import iam_evaluator
from ministack.services import dynamodb, lambda_svc, scheduler, sqs

IDLE_SECONDS = 0.05
SCHEDULES_SECONDS = 1
PARSED_EXPRESSIONS = 1000

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


def receive_batch(queue_url, batch_size):
    """Returns up to batch_size visible messages of the queue and makes them invisible."""
    with sqs._queues_lock:
        queue = sqs._get_q(queue_url)
        sqs._expire_retained(queue)
        sqs._dlq_sweep(queue)
        return sqs._collect_msgs(queue, int(batch_size), int(queue["attributes"].get("VisibilityTimeout", "30")))


for parse in (dynamodb._tokenize, dynamodb._condition_syntax_error):
    setattr(dynamodb, parse.__name__, functools.lru_cache(PARSED_EXPRESSIONS)(parse))
iam_evaluator.parse_policy_document = parse_policy_once
sqs._receive_messages_for_esm = receive_batch
lambda_svc._poll_dynamodb_streams = lambda: False
scheduler._SCHEDULE_TICK_INTERVAL = SCHEDULES_SECONDS
threading.Thread(target=poll_streams_forever, daemon=True, name="streams").start()
uvicorn.run(
    app,
    host=os.environ["BIND_HOST"],
    port=int(os.environ["GATEWAY_PORT"]),
    loop="uvloop",
    http="httptools",
    access_log=False,
    log_level="warning",
    timeout_keep_alive=75,
    timeout_graceful_shutdown=1,
    date_header=False,
    server_header=False,
)

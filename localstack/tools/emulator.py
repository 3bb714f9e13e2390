"""Runs the AWS emulator with event source mappings that are closer to Lambda's.

The emulator polls all sources in one thread, waits for the functions of streams, and
receives at most 10 messages from a queue. Lambda polls each source separately and fills
a batch up to BatchSize. Without these changes, a backlog of thousands of messages takes
minutes. The emulator also parses a key condition again for each item of a partition, and
looks for due schedules every 10 seconds only.
"""

import functools
import logging
import sys
import threading
import time

from ministack.app import main
from ministack.services import dynamodb, lambda_svc, scheduler, sqs

IDLE_SECONDS = 0.05
# The poller runs long loops over queues. With the interpreter's default of 5 ms, every
# concurrent HTTP call would wait for it several times.
SWITCH_SECONDS = 0.0005

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


def receive_batch(queue_url, batch_size):
    """Returns up to batch_size visible messages of the queue and makes them invisible."""
    with sqs._queues_lock:
        queue = sqs._get_q(queue_url)
        sqs._expire_retained(queue)
        sqs._dlq_sweep(queue)
        return sqs._collect_msgs(queue, int(batch_size), int(queue["attributes"].get("VisibilityTimeout", "30")))


for parse in (dynamodb._tokenize, dynamodb._condition_syntax_error):
    setattr(dynamodb, parse.__name__, functools.lru_cache(PARSED_EXPRESSIONS)(parse))
sqs._receive_messages_for_esm = receive_batch
lambda_svc._poll_dynamodb_streams = lambda: False
scheduler._SCHEDULE_TICK_INTERVAL = SCHEDULES_SECONDS
sys.setswitchinterval(SWITCH_SECONDS)
threading.Thread(target=poll_streams_forever, daemon=True, name="streams").start()
main()

"""Checks, before anything is created, that the AWS account of the credentials in use can
hold a stack of this environment, and says in one line a problem what to do about it.
Exits with 1 where a deployment would fail. Reads samconfig.toml; changes nothing."""

import functools
import pathlib
import re
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

import deployment

# Lambda keeps so much of an account's concurrency for functions without a reservation.
UNRESERVED = 100

# What the heaviest planned load of an environment needs, by the names of Service Quotas.
# The stack can be created with less; calls above a quota are throttled and tried again.
WANTED = {
    "production": [
        ("lambda", "Concurrent executions", 1000),
        ("apigateway", "Throttle rate", 1000),
        ("kms", "Cryptographic operations (ECC) request rate", 300),
        ("scheduler", "CreateSchedule request rate", 50),
        ("dynamodb", "Table-level write throughput limit", 40000),
    ],
    "staging": [("lambda", "Concurrent executions", 200)],
}


class Problem(Exception):
    """Something that a deployment would fail on, and what to do about it."""


def settings(environment):
    """Returns the stack's name, its region and its parameters, as samconfig.toml says."""
    deploy = deployment.settings(environment)
    overrides = dict(str(o).split("=", 1) for o in deploy["parameter_overrides"])
    return str(deploy["stack_name"]), str(deploy["region"]), {k: v.strip('"') for k, v in overrides.items()}


def default(parameter):
    """Returns a parameter's default, as template.yaml says."""
    text = pathlib.Path("template.yaml").read_text()
    return re.search(rf'^  {parameter}: \{{[^}}]*?\bDefault: "?([^",}}]*)', text, re.M).group(1)


def account(clients):
    """Returns the account's number."""
    try:
        return clients("sts").get_caller_identity()["Account"]
    except NoCredentialsError:
        raise Problem(deployment.NO_CREDENTIALS) from None
    except (BotoCoreError, ClientError) as error:
        raise Problem(f"the AWS credentials are invalid: {error}") from None


def resource(clients, stack, logical_id):
    """Returns the physical id of a resource of the stack, None where there is none."""
    answer = deployment.unless_missing(clients("cloudformation").describe_stack_resource, StackName=stack, LogicalResourceId=logical_id)
    return answer["StackResourceDetail"].get("PhysicalResourceId") if answer else None


def check_stack(clients, stack):
    """A stack whose first creation failed cannot be updated. Returns the parameters that
    are deployed."""
    found = deployment.describe(clients("cloudformation"), stack)
    if not found:
        return {}
    status = found["StackStatus"]
    if status == "UPDATE_ROLLBACK_FAILED":
        raise Problem(f"the stack {stack} is in {status}: run `aws cloudformation continue-update-rollback --stack-name {stack}`, then deploy again")
    if status in ("UPDATE_FAILED", "IMPORT_ROLLBACK_FAILED"):
        raise Problem(f"the stack {stack} is in {status}: run `aws cloudformation rollback-stack --stack-name {stack}`, then deploy again")
    if status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED", "CREATE_FAILED"):
        raise Problem(f"the stack {stack} is in {status} and cannot be updated: delete it with "
                      f"`aws cloudformation delete-stack --stack-name {stack}`, then deploy again")
    if status.endswith("_IN_PROGRESS"):
        raise Problem(f"the stack {stack} is in {status}: wait until that has ended")
    return deployment.parameters(found)


def check_concurrency(clients, stack, environment, parameters):
    """The functions' reservations have to fit into what the account leaves free."""
    wanted = int(parameters.get("EventsConcurrency", default("EventsConcurrency")))
    if wanted == 0:
        return
    limits = clients("lambda").get_account_settings()["AccountLimit"]
    free = limits["UnreservedConcurrentExecutions"]
    if function := resource(clients, stack, "EventsFunction"):
        free += clients("lambda").get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions", 0)
    if free - wanted < UNRESERVED:
        raise Problem(
            f"Lambda lets this account run {limits['ConcurrentExecutions']} functions at once, {free} of them not reserved, and the stack "
            f"reserves {wanted} and has to leave {UNRESERVED}: ask for 1,000 in Service Quotas (AWS Lambda, Concurrent executions), or "
            f'deploy without the reservation: "EventsConcurrency=0" in parameter_overrides of [{environment}.deploy.parameters] in samconfig.toml')


def check_domain(clients, stack, number):
    """Cognito's domains are unique in a region, and some words are its own."""
    domain = f"{stack}-{number}"
    if len(domain) > 63 or not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", domain) or re.search("aws|amazon|cognito", domain):
        raise Problem(f"{domain} is no valid Cognito domain: give the stack a name of lower-case letters, digits and hyphens, "
                      "50 at most, without aws, amazon or cognito, as stack_name in samconfig.toml")
    found = clients("cognito-idp").describe_user_pool_domain(Domain=domain)["DomainDescription"]
    if found.get("UserPoolId") and found["UserPoolId"] != resource(clients, stack, "UserPool"):
        raise Problem(f"the Cognito domain {domain} belongs to the user pool {found['UserPoolId']}, which is not of this stack: "
                      "delete that pool's domain, or change stack_name in samconfig.toml")


def check_topic(clients, region, environment, parameters):
    """Alarms go to a topic that exists, in the stack's region."""
    arn = parameters.get("AlarmTopicArn", "")
    where = f"AlarmTopicArn of [{environment}.deploy.parameters] in samconfig.toml"
    if not arn:
        return f"alarms have no recipient: set {where} to an SNS topic"
    if arn.split(":")[3:4] != [region]:
        raise Problem(f"the alarm topic {arn} is not in {region}: change {where}")
    try:
        topic = clients("sns").get_topic_attributes(TopicArn=arn)["Attributes"]
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code != "NotFound":  # a topic of another account may take alarms and hide its attributes
            return f"the alarm topic {arn} cannot be read ({code}): make sure that CloudWatch may publish to it"
        raise Problem(f"the alarm topic {arn} does not exist ({code}): create it, or change {where}") from None
    if topic.get("KmsMasterKeyId", "").endswith("alias/aws/sns"):
        raise Problem(f"the alarm topic {arn} is encrypted with alias/aws/sns, by which CloudWatch cannot publish: use a key of your own that allows it")
    if topic.get("SubscriptionsConfirmed") == "0":
        return f"the alarm topic {arn} has no confirmed subscription: nobody gets the alarms"
    return None


def quota(clients, operation, service, name):
    """Returns the value of a quota, None where the operation does not list it."""
    pages = clients("service-quotas").get_paginator(operation).paginate(ServiceCode=service)
    return next((q["Value"] for page in pages for q in page["Quotas"] if q["QuotaName"] == name), None)


def quotas(clients, environment):
    """Yields a line for each quota that is below what the environment may need."""
    for service, name, wanted in WANTED[environment]:
        try:
            value = quota(clients, "list_service_quotas", service, name)
            if value is None:  # a quota without a value of the account's own has the default
                value = quota(clients, "list_aws_default_service_quotas", service, name)
        except ClientError as error:
            yield f"quotas of {service} could not be read ({error.response['Error']['Code']})"
            continue
        if value is None:
            yield f"{service}: {name} could not be read: look it up in Service Quotas"
        elif value < wanted:
            yield f"{service}: {name} is {value:,.0f}: ask for {wanted:,} in Service Quotas before a load near it"


def preflight(environment, clients):
    """Checks all, and returns the account's number and what is worth a look. Raises Problem."""
    stack, region, parameters = settings(environment)
    clients = clients(region)
    number = account(clients)
    # CloudFormation keeps the value of a parameter that is not named.
    check_concurrency(clients, stack, environment, check_stack(clients, stack) | parameters)
    check_domain(clients, stack, number)
    hints = [check_topic(clients, region, environment, parameters), *quotas(clients, environment)]
    return number, [hint for hint in hints if hint]


def of_region(region):
    """Returns a function that returns the region's client of a service, one for all calls."""
    config = Config(connect_timeout=5, read_timeout=20, retries={"max_attempts": 3})
    return functools.cache(lambda service: boto3.client(service, region_name=region, config=config))


def main():
    environment = sys.argv[1] if len(sys.argv) == 2 else ""
    if environment not in WANTED:
        sys.exit("say which environment to check: make preflight ENV=staging, or ENV=production")
    try:
        number, hints = preflight(environment, of_region)
    except (Problem, ClientError, BotoCoreError) as problem:
        sys.exit(f"preflight: {problem}")
    except (ValueError, KeyError) as error:  # also TOMLDecodeError
        sys.exit(f"preflight: samconfig.toml cannot be used: {error!r}")
    for hint in hints:
        print(f"preflight: warning: {hint}")
    print(f"preflight: the account {number} can hold the {environment} stack")


if __name__ == "__main__":
    main()

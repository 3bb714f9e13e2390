"""Checks whether the AWS account of the current credentials can hold a stack of an
environment. Prints each problem with its remedy in one line, and exits with 1 if a
deployment would fail. Reads samconfig.toml and changes nothing."""

import functools
import pathlib
import re
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

import deployment

# Concurrency that Lambda keeps for functions without a reservation.
UNRESERVED = 100

# Quotas that the maximum planned load of an environment needs, by their names in Service
# Quotas. Lower quotas do not prevent a deployment: AWS throttles calls above a quota, and
# the service retries them.
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
    """A cause for a deployment to fail, with the remedy."""


def settings(environment):
    """Returns the stack's name, region and parameters from samconfig.toml."""
    deploy = deployment.settings(environment)
    overrides = dict(str(o).split("=", 1) for o in deploy["parameter_overrides"])
    return str(deploy["stack_name"]), str(deploy["region"]), {k: v.strip('"') for k, v in overrides.items()}


def default(parameter):
    """Returns a parameter's default from template.yaml."""
    text = pathlib.Path("template.yaml").read_text()
    return re.search(rf'^  {parameter}: \{{[^}}]*?\bDefault: "?([^",}}]*)', text, re.M).group(1)


def account(clients):
    """Returns the account id."""
    try:
        return clients("sts").get_caller_identity()["Account"]
    except NoCredentialsError:
        raise Problem(deployment.NO_CREDENTIALS) from None
    except (BotoCoreError, ClientError) as error:
        raise Problem(f"the AWS credentials are invalid: {error}") from None


def resource(clients, stack, logical_id):
    """Returns the physical id of a resource of the stack, or None."""
    answer = deployment.unless_missing(clients("cloudformation").describe_stack_resource, StackName=stack, LogicalResourceId=logical_id)
    return answer["StackResourceDetail"].get("PhysicalResourceId") if answer else None


def check_stack(clients, stack):
    """Returns the deployed parameters. Raises Problem if the stack cannot be updated."""
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
        raise Problem(f"the stack {stack} is in {status}: wait until the operation ends, then try again")
    return deployment.parameters(found)


def check_concurrency(clients, stack, environment, parameters):
    """Raises Problem if the reserved concurrency exceeds the account's free concurrency."""
    wanted = int(parameters.get("EventsConcurrency", default("EventsConcurrency")))
    if wanted == 0:
        return
    limits = clients("lambda").get_account_settings()["AccountLimit"]
    free = limits["UnreservedConcurrentExecutions"]
    if function := resource(clients, stack, "EventsFunction"):
        free += clients("lambda").get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions", 0)
    if free - wanted < UNRESERVED:
        raise Problem(
            f"Lambda lets this account run {limits['ConcurrentExecutions']} functions at once, {free} of them not reserved. The stack "
            f"reserves {wanted} and must leave {UNRESERVED}: ask for 1,000 in Service Quotas (AWS Lambda, Concurrent executions), or "
            f'deploy without the reservation: "EventsConcurrency=0" in parameter_overrides of [{environment}.deploy.parameters] in samconfig.toml')


def check_domain(clients, stack, number):
    """Raises Problem if the Cognito domain is invalid, reserved or taken by another stack."""
    domain = f"{stack}-{number}"
    if len(domain) > 63 or not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", domain) or re.search("aws|amazon|cognito", domain):
        raise Problem(f"{domain} is not a valid Cognito domain: set stack_name in samconfig.toml to at most 50 lower-case letters, digits "
                      "and hyphens, without the words aws, amazon and cognito")
    found = clients("cognito-idp").describe_user_pool_domain(Domain=domain)["DomainDescription"]
    if found.get("UserPoolId") and found["UserPoolId"] != resource(clients, stack, "UserPool"):
        raise Problem(f"the Cognito domain {domain} belongs to the user pool {found['UserPoolId']} of another stack: "
                      "delete that pool's domain, or change stack_name in samconfig.toml")


def check_topic(clients, region, environment, parameters):
    """Returns a warning about the alarm topic, or None. Raises Problem if alarms cannot
    reach it."""
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
        if code != "NotFound":  # a topic of another account may hide its attributes and still work
            return f"the alarm topic {arn} cannot be read ({code}): make sure that CloudWatch may publish to it"
        raise Problem(f"the alarm topic {arn} does not exist ({code}): create it, or change {where}") from None
    if topic.get("KmsMasterKeyId", "").endswith("alias/aws/sns"):
        raise Problem(f"the alarm topic {arn} is encrypted with alias/aws/sns, which CloudWatch cannot use: use your own key and allow CloudWatch to use it")
    if topic.get("SubscriptionsConfirmed") == "0":
        return f"the alarm topic {arn} has no confirmed subscription, so nobody receives the alarms"
    return None


def check_email(clients, region, environment, parameters):
    """Returns a warning about the sender of the dashboard's emails, or None."""
    arn = parameters.get("EmailIdentityArn", "")
    where = f"EmailIdentityArn and EmailFrom of [{environment}.deploy.parameters] in samconfig.toml"
    if not arn:
        return f"Cognito sends at most 50 emails a day for the account: set {where} to an identity of Amazon SES"
    try:
        ses = clients("sesv2")
        verified = ses.get_email_identity(EmailIdentity=arn.partition(":identity/")[2])["VerifiedForSendingStatus"]
        released = ses.get_account()["ProductionAccessEnabled"]
    except ClientError as error:
        return f"the identity {arn} cannot be read ({error.response['Error']['Code']}): make sure that it is verified in {region}"
    if not verified:
        return f"the identity {arn} is not verified: verify it in Amazon SES, or change {where}"
    if not released:
        return f"Amazon SES is in its sandbox in {region} and sends to verified addresses only: request production access"
    return None


def quota(clients, operation, service, name):
    """Returns the value of a quota, or None if the operation does not list it."""
    pages = clients("service-quotas").get_paginator(operation).paginate(ServiceCode=service)
    return next((q["Value"] for page in pages for q in page["Quotas"] if q["QuotaName"] == name), None)


def quotas(clients, environment):
    """Yields a warning for each quota that is lower than the environment's maximum load."""
    for service, name, wanted in WANTED[environment]:
        try:
            value = quota(clients, "list_service_quotas", service, name)
            if value is None:  # the account has the default
                value = quota(clients, "list_aws_default_service_quotas", service, name)
        except ClientError as error:
            yield f"quotas of {service} could not be read ({error.response['Error']['Code']})"
            continue
        if value is None:
            yield f"{service}: {name} could not be read: look it up in Service Quotas"
        elif value < wanted:
            yield f"{service}: {name} is {value:,.0f}: ask for {wanted:,} in Service Quotas before a load near it"


def preflight(environment, clients):
    """Returns the account id and the warnings. Raises Problem."""
    stack, region, parameters = settings(environment)
    clients = clients(region)
    number = account(clients)
    # CloudFormation keeps the deployed value of a parameter that samconfig.toml omits.
    check_concurrency(clients, stack, environment, check_stack(clients, stack) | parameters)
    check_domain(clients, stack, number)
    hints = [check_topic(clients, region, environment, parameters),
             check_email(clients, region, environment, parameters), *quotas(clients, environment)]
    return number, [hint for hint in hints if hint]


def of_region(region):
    """Returns a function that returns the region's client of a service and caches it."""
    config = Config(connect_timeout=5, read_timeout=20, retries={"max_attempts": 3})
    return functools.cache(lambda service: boto3.client(service, region_name=region, config=config))


def main():
    environment = sys.argv[1] if len(sys.argv) == 2 else ""
    if environment not in WANTED:
        sys.exit("ENV is missing: run make preflight ENV=staging, or ENV=production")
    try:
        number, hints = preflight(environment, of_region)
    except (Problem, ClientError, BotoCoreError) as problem:
        sys.exit(f"preflight: {problem}")
    except (ValueError, KeyError) as error:  # also TOMLDecodeError
        sys.exit(f"preflight: samconfig.toml is invalid: {error!r}")
    for hint in hints:
        print(f"preflight: warning: {hint}")
    print(f"preflight: the account {number} can hold the {environment} stack")


if __name__ == "__main__":
    main()

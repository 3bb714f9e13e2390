"""Checks whether the AWS account of the current credentials can hold a stack of an
environment. Prints each problem with its remedy in one line, and exits with 1 if a
deployment would fail. Then prints the values of the load, and the quotas that it needs. Reads
samconfig.toml and changes nothing."""

import email.utils
import functools
import json
import pathlib
import re
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

import deployment

# Concurrency that Lambda keeps for functions without a reservation.
UNRESERVED = 100

# How many messages a second an agent without a rate counts as, UnlimitedRate of package campaign.
UNLIMITED_RATE = 17_000

# What each value of the parameter Load is for, its values in template.yaml, and the quotas
# that it needs, as package scale computes them. Lower quotas do not prevent a deployment: AWS
# throttles calls above a quota, and the service retries them.
LOADS = json.loads((pathlib.Path(__file__).parent / "loads.json").read_text())

# Concurrency that a stack of any load needs, and users that Cognito's 50 emails a day are enough for.
LEAST = next(q["value"] for q in LOADS[0]["quotas"] if q["service"] == "lambda")
FEW_USERS = 20


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


def load_of(parameters):
    """Returns the load of the parameters."""
    return {load["load"]: load for load in LOADS}[parameters.get("Load", default("Load"))]


def check_plan(environment, load, day, hour):
    """Raises Problem if a plan of messages needs a larger load. Returns a warning if a smaller one is enough, or None."""
    fitting = next((one for one in LOADS if day <= one["day"] and hour <= one["hour"]), None)
    if not fitting:
        raise Problem(f'no load is for {day:,} messages a day and {hour:,} in the busiest hour: add one to Plans in localstack/lab/scale/plan.go')
    remedy = f'set "Load={fitting["load"]}" in parameter_overrides of [{environment}.deploy.parameters] in samconfig.toml'
    if LOADS.index(fitting) > LOADS.index(load):
        raise Problem(f"{day:,} messages a day and {hour:,} in the busiest hour are too many for Load={load['load']}: {remedy}")
    return f"a smaller load than {load['load']} is enough: {remedy}" if fitting != load else None


def check_concurrency(clients, stack, environment, load):
    """Returns a warning if ConcurrencyAlarm would not fire in this account, or None. Raises Problem if the account's concurrency
    is too low for any load, or if the reserved concurrency exceeds what is free."""
    wanted = load["values"]["Events"]
    concurrency = next(q for q in load["quotas"] if q["service"] == "lambda")
    limits = clients("lambda").get_account_settings()["AccountLimit"]
    if limits["ConcurrentExecutions"] < LEAST:
        raise Problem(f"Lambda lets this account run {limits['ConcurrentExecutions']} functions at once, and a stack of any load needs {LEAST}: "
                      f"ask for {asked(concurrency)} in Service Quotas (AWS Lambda, Concurrent executions)")
    free = limits["UnreservedConcurrentExecutions"]
    if function := resource(clients, stack, "EventsFunction"):
        free += clients("lambda").get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions", 0)
    if wanted and free - wanted < UNRESERVED:
        raise Problem(
            f"Lambda lets this account run {limits['ConcurrentExecutions']} functions at once, {free} of them not reserved. The stack "
            f"reserves {wanted} and must leave {UNRESERVED}: ask for {asked(concurrency)} in Service Quotas (AWS Lambda, Concurrent executions), or "
            f'deploy without the reservation: "Load=small" in parameter_overrides of [{environment}.deploy.parameters] in samconfig.toml')
    if concurrency["value"] <= limits["ConcurrentExecutions"] < max(concurrency["default"], concurrency["value"]):
        share = f"{wanted:,} and 80% of the rest of" if wanted else "80% of"
        return (f"ConcurrencyAlarm fires at {share} {asked(concurrency)}, and Lambda lets this account run "
                f"{limits['ConcurrentExecutions']}: ask for as many")
    return None


def check_rates(clients, stack, environment, parameters, load):
    """Raises Problem if all agents may send more messages a second together than the load is
    for. Returns a warning if their rates cannot be read, or None."""
    table = parameters.get("RestoredCampaignsTable") or resource(clients, stack, "CampaignsTable")
    if not table:
        return None
    try:
        pages = clients("dynamodb").get_paginator("query").paginate(
            TableName=table, KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues={":pk": {"S": "DIRECTORY"}, ":sk": {"S": "AGENT#"}})
        agents = [agent for page in pages for agent in page["Items"] if "removedAt" not in agent]
    except ClientError as error:
        return (f"the rates of agents could not be read ({error.response['Error']['Code']}): compare the sum that "
                f"`make list ENV={environment}` prints with SendRate {load['values']['SendRate']:,}")
    total = sum(int(agent.get("rate", {}).get("N", "0")) or UNLIMITED_RATE for agent in agents)
    if total > load["values"]["SendRate"]:
        raise Problem(
            f"all agents may send {total:,} messages a second together, and Load={load['load']} is for {load['values']['SendRate']:,}: lower "
            f"rates with `make agent ENV={environment} AGENT=id RATE=number`, where an agent without a rate counts as {UNLIMITED_RATE:,}, or "
            f"set a larger Load in parameter_overrides of [{environment}.deploy.parameters] in samconfig.toml")
    return None


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


def check_topics(clients, region, environment, parameters):
    """Returns warnings about the topics of alarms. Raises Problem if alarms cannot reach somebody, except in staging without topics."""
    arns = {name: parameters.get(name, "") for name in ("PageTopicArn", "TicketTopicArn")}
    where = f"[{environment}.deploy.parameters] in samconfig.toml"
    missing = f"alarms have no recipient: set PageTopicArn and TicketTopicArn of {where} to SNS topics"
    if not any(arns.values()) and environment != "production":
        return [missing]
    if not all(arns.values()):
        raise Problem(missing)
    copies = ["events.amazonaws.com"] if parameters.get("BackupVaultArn") else []  # EventBridge tells of those that failed
    senders = {"PageTopicArn": ["cloudwatch.amazonaws.com"], "TicketTopicArn": ["cloudwatch.amazonaws.com", *copies]}
    return [check_topic(clients, region, arn, senders[name], f"{name} of {where}") for name, arn in arns.items()]


def check_topic(clients, region, arn, senders, where):
    """Returns a warning about a topic of alarms, or None. Raises Problem if alarms cannot reach anybody by it."""
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
        raise Problem(f"the alarm topic {arn} has no confirmed subscription, so nobody receives the alarms: subscribe and confirm, or change {where}")
    if refused := [s for s in senders if not lets_publish(topic.get("Policy"), account(clients), s)]:
        return (f"the policy of the alarm topic {arn} does not let {' and '.join(refused)} publish, as far as preflight can read it: "
                "add a statement that allows them sns:Publish")
    return None


def lets_publish(policy, own, sender):
    """Returns whether a topic's policy lets a service of AWS publish.

    The statement that SNS writes at first is for what is of the own account: it is enough for CloudWatch, and not for EventBridge."""
    of_account = sender == "cloudwatch.amazonaws.com"
    statements = json.loads(policy)["Statement"] if policy else []
    for statement in listed(statements):
        principal = statement.get("Principal", {})
        if statement["Effect"] != "Allow" or not {"sns:publish", "sns:*", "*"} & {a.lower() for a in listed(statement.get("Action", []))}:
            continue
        if principal != "*" and sender in listed(principal.get("Service", [])):
            return True
        condition = statement.get("Condition", {})
        if (principal == "*" or "*" in listed(principal.get("AWS", []))) and (not condition or of_account and own in json.dumps(condition)):
            return True
    return of_account and not policy  # SNS gives each topic one


def listed(value):
    """Returns a member of a policy, which may be a list or one value, as a list."""
    return value if isinstance(value, list) else [value]


def users(clients, stack):
    """Returns about how many users the dashboard of the stack has."""
    pool = resource(clients, stack, "UserPool")
    return clients("cognito-idp").describe_user_pool(UserPoolId=pool)["UserPool"]["EstimatedNumberOfUsers"] if pool else 0


def check_email(clients, stack, region, environment, parameters):
    """Returns a warning about the sender of the dashboard's emails, or None. Raises Problem if many users have none."""
    sender = email.utils.parseaddr(parameters.get("EmailFrom", ""))[1]
    arn = parameters.get("EmailIdentityArn", "")
    where = f"EmailIdentityArn and EmailFrom of [{environment}.deploy.parameters] in samconfig.toml"
    if not arn:
        few = f"Cognito sends at most 50 emails a day for the account: set {where} to an identity of Amazon SES"
        if (number := users(clients, stack)) > FEW_USERS:
            raise Problem(f"the dashboard has about {number} users, and {few}")
        return few
    if arn.split(":")[3:4] != [region]:
        return f"the identity {arn} is not in {region}: verify it there, and change {where}"
    identity = arn.partition(":identity/")[2]
    if sender != identity and not re.search(rf"[@.]{re.escape(identity)}$", sender):
        return f"EmailFrom is no address of {identity}: change {where}"
    try:
        ses = clients("sesv2")
        verified = ses.get_email_identity(EmailIdentity=identity)["VerifiedForSendingStatus"]
        released = ses.get_account()["ProductionAccessEnabled"]
    except ClientError as error:
        return f"the identity {arn} cannot be read ({error.response['Error']['Code']}): make sure that it is verified in {region}"
    if not verified:
        return f"the identity {arn} is not verified: verify it in Amazon SES, or change {where}"
    if not released:
        return f"Amazon SES is in its sandbox in {region} and sends to verified addresses only: request production access"
    return None


def check_copies(clients, environment, parameters):
    """Returns a warning if AWS Backup cannot copy the tables to another account, or None. Raises Problem if production has no copies."""
    if not parameters.get("BackupVaultArn"):
        if environment == "production" and parameters.get("NoCopies") != "yes":
            raise Problem("production has no copies in a second account: set BackupVaultArn of [production.deploy.parameters] in samconfig.toml "
                          "to a vault of AWS Backup there, or NoCopies=yes to do without them")
        return None
    try:
        managed = clients("backup").describe_region_settings()["ResourceTypeManagementPreference"]
    except ClientError as error:
        return f"the settings of AWS Backup could not be read ({error.response['Error']['Code']})"
    if not managed.get("DynamoDB"):
        return (f"AWS Backup does not copy tables to BackupVaultArn of [{environment}.deploy.parameters] in samconfig.toml: run "
                "`aws backup update-region-settings --resource-type-management-preference DynamoDB=true`")
    return None


def quota(clients, operation, service, name):
    """Returns the value of a quota, or None if the operation does not list it."""
    pages = clients("service-quotas").get_paginator(operation).paginate(ServiceCode=service)
    return next((q["Value"] for page in pages for q in page["Quotas"] if q["QuotaName"] == name), None)


def asked(q):
    """Returns the value to ask for, which is never less than AWS's default."""
    return f"{max(q['default'], q['value']):,}"


def throughput(clients, wanted):
    """Returns a warning if Parameter Store throttles the reads of agents' keys, or None."""
    setting = "/ssm/parameter-store/high-throughput-enabled"
    if clients("ssm").get_service_setting(SettingId=setting)["ServiceSetting"]["SettingValue"] != "true":
        return (f"send reads up to {wanted} keys of agents a second, more than Parameter Store takes: run `aws ssm update-service-setting "
                f"--setting-id {setting} --setting-value true`, which AWS charges by the call")
    return None


def warm(clients, stack, parameters, name, wanted):
    """Returns a warning if a table is too new for the writes of the load, or None."""
    table = parameters.get(f"Restored{name.title()}Table") or resource(clients, stack, f"{name.title()}Table")
    if not table:
        return f"{name} is new after the first deployment, and the load writes up to {wanted:,} units a second: run preflight again then"
    described = clients("dynamodb").describe_table(TableName=table)["Table"]
    if (ready := described.get("WarmThroughput", {}).get("WriteUnitsPerSecond", 0)) >= wanted:
        return None
    return (f"the table {table} is ready for {ready:,} write units a second, the load writes up to {wanted:,}: "
            "raise WarmThroughput with `aws dynamodb update-table` before the load, for which AWS charges once")


def capacity(clients, stack, parameters, load):
    """Yields a warning for each table and setting of Parameter Store that the load needs changed. Raises Problem with the setting if
    the largest load needs it."""
    for q in load["quotas"]:
        if q["value"] <= q["default"] or q["service"] not in ("ssm", "table"):
            continue
        try:
            if q["service"] == "ssm":
                hint = throughput(clients, q["value"])
                if hint and load is LOADS[-1]:
                    raise Problem(f"Load={load['load']} needs higher quotas: {hint}")
                yield hint
            else:
                yield warm(clients, stack, parameters, q["name"], q["value"])
        except ClientError as error:
            yield f"{q['name']} could not be read ({error.response['Error']['Code']})"


def quotas(clients, load):
    """Returns a warning for each quota that is lower than the load needs. Raises Problem with those that the largest load needs raised."""
    hints, low = [], []
    for q in load["quotas"]:
        service, name = q["service"], q["name"]
        if service in ("ssm", "table"):
            continue
        try:
            value = quota(clients, "list_service_quotas", service, name)
            if value is None:  # the account has the default
                value = quota(clients, "list_aws_default_service_quotas", service, name)
        except ClientError as error:
            hints.append(f"quotas of {service} could not be read ({error.response['Error']['Code']})")
            continue
        if value is None:
            hints.append(f"{service}: {name} could not be read: look it up in Service Quotas")
        elif value < q["value"]:
            refused = load is LOADS[-1] and q["value"] > q["default"]
            (low if refused else hints).append(f"{service}: {name} is {value:,.0f}: ask for {asked(q)} in Service Quotas before a load near it")
    if low:
        raise Problem(f"Load={load['load']} needs higher quotas: " + "; ".join(low))
    return hints


def preflight(environment, plan, clients):
    """Returns the account id, the load and the warnings. Raises Problem."""
    stack, region, parameters = settings(environment)
    clients = clients(region)
    number = account(clients)
    # CloudFormation keeps the deployed value of a parameter that samconfig.toml omits.
    parameters = check_stack(clients, stack) | parameters
    load = load_of(parameters)
    hints = [check_plan(environment, load, *plan)] if plan else []
    hints.append(check_concurrency(clients, stack, environment, load))
    check_domain(clients, stack, number)
    hints += [*check_topics(clients, region, environment, parameters), check_email(clients, stack, region, environment, parameters),
              check_copies(clients, environment, parameters), check_rates(clients, stack, environment, parameters, load),
              *quotas(clients, load), *capacity(clients, stack, parameters, load)]
    return number, load, [hint for hint in hints if hint]


def of_region(region):
    """Returns a function that returns the region's client of a service and caches it."""
    config = Config(connect_timeout=5, read_timeout=20, retries={"max_attempts": 3})
    return functools.cache(lambda service: boto3.client(service, region_name=region, config=config))


def main():
    environment, *plan = sys.argv[1:] or [""]
    if environment not in ("staging", "production"):
        sys.exit("ENV is missing: run make preflight ENV=staging, or ENV=production")
    if len(plan) not in (0, 2) or not all(number.isdecimal() for number in plan):
        sys.exit("preflight: set both DAY and HOUR, the messages planned for a day and for its busiest hour, to whole numbers")
    try:
        number, load, hints = preflight(environment, [int(number) for number in plan], of_region)
    except (Problem, ClientError, BotoCoreError) as problem:
        sys.exit(f"preflight: {problem}")
    except (ValueError, KeyError) as error:  # also TOMLDecodeError
        sys.exit(f"preflight: samconfig.toml is invalid: {error!r}")
    for hint in hints:
        print(f"preflight: warning: {hint}")
    print(f"preflight: Load={load['load']} is for {load['day']:,} messages a day and {load['hour']:,} in the busiest hour")
    print("preflight: its values: " + ", ".join(f"{name} {value:,}" for name, value in load["values"].items()))
    print("preflight: it needs: " + ", ".join(f"{q['service']} {q['name']} {q['value']:,}" for q in load["quotas"]))
    print(f"preflight: the account {number} can hold the {environment} stack")


if __name__ == "__main__":
    main()

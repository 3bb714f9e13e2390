"""Functions that preflight.py and deploy.py share: the settings of an environment in
samconfig.toml and the description of a stack."""

import pathlib

from botocore.exceptions import ClientError

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomlkit as tomllib

NO_CREDENTIALS = "no AWS credentials: run `aws sso login` or set AWS_PROFILE, then try again"


def settings(environment):
    """Returns the deploy parameters of the environment in samconfig.toml."""
    return tomllib.loads(pathlib.Path("samconfig.toml").read_text())[environment]["deploy"]["parameters"]


def unless_missing(call, **arguments):
    """Returns the result of a CloudFormation call, or None if the stack or resource does not exist."""
    try:
        return call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise


def describe(cloudformation, stack):
    """Returns the stack, or None if it does not exist. A stack in REVIEW_IN_PROGRESS has
    only a declined changeset and counts as missing."""
    answer = unless_missing(cloudformation.describe_stacks, StackName=stack)
    if not answer or answer["Stacks"][0]["StackStatus"] == "REVIEW_IN_PROGRESS":
        return None
    return answer["Stacks"][0]


def parameters(stack):
    """Returns the parameters of a described stack by name."""
    return {p["ParameterKey"]: p["ParameterValue"] for p in stack.get("Parameters", [])}

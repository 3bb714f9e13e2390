"""What the check before a deployment and the deployment have in common: the settings of
an environment in samconfig.toml, and the stack as CloudFormation describes it."""

import pathlib

from botocore.exceptions import ClientError

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomlkit as tomllib

NO_CREDENTIALS = "there are no AWS credentials: run `aws sso login` or set AWS_PROFILE, then again"


def settings(environment):
    """Returns the parameters that `sam deploy` reads for the environment."""
    return tomllib.loads(pathlib.Path("samconfig.toml").read_text())[environment]["deploy"]["parameters"]


def unless_missing(call, **arguments):
    """Returns the answer of a call of CloudFormation, None where what it names does not exist."""
    try:
        return call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise


def describe(cloudformation, stack):
    """Returns the stack of that name, None where there is none. A stack in
    REVIEW_IN_PROGRESS is a changeset that was declined."""
    answer = unless_missing(cloudformation.describe_stacks, StackName=stack)
    if not answer or answer["Stacks"][0]["StackStatus"] == "REVIEW_IN_PROGRESS":
        return None
    return answer["Stacks"][0]


def parameters(stack):
    """Returns the parameters of a stack that was described, by their names."""
    return {p["ParameterKey"]: p["ParameterValue"] for p in stack.get("Parameters", [])}

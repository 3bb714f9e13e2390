"""Deploys what `sam build` built, as samconfig.toml says of an environment, under a
Release of its own: by it every function gets a new version, even where a deployment of
the same was taken back."""

import os
import pathlib
import secrets
import subprocess
import sys

import boto3
from botocore.exceptions import ClientError

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomlkit as tomllib


def exists(stack, region):
    """Reports whether there is a stack of that name. One in REVIEW_IN_PROGRESS is a
    changeset that was declined."""
    try:
        found = boto3.client("cloudformation", region_name=region).describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return False
        raise
    return found["StackStatus"] != "REVIEW_IN_PROGRESS"


def check_keys(stack, environment, overrides):
    """Ends this program where a change of the signing keys would refuse valid tokens. The
    change takes steps. Where samconfig.toml does not name the keys, CloudFormation keeps
    those that are deployed."""
    named = {name: value.strip("\"'") for name, _, value in (o.partition("=") for o in overrides)
             if name in ("SigningKeys", "SigningKeysSwitchAt")}
    if not named or os.environ.get("END_TOKENS") == "1":
        return
    check = ["bin/admin", "rotate-signing-keys", "--stack", stack,
             "--keys", named.get("SigningKeys", ""), "--switch-at", named.get("SigningKeysSwitchAt", "")]
    if subprocess.run(check, env=os.environ | {"BY_MAKE": f"make ENV={environment}"}).returncode:
        sys.exit("nothing was deployed; `make deploy` with END_TOKENS=1 leaves this check out, and clients may have to get new tokens")


def deploy(sam, environment, overrides, *flags):
    """Runs sam deploy, and ends this program where it fails."""
    status = subprocess.run([sam, "deploy", "--config-env", environment, "--parameter-overrides", *overrides, *flags]).returncode
    if status:
        sys.exit(status)


def main():
    sam, environment = sys.argv[1:]
    settings = tomllib.loads(pathlib.Path("samconfig.toml").read_text())[environment]["deploy"]["parameters"]
    overrides = list(settings["parameter_overrides"])
    stack, region = settings["stack_name"], settings["region"]
    first = not exists(stack, region)
    if not first:
        check_keys(stack, environment, overrides)

    # CloudFormation keeps the value of a parameter that is not named.
    for parameter, default in ("RestoredAuthTable", '""'), ("RestoredCampaignsTable", '""'), ("DeletionProtection", "true"):
        if not any(override.startswith(parameter + "=") for override in overrides):
            overrides.append(f"{parameter}={default}")

    # As the default too: an emulator transforms a template by nothing else.
    release = secrets.token_hex(16)
    template = pathlib.Path(".aws-sam/build/template.yaml")
    before, found, after = template.read_text().partition("0000000000")
    if not found or found in after:
        sys.exit(f"{template} does not have exactly one default of Release")
    template.write_text(before + release + after)
    overrides.append("Release=" + release)

    # CloudFormation cannot delete a protected table. Without protection a first
    # deployment that fails leaves nothing behind, and can be run again.
    if first:
        unprotected = [o for o in overrides if not o.startswith("DeletionProtection=")] + ["DeletionProtection=false"]
        deploy(sam, environment, unprotected, "--on-failure", "DELETE")
        if not exists(stack, region):
            sys.exit("the stack was not created; run `make deploy` again when it may be")
    deploy(sam, environment, overrides)


if __name__ == "__main__":
    main()

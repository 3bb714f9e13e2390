"""Deploys the output of `sam build` with the settings of an environment in samconfig.toml.
Each deployment has a new Release, so that Lambda publishes a new version of every
function, even if the same code was deployed and rolled back before."""

import os
import pathlib
import secrets
import subprocess
import sys
import urllib.error
import urllib.request

import boto3

import deployment

# Public paths of the API, one for each of three functions.
PUBLIC = "/.well-known/jwks.json", "/api/v1/openapi.json", "/dashboard"

RESTORED = "RestoredAuthTable", "RestoredCampaignsTable", "RestoredOutcomesTable", "RestoredOutcomesStream", "RestoredWebhooksTable"


def describe(stack, region):
    """Returns the stack, or None if it does not exist."""
    return deployment.describe(boto3.client("cloudformation", region_name=region), stack)


def credentials():
    """Returns the current credentials, including those of a profile, as environment variables."""
    found = boto3.Session().get_credentials()
    if not found:
        sys.exit(deployment.NO_CREDENTIALS)
    frozen = found.get_frozen_credentials()
    return {"AWS_ACCESS_KEY_ID": frozen.access_key, "AWS_SECRET_ACCESS_KEY": frozen.secret_key, "AWS_SESSION_TOKEN": frozen.token or ""}


def check_keys(stack, region, environment, overrides):
    """Exits if a change of the signing keys would invalidate valid tokens. If samconfig.toml
    does not set the keys, CloudFormation keeps the deployed ones."""
    named = {name: value.strip("\"'") for name, _, value in (o.partition("=") for o in overrides)
             if name in ("SigningKeys", "SigningKeysSwitchAt")}
    if not named or os.environ.get("END_TOKENS") == "1":
        return
    check = ["bin/admin", "rotate-signing-keys", "--stack", stack,
             "--keys", named.get("SigningKeys", ""), "--switch-at", named.get("SigningKeysSwitchAt", "")]
    env = os.environ | credentials() | {"AWS_REGION": region, "BY_MAKE": f"make ENV={environment}"}
    if subprocess.run(check, env=env).returncode:
        sys.exit("nothing was deployed; `make deploy` with END_TOKENS=1 skips this check, and clients may need new tokens")


def deploy(sam, environment, overrides, *flags):
    """Runs sam deploy and exits if it fails."""
    status = subprocess.run([sam, "deploy", "--config-env", environment, "--parameter-overrides", *overrides, *flags]).returncode
    if status:
        sys.exit(status)


def check_deployed(stack, region, *wanted):
    """Returns the stack's outputs. Exits if the stack does not have the wanted parameters,
    because sam exits with 0 after a declined changeset."""
    found = describe(stack, region) or {}
    have = deployment.parameters(found)
    for name, _, value in (w.partition("=") for w in wanted):
        if have.get(name) != value.strip("\"'"):
            sys.exit(f"the stack was not deployed: its {name} is {have.get(name)}, not {value}. Was the changeset declined? Run `make deploy` again")
    return {o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", [])}


def protect(stack, region):
    """Protects the stack against its deletion. Does nothing if it is protected."""
    if describe(stack, region).get("EnableTerminationProtection"):
        return
    boto3.client("cloudformation", region_name=region).update_termination_protection(StackName=stack, EnableTerminationProtection=True)
    print(f"the stack {stack} is protected against deletion; aws cloudformation update-termination-protection ends that")


def check_api(base):
    """Exits if the API returns 5xx: a complete stack can have routes without a function."""
    for path in PUBLIC:
        try:
            urllib.request.urlopen(base + path, timeout=30).close()
        except urllib.error.HTTPError as error:
            if error.code >= 500:
                sys.exit(f"the stack is deployed, but GET {base}{path} returns {error.code}: read the log groups of the stack, or deploy the previous commit")
        except OSError as error:
            print(f"warning: GET {base}{path} failed ({error}): check the DNS record of the domain")


def main():
    sam, environment = sys.argv[1:]
    settings = deployment.settings(environment)
    overrides = list(settings["parameter_overrides"])
    stack, region = settings["stack_name"], settings["region"]
    deployed = describe(stack, region)
    first = not deployed
    if not first:
        check_keys(stack, region, environment, overrides)

    # CloudFormation keeps the deployed value of a parameter that samconfig.toml omits.
    for parameter, default in [(name, '""') for name in RESTORED] + [("DeletionProtection", "true")]:
        if not any(override.startswith(parameter + "=") for override in overrides):
            overrides.append(f"{parameter}={default}")

    # Set the default too, because an emulator's transform reads defaults only.
    release = secrets.token_hex(16)
    template = pathlib.Path(".aws-sam/build/template.yaml")
    before, found, after = template.read_text().partition("0000000000")
    if not found or found in after:
        sys.exit(f"{template} must have exactly one default of Release")
    template.write_text(before + release + after)
    overrides.append("Release=" + release)

    # CloudFormation cannot delete a protected table. Without protection, a failed first
    # deployment leaves no resources and can be repeated.
    if first:
        unprotected = [o for o in overrides if not o.startswith("DeletionProtection=")] + ["DeletionProtection=false"]
        deploy(sam, environment, unprotected, "--on-failure", "DELETE")
        if not describe(stack, region):
            sys.exit("the stack was not created because the changeset was declined; run `make deploy` again to create it")
        deploy(sam, environment, overrides, "--no-confirm-changeset")  # adds protection only
    else:
        deploy(sam, environment, overrides)
    protection = next(o for o in overrides if o.startswith("DeletionProtection="))
    outputs = check_deployed(stack, region, protection, "Release=" + release)
    if environment == "production" and protection == "DeletionProtection=true":
        protect(stack, region)
    if environment != "local":  # an emulator's API has no routes
        check_api(outputs["BaseUrl"])


if __name__ == "__main__":
    main()

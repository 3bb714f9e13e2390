"""Deploys what `sam build` built, as samconfig.toml says of an environment, under a
Release of its own: by it every function gets a new version, even where a deployment of
the same was taken back."""

import os
import pathlib
import secrets
import subprocess
import sys
import urllib.error
import urllib.request

import boto3

import deployment

# What the API answers to anybody: one path of three functions each.
PUBLIC = "/.well-known/jwks.json", "/api/v1/openapi.json", "/dashboard"

LAYOUT = "OutcomesLayout"
RESTORED = "RestoredAuthTable", "RestoredCampaignsTable", "RestoredOutcomesTable", "RestoredOutcomesStream", "RestoredWebhooksTable"


def describe(stack, region):
    """Returns the stack of that name, None where there is none."""
    return deployment.describe(boto3.client("cloudformation", region_name=region), stack)


def credentials():
    """Returns the credentials in use, also those of a profile, as environment variables."""
    found = boto3.Session().get_credentials()
    if not found:
        sys.exit(deployment.NO_CREDENTIALS)
    frozen = found.get_frozen_credentials()
    return {"AWS_ACCESS_KEY_ID": frozen.access_key, "AWS_SECRET_ACCESS_KEY": frozen.secret_key, "AWS_SESSION_TOKEN": frozen.token or ""}


def check_keys(stack, region, environment, overrides):
    """Ends this program where a change of the signing keys would refuse valid tokens. The
    change takes steps. Where samconfig.toml does not name the keys, CloudFormation keeps
    those that are deployed."""
    named = {name: value.strip("\"'") for name, _, value in (o.partition("=") for o in overrides)
             if name in ("SigningKeys", "SigningKeysSwitchAt")}
    if not named or os.environ.get("END_TOKENS") == "1":
        return
    check = ["bin/admin", "rotate-signing-keys", "--stack", stack,
             "--keys", named.get("SigningKeys", ""), "--switch-at", named.get("SigningKeysSwitchAt", "")]
    env = os.environ | credentials() | {"AWS_REGION": region, "BY_MAKE": f"make ENV={environment}"}
    if subprocess.run(check, env=env).returncode:
        sys.exit("nothing was deployed; `make deploy` with END_TOKENS=1 leaves this check out, and clients may have to get new tokens")


def layout(deployed, overrides):
    """Returns the layout of outcomes to deploy with: the one that samconfig.toml names, else
    that of new stacks. A stack that is of the version before gets v1 first: that version
    runs beside the new one for minutes, and reads nothing else."""
    if deployed and LAYOUT not in deployment.parameters(deployed):
        return "v1"
    named = [value.strip("\"'") for name, _, value in (o.partition("=") for o in overrides) if name == LAYOUT]
    return (named or ["v2"])[-1]


def deploy(sam, environment, overrides, *flags):
    """Runs sam deploy, and ends this program where it fails."""
    status = subprocess.run([sam, "deploy", "--config-env", environment, "--parameter-overrides", *overrides, *flags]).returncode
    if status:
        sys.exit(status)


def check_deployed(stack, region, *wanted):
    """Ends this program where the stack does not have the parameters, and returns its
    outputs: sam takes a changeset that was declined for a success."""
    found = describe(stack, region) or {}
    have = deployment.parameters(found)
    for name, _, value in (w.partition("=") for w in wanted):
        if have.get(name) != value.strip("\"'"):
            sys.exit(f"the stack was not deployed: its {name} is {have.get(name)}, not {value}. Was the changeset declined? Run `make deploy` again")
    return {o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", [])}


def check_api(base):
    """Ends this program where the API answers 5xx: a stack can be complete and its
    routes call nothing."""
    for path in PUBLIC:
        try:
            urllib.request.urlopen(base + path, timeout=30).close()
        except urllib.error.HTTPError as error:
            if error.code >= 500:
                sys.exit(f"the stack is deployed, but GET {base}{path} answers {error.code}: read the log groups of the stack, or deploy the commit before")
        except OSError as error:
            print(f"warning: GET {base}{path} was not answered ({error}): check the DNS record of the domain")


def main():
    sam, environment = sys.argv[1:]
    settings = deployment.settings(environment)
    overrides = list(settings["parameter_overrides"])
    stack, region = settings["stack_name"], settings["region"]
    deployed = describe(stack, region)
    first = not deployed
    if not first:
        check_keys(stack, region, environment, overrides)

    # CloudFormation keeps the value of a parameter that is not named.
    for parameter, default in [(name, '""') for name in RESTORED] + [("DeletionProtection", "true")]:
        if not any(override.startswith(parameter + "=") for override in overrides):
            overrides.append(f"{parameter}={default}")
    wanted = layout(deployed, overrides)
    overrides = [o for o in overrides if not o.startswith(LAYOUT + "=")] + [f"{LAYOUT}={wanted}"]

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
        if not describe(stack, region):
            sys.exit("the stack was not created; run `make deploy` again when it may be")
        deploy(sam, environment, overrides, "--no-confirm-changeset")  # adds protection only
    else:
        deploy(sam, environment, overrides)
    protection = next(o for o in overrides if o.startswith("DeletionProtection="))
    outputs = check_deployed(stack, region, protection, "Release=" + release, f"{LAYOUT}={wanted}")
    if environment != "local":  # an emulator's API has no routes
        check_api(outputs["BaseUrl"])
    if wanted == "v1" and not first and LAYOUT not in deployment.parameters(deployed):
        print(f"outcomes are still kept as before ({LAYOUT}=v1): run `make deploy` again to move new batches to their own tables")


if __name__ == "__main__":
    main()

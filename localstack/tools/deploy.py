"""Deploys what `sam build` built, as samconfig.toml says of an environment, under a
Release of its own: by it every function gets a new version, even where a deployment of
the same was taken back."""

import os
import pathlib
import secrets
import subprocess
import sys

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomlkit as tomllib

sam, environment = sys.argv[1:]
settings = tomllib.loads(pathlib.Path("samconfig.toml").read_text())
overrides = list(settings[environment]["deploy"]["parameters"]["parameter_overrides"])

# A change of the signing keys takes steps. Where samconfig.toml does not name the keys,
# CloudFormation keeps those that are deployed.
named = {}
for override in overrides:
    name, _, value = override.partition("=")
    if name in ("SigningKeys", "SigningKeysSwitchAt"):
        named[name] = value.strip("\"'")
if named and os.environ.get("END_TOKENS") != "1":
    stack = settings[environment]["deploy"]["parameters"]["stack_name"]
    check = ["bin/admin", "rotate-signing-keys", "--stack", stack]
    check += ["--keys", named.get("SigningKeys", ""), "--switch-at", named.get("SigningKeysSwitchAt", "")]
    if subprocess.run(check, env=os.environ | {"BY_MAKE": f"make ENV={environment}"}).returncode:
        sys.exit("nothing was deployed; `make deploy` with END_TOKENS=1 leaves this check out, and clients may have to get new tokens")

# CloudFormation keeps the value of a parameter that is not named.
for table in "RestoredAuthTable", "RestoredCampaignsTable":
    if not any(override.startswith(table + "=") for override in overrides):
        overrides.append(table + '=""')

# As the default too: an emulator transforms a template by nothing else.
release = secrets.token_hex(16)
template = pathlib.Path(".aws-sam/build/template.yaml")
before, default, after = template.read_text().partition("0000000000")
if not default or default in after:
    sys.exit(f"{template} does not have the one default of Release: is it of this project?")
template.write_text(before + release + after)

arguments = ["deploy", "--config-env", environment, "--parameter-overrides", *overrides, "Release=" + release]
os.execv(sam, [sam, *arguments])

"""Deploys what `sam build` built, as samconfig.toml says of an environment, under a
Release of its own: by it every function gets a new version, even where a deployment of
the same was taken back."""

import os
import pathlib
import secrets
import sys

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomlkit as tomllib

sam, environment = sys.argv[1:]
settings = tomllib.loads(pathlib.Path("samconfig.toml").read_text())
overrides = list(settings[environment]["deploy"]["parameters"]["parameter_overrides"])

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

"""Deploys what `sam build` built, as samconfig.toml says of an environment, under a
Release of its own: by it the functions get a new version where they or a parameter
changed, and none where nothing did."""

import hashlib
import os
import pathlib
import sys

import tomlkit

sam, environment = sys.argv[1:]
built = pathlib.Path(".aws-sam/build")
settings = tomlkit.parse(pathlib.Path("samconfig.toml").read_text())
overrides = list(settings[environment]["deploy"]["parameters"]["parameter_overrides"])

release = hashlib.sha256("\n".join(overrides).encode())
for path in sorted(path for path in built.rglob("*") if path.is_file()):
    release.update(path.relative_to(built).as_posix().encode() + b"\0" + path.read_bytes())

# As the default too: an emulator transforms a template by nothing else.
template = built / "template.yaml"
before, default, after = template.read_text().partition("0000000000")
if not default or default in after:
    sys.exit(f"{template} does not have the one default of Release: is it of this project?")
template.write_text(before + release.hexdigest() + after)

arguments = ["deploy", "--config-env", environment, "--parameter-overrides", *overrides, "Release=" + release.hexdigest()]
os.execv(sam, [sam, *arguments])

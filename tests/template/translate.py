"""Translates the SAM template to plain CloudFormation as a deployment would, and lints the result.

`sam validate --lint` looks at the SAM form only; what SAM makes of an event source or a role shows first in
the translation.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# The translator asks for a region when it is imported.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402


class NoManagedPolicies:
    """Stands in for the list of AWS's managed policies: the template writes its own roles."""

    def load(self):
        return {}


def translate(template: Path) -> dict:
    """The plain template. The code's location is whatever a deployment uploads it to."""
    document = yaml_parse(template.read_text(encoding="utf-8"))
    document["Globals"]["Function"]["CodeUri"] = "s3://code/function.zip"
    return transform(document, {}, NoManagedPolicies())


def surprises(plain: dict) -> list[str]:
    """What SAM added behind our back and must not have."""
    found = []
    for name, resource in plain["Resources"].items():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::IAM::Role" and properties.get("ManagedPolicyArns"):
            found.append(f"{name}: has managed policies")
        if resource["Type"] == "AWS::Lambda::Function" and properties.get("Architectures") != ["arm64"]:
            found.append(f"{name}: is not arm64")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("template", type=Path)
    template = parser.parse_args().template
    plain = translate(template)
    problems = surprises(plain)
    for problem in problems:
        print(problem, file=sys.stderr)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "translated.json"
        path.write_text(json.dumps(plain, indent=1, default=str), encoding="utf-8")
        lint = subprocess.run(
            [Path(sys.executable).parent / "cfn-lint", "--regions", "us-east-1", "--template", path],
            check=False,
        )
    return 1 if problems else lint.returncode


if __name__ == "__main__":
    sys.exit(main())

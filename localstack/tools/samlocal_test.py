"""Tests that SAM reads the routes, throttles, permissions and variables of template.yaml,
and that it accepts the template that a change set passes to it.

make check-template runs it with SAM's Python environment. routes.json has the expected
routes, throttles and permissions: change it together with the template.
"""

import fnmatch
import json
import os
import pathlib
import re
import unittest

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")  # SAM requires a region

from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.cfn_language_extensions.api import process_template
from samcli.lib.cfn_language_extensions.models import PseudoParameterValues, TemplateProcessingContext
from samcli.lib.cfn_language_extensions.processors.foreach import ForEachProcessor
from samcli.lib.providers.api_provider import ApiProvider
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from samcli.yamlhelper import yaml_parse
from samtranslator.translator.transform import transform

import deployment

TOOLS = pathlib.Path(__file__).parent
TEMPLATE = TOOLS.parent.parent / "template.yaml"
RECORD = json.loads((TOOLS / "routes.json").read_text())
ANY = "x-amazon-apigateway-any-method"


class NoPolicies:
    def load(self):
        return {}


def looped():
    """Returns the template with only its loops expanded."""
    context = TemplateProcessingContext(fragment=yaml_parse(TEMPLATE.read_text()))
    ForEachProcessor().process_template(context)
    return context.fragment


def transformed(template, parameters):
    """Returns the resources after SAM's transform."""
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://packages/function.zip"
    return transform(template, parameters, NoPolicies())["Resources"]


def expanded(**parameters):
    return transformed(looped(), parameters)


def processed(environment, region="us-east-1", **parameters):
    """Returns the resources of a change set for an environment in samconfig.toml. There
    AWS::LanguageExtensions runs before SAM and replaces each parameter by its value, a text."""
    template = yaml_parse(TEMPLATE.read_text())
    defaults = {name: str(declared["Default"]) for name, declared in template["Parameters"].items()}
    overrides = dict(o.split("=", 1) for o in deployment.settings(environment)["parameter_overrides"])
    values = defaults | overrides | parameters
    pseudo = PseudoParameterValues(region, "123456789012", stack_name="campaign-dispatch")
    return transformed(process_template(template, values, pseudo), values)


def of_type(resources, kind):
    return {name: r["Properties"] for name, r in resources.items() if r["Type"] == kind}


def alias(resources, reference):
    """Returns an alias as function:name."""
    properties = resources[reference["Ref"]]["Properties"]
    return f'{properties["FunctionName"]["Ref"]}:{properties["Name"]}'


def route_key(path, method):
    return path if path == "$default" else f'{"ANY" if method == ANY else method.upper()} {path}'


def api_routes(resources):
    """Returns the routes of the API's body by key."""
    paths = resources["Api"]["Properties"]["Body"]["paths"]
    return {route_key(path, method): route for path, methods in paths.items() for method, route in methods.items()}


def invoked(variables, uri):
    """Returns the target of an integration as function:alias."""
    variable = re.search(r":function:\$\{stageVariables\.(\w+)\}/invocations$", uri)[1]
    return re.sub(r"\$\{(\w+)\}", r"\1", variables[variable]["Fn::Sub"])


def limits(settings):
    return [settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]]


def allowed(resources):
    """Yields the target and the source of each permission of the API."""
    for permission in of_type(resources, "AWS::Lambda::Permission").values():
        if permission["Principal"] != "apigateway.amazonaws.com":
            continue
        source, values = permission["SourceArn"]["Fn::Sub"]
        source = source.replace("${__Stage__}", values["__Stage__"])
        source = source.replace("${__ApiId__}", "${%s}" % values["__ApiId__"]["Ref"])
        yield alias(resources, permission["FunctionName"]), source.split(":")[-1]


def literal(name):
    """Returns the name of a resource, also from the Fn::Sub of an expanded loop."""
    return name["Fn::Sub"] if isinstance(name, dict) else name


def references(value):
    """Yields the names of the resources that a part of the template references."""
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key == "Ref" or key == "DependsOn" and isinstance(item, str):
            yield literal(item)
        elif key == "Fn::GetAtt":
            yield item.split(".")[0] if isinstance(item, str) else literal(item[0])
        elif key == "Fn::Sub":
            text = item if isinstance(item, str) else item[0]
            yield from re.findall(r"\$\{(\w+)[.}]", text)
            yield from references(item if isinstance(item, list) else [])
        elif key == "DependsOn":
            yield from item
        else:
            yield from references(item)


class Expansion(unittest.TestCase):
    def setUp(self):
        self.resources = expanded()
        self.stage = self.resources["ApiApiGatewayDefaultStage"]["Properties"]

    def test_routes_call_the_same_aliases(self):
        got = {}
        for key, route in api_routes(self.resources).items():
            separator, (start, end) = route["x-amazon-apigateway-integration"]["uri"]["Fn::Join"]
            got[key] = invoked(self.stage["StageVariables"], separator.join([start["Fn::Sub"], end]))
        self.assertEqual(got, RECORD["routes"])
        aliases = {alias(self.resources, {"Ref": name}) for name in of_type(self.resources, "AWS::Lambda::Alias")}
        self.assertLessEqual(set(got.values()), aliases)

    def test_integrations(self):
        for key, route in api_routes(self.resources).items():
            integration = dict(route["x-amazon-apigateway-integration"])
            del integration["uri"]
            want = {"type": "aws_proxy", "httpMethod": "POST", "payloadFormatVersion": "2.0"}
            self.assertEqual(integration, want, key)
            self.assertEqual(route.get("isDefaultRoute", False), key == "$default", key)

    def test_throttles(self):
        got = {key: limits(settings) for key, settings in self.stage["RouteSettings"].items()}
        got["default"] = limits(self.stage["DefaultRouteSettings"])
        self.assertEqual(got, RECORD["throttles"])
        self.assertLessEqual(set(self.stage["RouteSettings"]), set(api_routes(self.resources)))

    def test_stage(self):
        self.assertEqual((self.stage["StageName"], self.stage["AutoDeploy"]), ("$default", True))
        self.assertEqual(self.stage["AccessLogSettings"]["DestinationArn"], {"Fn::GetAtt": ["HttpApiLogs", "Arn"]})
        self.assertEqual(self.stage["Tags"]["service"], "campaign-dispatch")
        mapping = self.resources["ApiDomainMapping"]["Properties"]
        self.assertEqual((mapping["ApiId"], mapping["Stage"]), ({"Ref": "Api"}, {"Ref": "ApiApiGatewayDefaultStage"}))
        (server,) = self.resources["Api"]["Properties"]["Body"]["servers"]
        self.assertEqual(
            server["x-amazon-apigateway-endpoint-configuration"],
            {"disableExecuteApiEndpoint": {"Fn::If": ["HasDomain", True, False]}},
        )

    def test_permissions_cover_the_routes_and_no_other_api(self):
        got = list(allowed(self.resources))
        self.assertEqual({called for called, _ in got}, set(RECORD["permissions"]))
        for called, source in got:
            self.assertTrue(fnmatch.fnmatchcase(source, RECORD["permissions"][called]), f"{called} from {source}")
        for key, called in RECORD["routes"].items():
            request = "${Api}/$default/" + re.sub(r"\{[^}]+\}", "any", key.replace(" ", "", 1))
            self.assertTrue(any(called == c and fnmatch.fnmatchcase(request, s) for c, s in got), f"{key} is not allowed")

    # A reference to an alias in the API's body would be circular, through the alarms and
    # the user pool. cfn-lint does not detect that.
    def test_no_resource_depends_on_itself(self):
        resources = expanded(GradualDeployment="true")
        needs = {name: {n for n in references(r) if n in resources} for name, r in resources.items()}
        while ready := [name for name, open_ in needs.items() if not open_ & needs.keys()]:
            for name in ready:
                del needs[name]
        self.assertEqual(sorted(needs), [])

    def test_aws_gets_no_endpoint(self):
        for name, function in of_type(self.resources, "AWS::Lambda::Function").items():
            self.assertEqual(function["Environment"]["Variables"]["AWS_ENDPOINT_URL"], {"Ref": "AWS::NoValue"}, name)


class ChangeSet(unittest.TestCase):
    def test_sam_accepts_parameters_that_are_texts(self):
        for environment in "staging", "production":
            for domain in "", "api.example.com":
                with self.subTest(environment=environment, domain=domain):
                    self.check_api(processed(environment, DomainName=domain), closed=domain != "")

    def check_api(self, resources, closed):
        """Checks the URIs, and whether the API has no default address."""
        called = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:"
        for key, route in api_routes(resources).items():
            function = RECORD["routes"][key].split(":")[0]
            want = called + "${stageVariables." + function + "}/invocations"
            self.assertEqual(route["x-amazon-apigateway-integration"]["uri"], want, key)
        (server,) = resources["Api"]["Properties"]["Body"]["servers"]
        self.assertIs(server["x-amazon-apigateway-endpoint-configuration"]["disableExecuteApiEndpoint"], closed)

    # AWS::LanguageExtensions may resolve a Fn::Sub in part. Without the escape, the next
    # transform takes the text for the name of a resource.
    def test_no_text_needs_an_escape(self):
        self.assertEqual(re.findall(r"\$\{![^}]*\}", TEMPLATE.read_text()), [])


class Regions(unittest.TestCase):
    """The region in samconfig.toml is one setting: the template names none."""

    def test_the_other_region_is_one_setting_away(self):
        for region, other in ("us-east-1", "sa-east-1"), ("sa-east-1", "us-east-1"):
            for environment in "staging", "production":
                with self.subTest(region=region, environment=environment):
                    text = json.dumps(processed(environment, region), default=str)
                    self.assertIn(region, text)
                    self.assertNotIn(other, text)

    # CloudFront takes certificates of us-east-1 only, whatever the stack's region.
    def test_only_the_certificates_of_cloudfront_name_a_region(self):
        lines = [line for line in TEMPLATE.read_text().splitlines() if re.search(r"\b(us|sa)-east-1\b", line)]
        self.assertEqual([line.split(":")[0].strip() for line in lines], ["MediaCertificateArn", "EventsCertificateArn"])

    def test_staging_is_in_the_region_of_production(self):
        self.assertEqual(deployment.settings("staging")["region"], deployment.settings("production")["region"])


def holds(condition, parameters):
    """Returns the value of a condition of a rule."""
    (function, operands), = condition.items()
    if function == "Fn::Equals":
        return len({parameters[o["Ref"]] if isinstance(o, dict) else o for o in operands}) == 1
    values = [holds(operand, parameters) for operand in operands]
    return {"Fn::Not": not values[0], "Fn::And": all(values), "Fn::Or": any(values)}[function]


def refusals(**parameters):
    """Returns the names of the rules that refuse parameters of a stack of staging."""
    template = yaml_parse(TEMPLATE.read_text())
    values = {name: str(declared["Default"]) for name, declared in template["Parameters"].items()} | parameters
    return [name for name, rule in template["Rules"].items()
            if holds(rule.get("RuleCondition", {"Fn::Equals": ["", ""]}), values) and not all(holds(a["Assert"], values) for a in rule["Assertions"])]


class Domains(unittest.TestCase):
    """A domain moves between stacks: the new one has the certificate alone first, because a domain belongs to one distribution."""

    certificate = "arn:aws:acm:us-east-1:123456789012:certificate/example"

    def test_distributions(self):
        for name, domain, certificate in ("EventsDistribution", "EventsDomain", "EventsCertificateArn"), (
                "MediaDistribution", "MediaDomainName", "MediaCertificateArn"):
            for aliases in [], ["a.example.com"]:
                with self.subTest(name=name, aliases=aliases):
                    resources = processed("staging", **{domain: "".join(aliases), certificate: self.certificate})
                    config = resources[name]["Properties"]["DistributionConfig"]
                    self.assertEqual(config.get("Aliases", []), aliases)
                    self.assertEqual(config["ViewerCertificate"]["AcmCertificateArn"], self.certificate)

    def test_without_a_certificate(self):
        resources = processed("staging")
        self.assertEqual(resources["MediaDistribution"]["Properties"]["DistributionConfig"]["ViewerCertificate"], {"CloudFrontDefaultCertificate": True})
        self.assertEqual(resources["EventsDistribution"]["Condition"], "HasEventsCertificate")

    def test_a_domain_needs_its_certificate(self):
        for domain, certificate, rule in ("EventsDomain", "EventsCertificateArn", "EventsDomainHasACertificate"), (
                "MediaDomainName", "MediaCertificateArn", "MediaDomainHasACertificate"):
            self.assertEqual(refusals(**{domain: "a.example.com"}), [rule])
            self.assertEqual(refusals(**{certificate: self.certificate}), [])
            self.assertEqual(refusals(**{domain: "a.example.com", certificate: self.certificate}), [])


class Traces(unittest.TestCase):
    # Lambda refuses a function that is traced and whose role may not write traces. A role that gets the permission in the
    # deployment that needs it can be too late: each function depends on its role, and the permission is always there.
    def test_traced_functions_may_write_traces(self):
        resources = processed("staging", Tracing="on")
        untraced = []
        for name, function in of_type(resources, "AWS::Lambda::Function").items():
            mode, traced = function["TracingConfig"]["Mode"], function["Environment"]["Variables"]["TRACED"]
            role, _ = function["Role"]["Fn::GetAtt"]
            self.assertEqual("xray:PutTraceSegments" in json.dumps(resources[role]), mode != "PassThrough", name)
            if mode == "PassThrough":
                untraced.append(name)
            else:
                self.assertEqual(mode, {"Fn::If": ["Traced", "Active", "PassThrough"]}, name)
            self.assertEqual(traced, "0" if name in untraced else {"Fn::If": ["Traced", "1", "0"]}, name)
        # Strangers call these without a limit of a tenant, and their header could ask for a trace.
        self.assertEqual(sorted(untraced), ["CampaignsFunction", "DashboardFunction", "EventsFunction", "TokenFunction"])

    def test_no_condition_of_the_permission(self):
        self.assertEqual(processed("staging", Tracing="on")["SendRole"], processed("staging", Tracing="off")["SendRole"])


class SamLocal(unittest.TestCase):
    def setUp(self):
        self.stacks, _ = SamLocalStackProvider.get_stacks(str(TEMPLATE), language_extensions_enabled=True)

    def test_start_api_finds_the_function_of_every_route(self):
        got = {}
        for route in ApiProvider(self.stacks).routes:
            method = route.methods[0] if len(route.methods) == 1 else "ANY"
            got[route_key(route.path, method)] = route.function_name
        self.assertEqual(got, {key: called.split(":")[0] for key, called in RECORD["routes"].items()})

    def test_stage_variables_are_texts(self):
        for name, value in ApiProvider(self.stacks).api.stage_variables.items():
            self.assertIsInstance(value, str, name)

    def test_every_variable_can_be_set(self):
        functions = SamFunctionProvider(self.stacks, use_raw_codeuri=True)
        for function in functions.get_all():
            declared = function.environment["Variables"]
            self.assertIn("AWS_ENDPOINT_URL", declared, function.name)
            want = {name: f"{name} of {function.name}" for name in declared}
            runner = LocalLambdaRunner(None, functions, ".", ".", env_vars_values={function.name: want})
            got = runner._make_env_vars(function).resolve()
            self.assertEqual({name: got[name] for name in want}, want)


if __name__ == "__main__":
    unittest.main()

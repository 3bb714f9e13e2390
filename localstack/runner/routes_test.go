package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const routedTemplate = `
Resources:
  Send:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/send/
      Events:
        One: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: get, Path: "/one/{id}"}}
        Frames: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn}}
        Rest: {Type: HttpApi, Properties: {ApiId: !Ref Api}}
`

func TestPackagedMakesRoutesOfEvents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		template string
		want     map[string]string
	}{
		"routes":     {routedTemplate, map[string]string{"SendOneRoute": "GET /one/{id}", "SendRestRoute": "$default", "SendIntegration": ""}},
		"one is out": {without(routedTemplate, "One:"), map[string]string{"SendRestRoute": "$default", "SendIntegration": ""}},
		"none":       {sampleTemplate, map[string]string{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, madeRoutes(t, test.template)); diff != "" {
				t.Errorf("the packaged template has other routes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPackagedRoutesCallTheAlias(t *testing.T) {
	t.Parallel()
	got, err := packaged([]byte(routedTemplate), []Package{{Name: "send"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Ref: Send.Alias", "Fn::Sub: integrations/${SendIntegration}", "ApiId: !Ref Api"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestPackagedKeepsResourcesNamedLikeARoute(t *testing.T) {
	t.Parallel()
	template := routedTemplate + "  SendOneRoute: {Type: AWS::SQS::Queue}\n"
	if got, err := packaged([]byte(template), []Package{{Name: "send"}}, nil); err == nil {
		t.Errorf("got %s, want an error", got)
	}
}

// madeRoutes returns the keys of the packaged template's routes by their names, ""
// for an integration.
func madeRoutes(t *testing.T, template string) map[string]string {
	t.Helper()
	text, err := packaged([]byte(template), []Package{{Name: "send"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Resources map[string]struct {
			Type       string `yaml:"Type"`
			Properties struct {
				RouteKey string `yaml:"RouteKey"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	made := map[string]string{}
	for name, r := range document.Resources {
		if strings.HasPrefix(r.Type, "AWS::ApiGatewayV2::") {
			made[name] = r.Properties.RouteKey
		}
	}
	return made
}

// without returns the text without the lines that hold a word.
func without(text, word string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

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

func TestPackaged_Routes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		template string
		want     map[string]string
	}{
		"routes":      {routedTemplate, map[string]string{"SendOneRoute": "GET /one/{id}", "SendRestRoute": "$default", "SendIntegration": ""}},
		"one removed": {without(routedTemplate, "One:"), map[string]string{"SendRestRoute": "$default", "SendIntegration": ""}},
		"none":        {sampleTemplate, map[string]string{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, routesOf(t, test.template)); diff != "" {
				t.Errorf("routes of the packaged template (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPackaged_RoutesToAlias(t *testing.T) {
	t.Parallel()
	got, err := packaged([]byte(routedTemplate), []Package{{Name: "send"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Ref: Send.Alias", "Fn::Sub: integrations/${SendIntegration}", "ApiId: !Ref Api"} {
		if !strings.Contains(got, want) {
			t.Errorf("the template does not contain %q:\n%s", want, got)
		}
	}
}

func TestPackaged_RouteNameTaken(t *testing.T) {
	t.Parallel()
	template := routedTemplate + "  SendOneRoute: {Type: AWS::SQS::Queue}\n"
	if got, err := packaged([]byte(template), []Package{{Name: "send"}}, nil); err == nil {
		t.Errorf("got %s, want an error", got)
	}
}

// routesOf returns the route keys of the packaged template by resource name. The key
// of an integration is "".
func routesOf(t *testing.T, template string) map[string]string {
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
	routes := map[string]string{}
	for name, r := range document.Resources {
		if strings.HasPrefix(r.Type, "AWS::ApiGatewayV2::") {
			routes[name] = r.Properties.RouteKey
		}
	}
	return routes
}

// without returns the text without the lines that contain a word.
func without(text, word string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

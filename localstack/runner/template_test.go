package runner

import (
	"strings"
	"testing"
)

const sampleTemplate = `
Resources:
  Queue:
    Type: AWS::SQS::Queue
  Send:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/send/
      Role: !GetAtt Role.Arn
      Events:
        Frames:
          Properties:
            Queue: !Sub ${Queue.Arn}
`

func TestPackaged_CodeURI(t *testing.T) {
	t.Parallel()
	got, err := packaged([]byte(sampleTemplate), []Package{{Name: "send", Key: "send-1.zip"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CodeUri: s3://artifacts/send-1.zip\n", "!GetAtt Role.Arn", "!Sub ${Queue.Arn}"} {
		if !strings.Contains(got, want) {
			t.Errorf("the template does not contain %q:\n%s", want, got)
		}
	}
}

func TestPackaged_InvalidTemplate(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"not YAML":      "a: [",
		"empty":         "",
		"no resources":  "Parameters: {}",
		"not built":     sampleTemplate,
		"no CodeUri":    strings.Replace(sampleTemplate, "CodeUri: functions/send/", "Timeout: 3", 1),
		"other CodeUri": strings.Replace(sampleTemplate, "functions/send/", "elsewhere/send", 1),
	}
	for name, template := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := packaged([]byte(template), []Package{{Name: "other"}}, nil); err == nil {
				t.Errorf("got %s, want an error", got)
			}
		})
	}
}

// The emulator's transform reads defaults only: without this a new Release would not
// publish a new version.
func TestPackaged_ParameterDefaults(t *testing.T) {
	t.Parallel()
	const template = "Parameters:\n  Release: {Type: String, Default: \"0\"}\nResources: {}\n"
	got, err := packaged([]byte(template), nil, map[string]string{"Release": "12", "Unknown": "3"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Parameters:\n    Release: {Type: String, Default: \"12\"}\nResources: {}\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

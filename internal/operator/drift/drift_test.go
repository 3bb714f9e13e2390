package drift_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/operator/drift"
)

// formation imitates CloudFormation as its API reference describes it. Each action
// returns its answers in turn.
type formation map[string][]string

func (f formation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	action := r.FormValue("Action")
	if len(f[action]) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		code := append(f["fails with"], "InvalidAction")[0]
		fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>no such action</Message></Error></ErrorResponse>`, code)
		return
	}
	fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>", action, f[action][0])
	f[action] = f[action][1:]
}

const (
	detection = "<StackDriftDetectionId>d1</StackDriftDetectionId>"
	running   = "<DetectionStatus>DETECTION_IN_PROGRESS</DetectionStatus>"
	complete  = "<DetectionStatus>DETECTION_COMPLETE</DetectionStatus>"
	failed    = "<DetectionStatus>DETECTION_FAILED</DetectionStatus><DetectionStatusReason>too much at once</DetectionStatusReason>"
)

func resource(name, status, differences string) string {
	return "<member><LogicalResourceId>" + name + "</LogicalResourceId><ResourceType>AWS::SQS::Queue</ResourceType><StackResourceDriftStatus>" +
		status + "</StackResourceDriftStatus><PropertyDifferences>" + differences + "</PropertyDifferences></member>"
}

func detect(t *testing.T, f formation) (found drift.Report, looks int, err error) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	detector := drift.Detector{Stack: "s", Tick: time.Millisecond, Client: cloudformation.New(cloudformation.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})}
	found, err = detector.Detect(t.Context(), func() { looks++ })
	return found, looks, err
}

func TestDetect_Pages(t *testing.T) {
	t.Parallel()
	hidden := "<member><PropertyPath>/VisibilityTimeout</PropertyPath><ExpectedValue>360</ExpectedValue><ActualValue>30</ActualValue><DifferenceType>NOT_EQUAL</DifferenceType></member>"
	found, looks, err := detect(t, formation{
		"DetectStackDrift":                  {detection},
		"DescribeStackDriftDetectionStatus": {running, running, complete},
		"DescribeStackResourceDrifts": {
			"<StackResourceDrifts>" + resource("Fine", "IN_SYNC", "") + resource("Hidden", "MODIFIED", hidden) + "</StackResourceDrifts><NextToken>2</NextToken>",
			"<StackResourceDrifts>" + resource("Gone", "DELETED", "") + resource("Unseen", "NOT_CHECKED", "") + "</StackResourceDrifts><NextToken>3</NextToken>",
			"<StackResourceDrifts>" + resource("Last", "DELETED", "") + "</StackResourceDrifts>",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := drift.Report{Checked: 4, Differences: []drift.Difference{
		{Resource: "Hidden", Type: "AWS::SQS::Queue", Property: "/VisibilityTimeout", Expected: "360", Actual: "30"},
		{Resource: "Gone", Type: "AWS::SQS::Queue", Expected: "a resource", Actual: "deleted"},
		{Resource: "Last", Type: "AWS::SQS::Queue", Expected: "a resource", Actual: "deleted"},
	}}
	if diff := cmp.Diff(want, found); diff != "" || looks != 2 {
		t.Errorf("%d polls before the end, want 2 (-want +got):\n%s", looks, diff)
	}
}

// The detection failed for some resources; the others are reported.
func TestDetect_PartialFailure(t *testing.T) {
	t.Parallel()
	found, _, err := detect(t, formation{
		"DetectStackDrift": {detection}, "DescribeStackDriftDetectionStatus": {failed},
		"DescribeStackResourceDrifts": {"<StackResourceDrifts>" + resource("Gone", "DELETED", "") + "</StackResourceDrifts>"},
	})
	want := drift.Report{Checked: 1, Failed: "too much at once", Differences: []drift.Difference{
		{Resource: "Gone", Type: "AWS::SQS::Queue", Expected: "a resource", Actual: "deleted"},
	}}
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestDetect_TransientError(t *testing.T) {
	t.Parallel()
	_, _, err := detect(t, formation{"fails with": {"InternalFailure"}})
	if err == nil || errors.Is(err, drift.ErrNotSupported) {
		t.Errorf("got %v", err)
	}
}

func TestDetect_NotSupported(t *testing.T) {
	t.Parallel()
	if _, _, err := detect(t, formation{}); !errors.Is(err, drift.ErrNotSupported) {
		t.Errorf("got %v", err)
	}
}

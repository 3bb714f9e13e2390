package awsconf_test

import (
	"testing"

	"campaign-dispatch/internal/awsconf"
)

func TestLocalSwitch(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "")
	for _, test := range []struct {
		endpoint, value string
		want            bool
	}{
		{"http://127.0.0.1:4566", "1", true},
		{"http://127.0.0.1:4566", "0", false},
		{"http://127.0.0.1:4566", "true", false},
		{"http://127.0.0.1:4566", "", false},
		{"", "1", false}, // on AWS
	} {
		t.Setenv("AWS_ENDPOINT_URL", test.endpoint)
		t.Setenv("LOCAL_WEBHOOKS", test.value)
		if got := awsconf.LocalSwitch("LOCAL_WEBHOOKS"); got != test.want {
			t.Errorf("with the endpoint %q and the value %q: %v, want %v", test.endpoint, test.value, got, test.want)
		}
	}
}

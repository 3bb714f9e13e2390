package e2e_test

import (
	"strings"
	"testing"

	"campaign-dispatch/localstack/samlocal"
	"campaign-dispatch/localstack/stackenv"
)

// In a container, addresses at 127.0.0.1 and logical ids of tables do not work.
func TestSamEnv(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	all, err := samlocal.Read(t.Context(), env, "machine.example")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"AUTH_TABLE": env["AUTH_TABLE"], "CAMPAIGNS_TABLE": env["CAMPAIGNS_TABLE"], "BUCKET": env["BUCKET"],
		"SEND_QUEUE_URL": env["SEND_QUEUE_URL"], "SIGNING_KEY_ID": env["SIGNING_KEY_ID"], "SESSION_KEY_ID": env["SESSION_KEY_ID"],
		"RCS_URL":          strings.Replace(env["RCS_URL"], "127.0.0.1", "machine.example", 1),
		"AWS_ENDPOINT_URL": strings.Replace(env["AWS_ENDPOINT_URL"], "127.0.0.1", "machine.example", 1),
		"BASE_URL":         env["BASE_URL"], // clients call it
	}
	found := map[string]bool{}
	for function, variables := range all {
		if _, ok := variables["AWS_ENDPOINT_URL"]; !ok {
			t.Errorf("%s has no AWS_ENDPOINT_URL and would call AWS", function)
		}
		for name, value := range variables {
			if expected, ok := want[name]; ok && value != expected {
				t.Errorf("%s has %s=%q, want %q", function, name, value, expected)
			}
			found[name] = true
		}
	}
	for name := range want {
		if !found[name] {
			t.Errorf("no function has %s", name)
		}
	}
	if len(all) != 14 {
		t.Errorf("got the variables of %d functions, want 14", len(all))
	}
}

package tools_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Commands act on what was typed, and not on what .local/stack.env or the first call of the API has exported.
func TestMake_TypedVariables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ target, typed, want string }{
		{"revoke", "", "make revoke needs CLIENT_ID"},
		{"revoke", "CLIENT_ID=rcs_typed", "--client-id 'rcs_typed'"},
		{"pause", "AGENT=typed", "pause  --agent 'typed'"},
		{"erase-number", "TENANT=typed", "make erase-number needs PHONE"},
	} {
		cmd := exec.CommandContext(t.Context(), "make", append([]string{"--dry-run", test.target}, strings.Fields(test.typed)...)...)
		cmd.Dir = "../.."
		cmd.Env = append(withoutMake(), "CLIENT_ID=rcs_exported", "TENANT=exported", "PHONE=+5511987654321", "ALL=1")
		said, _ := cmd.CombinedOutput() // of a refusal too
		if text := strings.Join(strings.Fields(string(said)), " "); !strings.Contains(text, strings.Join(strings.Fields(test.want), " ")) {
			t.Errorf("make %s %s: %s; want %q", test.target, test.typed, said, test.want)
		}
	}
}

package main

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign/localtime"
)

// deployedWith creates a stack with the signing key parameters, and returns its name.
func deployedWith(c tool, use, switchAt string) string {
	c.t.Helper()
	name := "signing-keys-" + rand.Text()
	parameter := func(value string) map[string]string { return map[string]string{"Type": "String", "Default": value} }
	deploy(c.t, c.env, name, map[string]any{
		"Parameters": map[string]any{"SigningKeys": parameter(use), "SigningKeysSwitchAt": parameter(switchAt)},
		"Resources":  map[string]any{"Topic": map[string]string{"Type": "AWS::SNS::Topic"}},
	})
	return name
}

func ago(d time.Duration) string { return localtime.FormatUTC(time.Now().Add(-d)) }

func TestRotateSigningKeys_Steps(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	c.env["STACK_NAME"] = deployedWith(c, "B", "")
	begun := c.ok("rotate-signing-keys")
	switchAt, _ := begun["switchAt"].(string)
	if at, err := time.Parse(time.RFC3339, switchAt); begun["signingKeys"] != "BtoA" || err != nil || time.Until(at) < 90*time.Minute {
		t.Errorf("first step %v, %v", begun, err)
	}
	got := c.run("rotate-signing-keys")
	for _, words := range []string{"key B signs", "  SigningKeys=BtoA\n", "  SigningKeysSwitchAt=", "`make deploy` before ", "rotate-signing-keys shows the last step"} {
		if !strings.Contains(got.stdout, words) {
			t.Errorf("%q is missing in %q", words, got.stdout)
		}
	}
	c.env["STACK_NAME"] = deployedWith(c, "BtoA", ago(30*time.Minute))
	if got := c.run("rotate-signing-keys"); got.code != 1 || !strings.Contains(got.stderr, "tokens of key B are valid until ") {
		t.Errorf("too early: %+v", got)
	}
	c.env["STACK_NAME"] = deployedWith(c, "BtoA", ago(time.Hour))
	if got := c.run("rotate-signing-keys"); got.code != 0 || !strings.Contains(got.stdout, "  SigningKeys=A\n") || strings.Contains(got.stdout, "SwitchAt=") {
		t.Errorf("last step: %+v", got)
	}
}

func TestRotateSigningKeys_Check(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	changing, changed := ago(30*time.Minute), ago(time.Hour)
	for name, test := range map[string]struct {
		use, switchAt string // deployed
		args          string
		code          int
		says          string
	}{
		"as they are":          {"A", "", "--keys A", 0, "all valid tokens stay valid"},
		"in time":              {"A", "", "--keys AtoB --switch-at " + ago(-2*time.Hour), 0, "all valid tokens stay valid"},
		"too late":             {"A", "", "--keys AtoB --switch-at " + ago(-30*time.Minute), 1, "at least 1h0m0s after the start of the deployment"},
		"the other key":        {"A", "", "--keys B", 1, "would refuse its tokens"},
		"too early":            {"AtoB", changing, "--keys B", 1, "then SigningKeys=B"},
		"the instant is kept":  {"AtoB", changing, "--keys AtoB", 0, "all valid tokens stay valid"},
		"the keys are kept":    {"AtoB", changed, "--switch-at " + changed, 0, "all valid tokens stay valid"},
		"after an hour":        {"AtoB", changed, "--keys B", 0, "all valid tokens stay valid"},
		"without an instant":   {"A", "", "--keys AtoB", 2, "invalid SigningKeysSwitchAt"},
		"a key that is no key": {"A", "", "--keys C", 2, "A, AtoB, B or BtoA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := tool{t, with(c.env, "STACK_NAME", deployedWith(tool{t, c.env}, test.use, test.switchAt))}
			got := own.run(append([]string{"rotate-signing-keys"}, strings.Fields(test.args)...)...)
			if got.code != test.code || !strings.Contains(got.stdout+got.stderr, test.says) {
				t.Errorf("%+v, want exit %d and %q", got, test.code, test.says)
			}
		})
	}
}

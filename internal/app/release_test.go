package app_test

import "testing"

// Lambda makes no new version of a function that did not change, so each
// deployment's Release has to change all of them.
func TestFunctionsCarryTheirRelease(t *testing.T) {
	t.Parallel()
	variables := member(member(section(t, "Globals")["Function"], "Environment"), "Variables")
	if got := value(member(variables, "RELEASE")); got != "!Ref Release" {
		t.Errorf("RELEASE is %q, want !Ref Release", got)
	}
}

package app_test

import "testing"

// Lambda creates no new version of an unchanged function, so each deployment's Release
// must change all of them.
func TestTemplate_FunctionsHaveRelease(t *testing.T) {
	t.Parallel()
	variables := member(member(section(t, "Globals")["Function"], "Environment"), "Variables")
	if got := value(member(variables, "RELEASE")); got != "!Ref Release" {
		t.Errorf("RELEASE is %q, want !Ref Release", got)
	}
}

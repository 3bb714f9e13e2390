package sheet_test

import (
	"testing"

	"campaign-dispatch/internal/intake/sheet"
)

func TestNoValue(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]bool{
		"#N/D": true, "#VALOR!": true, "#REF!": true, "#DIV/0!": true, "#NÚM!": true, "########": true, `\N`: true, "NULL": true,
		"": false, "#": false, "##": false, "#1": false, "#VIP": false, "#N/D Souza": false, "Null": false, "Nulo": false, "N": false, `\Nova`: false,
	} {
		if got := sheet.NoValue(cell); got != want {
			t.Errorf("%q: %v, want %v", cell, got, want)
		}
	}
}

package web_test

import (
	"errors"
	"fmt"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// Who is overtaken by a colleague sees that, whenever it happens, and a form that was sent twice is saved.
func TestSetting_Change(t *testing.T) {
	t.Parallel()
	lost, broken := fmt.Errorf("save: %w", campaign.ErrLostRace), errors.New("broken")
	for name, test := range map[string]struct {
		shown, stored, later int // the form says 5
		saving, reading      error
		want                 string
	}{
		"saved":                      {1, 1, 1, nil, nil, "1 becomes 5, saved"},
		"overtaken before":           {1, 2, 2, nil, nil, "overtaken by 2"},
		"overtaken by the same":      {1, 5, 5, nil, nil, "saved"},
		"overtaken while it saves":   {1, 1, 2, lost, nil, "1 becomes 5, overtaken by 2"},
		"sent twice":                 {1, 1, 5, lost, nil, "1 becomes 5, saved"},
		"saving fails":               {1, 1, 1, broken, nil, "1 becomes 5, broken"},
		"reading fails after a race": {1, 1, 2, lost, broken, "1 becomes 5, broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			err := web.Setting[int]{
				Read:      func() (int, error) { return test.later, test.reading },
				Has:       func(stored int) bool { return stored == 5 },
				Stale:     func(stored int) bool { return stored != test.shown },
				Save:      func(stored int) error { got += fmt.Sprint(stored, " becomes 5, "); return test.saving },
				Saved:     func() error { got += "saved"; return nil },
				Overtaken: func(stored int) error { got += fmt.Sprint("overtaken by ", stored); return nil },
			}.Change(test.stored)
			if err != nil {
				got += err.Error()
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

package keyrotation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/operator/keyrotation"
)

var now = time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC)

// in returns the keys of a use that switches after wait, or switched before if wait is
// negative.
func in(use string, wait time.Duration) keyrotation.Keys {
	return keyrotation.Keys{Use: use, SwitchAt: now.Add(wait)}
}

func only(key string) keyrotation.Keys { return keyrotation.Keys{Use: key} }

func TestNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deployed, want keyrotation.Keys
		err            string
	}{
		"key A":                    {only("A"), in("AtoB", 2*time.Hour-30*time.Second), ""},
		"key B":                    {only("B"), in("BtoA", 2*time.Hour-30*time.Second), ""},
		"before the switch":        {deployed: in("AtoB", time.Second), err: "key B signs from 2026-11-20T12:00:31Z, and tokens of key A are valid until 2026-11-20T13:00:31Z"},
		"within the hour":          {deployed: in("AtoB", time.Second-time.Hour), err: "retry after that"},
		"after an hour":            {in("AtoB", -time.Hour), only("B"), ""},
		"after an hour, back to A": {in("BtoA", -time.Hour), only("A"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.deployed.Next(now)
			if got != c.want || (err == nil) != (c.err == "") || !strings.Contains(fmt.Sprint(err), c.err) {
				t.Errorf("got %v, %v; want %v, %q", got, err, c.want, c.err)
			}
		})
	}
}

func TestNext_PassesCheck(t *testing.T) {
	t.Parallel()
	for _, deployed := range []keyrotation.Keys{only("A"), only("B"), in("AtoB", -time.Hour), in("BtoA", -2*time.Hour)} {
		next, err := deployed.Next(now)
		if err != nil {
			t.Fatal(err)
		}
		if err := keyrotation.Check(deployed, next, now); err != nil {
			t.Errorf("%v to %v: %v", deployed, next, err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const soon, late, over = 30 * time.Minute, 3 * time.Hour, -time.Hour
	for name, c := range map[string]struct {
		deployed, wanted keyrotation.Keys
		err              string // part of the message, "" for no error
	}{
		"nothing changes":                           {only("B"), only("B"), ""},
		"a deployment during the change":            {in("AtoB", soon), in("AtoB", soon), ""},
		"a change begins":                           {only("A"), in("AtoB", time.Hour), ""},
		"a change begins from key B":                {only("B"), in("BtoA", time.Hour), ""},
		"too late for the switch":                   {only("A"), in("AtoB", time.Hour-time.Second), "SigningKeysSwitchAt is"},
		"the switch has passed":                     {only("A"), in("AtoB", over), "SigningKeysSwitchAt is"},
		"the other key at once":                     {only("A"), only("B"), "SigningKeys=AtoB"},
		"a change from a key that does not sign":    {only("A"), in("BtoA", late), "SigningKeys=AtoB"},
		"the previous key goes before the switch":   {in("AtoB", soon), only("B"), "then SigningKeys=B"},
		"the previous key goes within the hour":     {in("AtoB", over+time.Second), only("B"), "then SigningKeys=B"},
		"the previous key goes after the hour":      {in("AtoB", over), only("B"), ""},
		"a change is called off in time":            {in("AtoB", late), only("A"), ""},
		"a change is called off too late":           {in("AtoB", soon), only("A"), "then SigningKeys=B"},
		"a change is called off after the switch":   {in("AtoB", over), only("A"), "then SigningKeys=B"},
		"a switch is moved in time":                 {in("AtoB", late), in("AtoB", late+time.Hour), ""},
		"a switch is moved too near":                {in("AtoB", late), in("AtoB", soon), "SigningKeysSwitchAt is"},
		"a switch is moved too late":                {in("AtoB", soon), in("AtoB", late), "then SigningKeys=B"},
		"the next change before this one has ended": {in("AtoB", over), in("BtoA", late), "then SigningKeys=B"},
		"a change is turned round":                  {in("AtoB", late), in("BtoA", late), "then SigningKeys=B"},
		"the commit before the end":                 {only("B"), in("AtoB", over), ""},
		"the commit before the change":              {only("B"), only("A"), "SigningKeys=BtoA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := keyrotation.Check(c.deployed, c.wanted, now)
			if (err == nil) != (c.err == "") || !strings.Contains(fmt.Sprint(err), c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const instant = "2026-11-20T15:00:00Z"
	at := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		use, switchAt string
		want          keyrotation.Keys
		err           string
	}{
		"a stack that names none": {want: only("A")},
		"key B":                   {use: "B", want: only("B")},
		"an instant that passed":  {use: "B", switchAt: instant, want: only("B")},
		"a change":                {use: "AtoB", switchAt: instant, want: keyrotation.Keys{Use: "AtoB", SwitchAt: at}},
		"no instant":              {use: "BtoA", err: "invalid SigningKeysSwitchAt"},
		"no RFC 3339":             {use: "BtoA", switchAt: "tomorrow", err: "invalid SigningKeysSwitchAt"},
		"no key":                  {use: "C", err: `invalid SigningKeys "C"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := keyrotation.Parse(c.use, c.switchAt)
			if !got.SwitchAt.Equal(c.want.SwitchAt) || got.Use != c.want.Use || (err == nil) != (c.err == "") || !strings.Contains(fmt.Sprint(err), c.err) {
				t.Errorf("got %v, %v; want %v, %q", got, err, c.want, c.err)
			}
		})
	}
}

// The keys of sessions change together with the keys of access tokens.
func TestSessionLife_WithinKeyLife(t *testing.T) {
	t.Parallel()
	if web.SessionLife > accesstoken.Lifetime {
		t.Errorf("sessions last %s, keys verify for %s after their replacement", web.SessionLife, accesstoken.Lifetime)
	}
}

package linearity

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"net/http"
	"testing"

	"github.com/anishathalye/porcupine"

	"campaign-dispatch/localstack/stackenv"
)

// A checker that takes every history shows nothing.
func TestJudge_WrongHistories(t *testing.T) {
	t.Parallel()
	first := call{numbers: 1}
	more := func(batch int, numbers uint8) call { return call{batch: batch, numbers: numbers} }
	op := func(client int, c call, from, to int64, a answer) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: c, Call: from, Return: to, Output: a}
	}
	for name, test := range map[string]struct {
		history []porcupine.Operation
		wrong   bool
	}{
		"one after the other": {[]porcupine.Operation{op(0, first, 0, 1, accepted), op(1, more(1, 2), 2, 3, accepted)}, false},
		"a number twice":      {[]porcupine.Operation{op(0, first, 0, 1, accepted), op(1, more(1, 1), 2, 3, accepted)}, true},
		"a number twice, at the same time": {
			[]porcupine.Operation{op(0, first, 0, 1, accepted), op(1, more(1, 2), 2, 9, accepted), op(2, more(2, 2), 2, 9, accepted)}, true,
		},
		"refused for nothing": {[]porcupine.Operation{op(0, first, 0, 1, accepted), op(1, more(1, 2), 2, 3, "number_already_dispatched")}, true},
		"refused for a call that came later": {
			[]porcupine.Operation{op(0, first, 0, 1, accepted), op(1, more(1, 2), 2, 3, "batch_already_used"), op(2, more(1, 4), 4, 5, accepted)}, true,
		},
		"refused for a call at the same time": {
			[]porcupine.Operation{op(0, first, 0, 1, accepted), op(1, more(1, 2), 2, 9, "batch_already_used"), op(2, more(1, 4), 2, 9, accepted)}, false,
		},
		"half of the reasons": {
			[]porcupine.Operation{op(0, first, 0, 1, accepted), op(1, more(1, 2), 2, 3, accepted), op(1, more(1, 2), 4, 5, "batch_already_used")}, true,
		},
		"two campaigns of one name": {
			[]porcupine.Operation{op(0, first, 0, 1, accepted), op(1, call{campaign: 1, numbers: 1}, 2, 3, accepted)}, true,
		},
		"nobody knows, and it was": {
			[]porcupine.Operation{op(0, first, 0, 99, unknown), op(1, more(1, 1), 2, 3, "number_already_dispatched")}, false,
		},
		"nobody knows, and it was not": {[]porcupine.Operation{op(0, first, 0, 99, unknown), op(1, call{numbers: 1}, 2, 3, accepted)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := judge(test.history); errors.Is(err, errNoOrder) != test.wrong {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestDispatch_Linearizable(t *testing.T) {
	t.Parallel()
	const histories = 5
	service, err := OnStack(t.Context(), stackenv.Load(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := service.Check(t.Context(), histories, mathrand.New(mathrand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Unknown > 0 || got.Accepted < histories || got.Calls != histories*Clients*callsEach {
		t.Errorf("%+v", got)
	}
}

// Where no call is answered, every order is possible, and to search them all takes hours.
func TestCheck_Interrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	service := Service{baseURL: "http://127.0.0.1:1", http: http.DefaultClient}
	r, err := service.Check(ctx, 1, mathrand.New(mathrand.NewPCG(1, 2)))
	if !errors.Is(err, context.Canceled) || r.Histories != 0 {
		t.Errorf("%+v (%v), want no history and the interruption", r, err)
	}
}

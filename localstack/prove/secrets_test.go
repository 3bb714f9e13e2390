package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBetrayalsAreFoundAndNotRepeated(t *testing.T) {
	t.Parallel()
	known := map[string]string{"CLIENT_SECRET": "s3cr3t-of-acme"}
	for text, want := range map[string][]string{
		`{"level":"INFO","msg":"sent","batch_id":"0190b6a4-7a1c-4b9f-8a10-0190b6a47a1c","frame":3}`: nil,
		`START RequestId: 0190b6a4-7a1c-4b9f-8a10-551198765432 Version: 1`:                          nil,
		`{"at":1763720000123,"count":551199}`:                                                       nil,
		`to +5511987654321`:                                                                         {"log: a number"},
		`5511987654321`:                                                                             {"log: a number"},
		`{"phone":"5511987654321"}`:                                                                 {"log: a number"},
		`to 551132654321 failed`:                                                                    {"log: a number"},
		`Bearer eyJhbGciOiJFUzI1NiJ9.eyJ0ZW5hbnQiOiJhIn0.sig`:                                       {"log: a token"},
		`endpoint whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw is new`:                                    {"log: a signing secret"},
		`Olá Ana, seu pedido 12 saiu para entrega.`:                                                 {"log: a message's text"},
		`refused: s3cr3t-of-acme`:                                                                   {"log: CLIENT_SECRET"},
		`ana@acme.example signed in`:                                                                {"log: an e-mail address"},
	} {
		got := betrayals(text, known, "log")
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

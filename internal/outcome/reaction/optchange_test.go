package reaction_test

import (
	"testing"

	"campaign-dispatch/internal/outcome/reaction"
)

// Digits are part of an answer: a keyword with an hour or a number is none.
func TestOptChangeOf_Digits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Parar 18:00", "parar1", "1 parar", "Parar ②", "Começar 2", "2ª começar", "começar às 10"} {
		for _, postback := range []string{"", "data"} {
			if _, changes := reaction.OptChangeOf(reaction.EventReply, text, postback); changes {
				t.Errorf("%q with the data %q changes the opt-out", text, postback)
			}
		}
	}
	if out, changes := reaction.OptChangeOf(reaction.EventReply, "«Começar!»", ""); out || !changes {
		t.Error("a keyword with signs around it changes nothing")
	}
}

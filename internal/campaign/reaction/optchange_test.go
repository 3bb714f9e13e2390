package reaction_test

import (
	"testing"

	"campaign-dispatch/internal/campaign/reaction"
)

// Digits are part of what a person types: a keyword with an hour or a number is none. The suggestions of a menu have numbers.
func TestOptChangeOf_Digits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Parar 18:00", "parar1", "1 parar", "Parar ②", "Começar 2", "2ª começar", "começar às 10"} {
		if _, changes, _ := reaction.OptChangeOf(reaction.EventReply, text, ""); changes {
			t.Errorf("typing %q changes the opt-out", text)
		}
	}
	for text, data := range map[string]string{"1. Parar": "data", "Parar (2)": "data", "Não": "parar-1"} {
		if out, changes, _ := reaction.OptChangeOf(reaction.EventReply, text, data); !out || !changes {
			t.Errorf("a tap on %q with the data %q does not opt out", text, data)
		}
	}
	if out, changes, _ := reaction.OptChangeOf(reaction.EventReply, "«Começar!»", ""); out || !changes {
		t.Error("a keyword with signs around it changes nothing")
	}
}

package templates

import (
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign/pattern"
)

// place matches the name of a card ("c2"), of a suggestion ("s1", "card-s1", "c2-s1"), or
// of a list of them without the last number.
var place = pattern.AtFirstUse(`^(?:(card|c\d+)-)?([cs])(\d*)$`)

// change adds, opens, closes, removes or moves a card or a suggestion, by a command such
// as "up c2". It returns the name of the element that gets the focus.
func (d *draft) change(command string) (focus string) {
	verb, name, _ := strings.Cut(command, " ")
	at := place().FindStringSubmatch(name)
	if at == nil {
		return ""
	}
	n, _ := strconv.Atoi(at[3]) // 0 to add one
	if at[2] == "c" {
		d.Cards, n = edit(d.Cards, verb, n, openCard)
		return focusOf(verb, "c", n, len(d.Cards), "title")
	}
	list, prefix := d.suggestionsOf(at[1])
	if verb == "open" || verb == "add" {
		d.closeSuggestions()
	}
	*list, n = edit(*list, verb, n, openSuggestion)
	return focusOf(verb, prefix+"s", n, len(*list), "kind")
}

func openCard(c *draftCard, open bool)             { c.set(open) }
func openSuggestion(s *draftSuggestion, open bool) { s.set(open) }

// set opens or closes the card or the suggestion. An open one no longer refers to the base
// version, because its fields can differ from it.
func (s *shown) set(open bool) {
	if s.open = open; open {
		s.base = ""
	}
}

// suggestionsOf returns the suggestions of a card, or those below the message, and the
// prefix of their names.
func (d *draft) suggestionsOf(card string) (list *[]draftSuggestion, prefix string) {
	switch n, _ := strconv.Atoi(strings.TrimPrefix(card, "c")); {
	case card == "card":
		return &d.Card.Suggestions, "card-"
	case n > 0 && n <= len(d.Cards):
		return &d.Cards[n-1].Suggestions, card + "-"
	}
	return &d.Suggestions, ""
}

func (d *draft) closeSuggestions() {
	lists := [][]draftSuggestion{d.Suggestions, d.Card.Suggestions}
	for _, c := range d.Cards {
		lists = append(lists, c.Suggestions)
	}
	for _, list := range lists {
		for i := range list {
			list[i].open = false
		}
	}
}

// edit changes a list at its nth element, and returns the element that the change leads
// to, 0 for none.
func edit[T any](all []T, verb string, n int, open func(*T, bool)) (edited []T, at int) {
	if verb == "add" {
		all, n = append(all, *new(T)), len(all)+1
	}
	if n < 1 || n > len(all) {
		return all, 0
	}
	switch verb {
	case "add", "open":
		for i := range all {
			open(&all[i], i == n-1)
		}
	case "close":
		open(&all[n-1], false)
	case "remove":
		all = slices.Delete(all, n-1, n)
		return all, min(n, len(all))
	case "up":
		n = swap(all, n, n-1)
	case "down":
		n = swap(all, n, n+1)
	}
	return all, n
}

// swap swaps two elements, if both exist, and returns the new place of the first one.
func swap[T any](all []T, from, to int) int {
	if to < 1 || to > len(all) {
		return from
	}
	all[from-1], all[to-1] = all[to-1], all[from-1]
	return to
}

// focusOf returns the name of the element that gets the focus after a change of the nth
// of a list's elements: the first field of what was opened, else a button.
func focusOf(verb, list string, n, last int, field string) string {
	name := list + strconv.Itoa(n)
	switch {
	case n == 0:
		return "add " + list
	case verb == "add" || verb == "open":
		return name + "-" + field
	case verb == "up" && n == 1 && last > 1:
		return "down " + name
	case verb == "down" && n == last && last > 1:
		return "up " + name
	case verb == "up" || verb == "down":
		return verb + " " + name
	}
	return "open " + name
}

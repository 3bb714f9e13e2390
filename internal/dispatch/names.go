package dispatch

import "bytes"

// names are the distinct names of a request's variables. Each is kept once: a call of 2,000 messages has
// thousands of variables, and few names.
type names struct {
	all    [][]byte
	byName map[string]int32
}

// add returns the index of a name in all, to which it appends a new one. guess is the likely index: most messages have
// their variables in one order.
func (n *names) add(guess int, name []byte) int32 {
	if guess < len(n.all) && bytes.Equal(n.all[guess], name) {
		return int32(guess) //nolint:gosec // a body has fewer names than bytes
	}
	index, ok := n.byName[string(name)]
	if !ok {
		if n.byName == nil {
			n.byName = map[string]int32{}
		}
		index = int32(len(n.all)) //nolint:gosec // as above
		n.all, n.byName[string(name)] = append(n.all, name), index
	}
	return index
}

// indexes returns the index of each of the wanted names, -1 for one that no message has.
func (n *names) indexes(wanted []string) []int32 {
	indexes := make([]int32, len(wanted))
	for i, name := range wanted {
		index, ok := n.byName[name]
		if !ok {
			index = -1
		}
		indexes[i] = index
	}
	return indexes
}

// find returns the variable whose name has an index in request.names, nil if there is none.
func find(vars []variable, name int32) *variable {
	for i := range vars {
		if vars[i].name == name {
			return &vars[i]
		}
	}
	return nil
}

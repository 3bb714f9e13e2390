package app_test

import (
	"go/ast"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A role allows the rows that its function's calls name, also on paths that no other test takes. The calls are the methods
// of the interfaces that the function wires, and their keys are those of keys.go that these methods use.
func TestTemplate_RolesAllowKeys(t *testing.T) {
	t.Parallel()
	store := newRowCalls(t)
	for name := range functions(t) {
		if !dependencies(t, filepath.Join("functions", name))["internal/aws/dynamo"] {
			continue
		}
		called, granted := map[rowCall]bool{}, map[string][]string{}
		for _, method := range wiredMethods(t, name) {
			maps.Copy(called, store.of(method, map[string]bool{}))
		}
		for _, g := range grants(t, roleOf(name)) {
			for _, action := range texts(g.Actions) {
				granted[action] = append(granted[action], g.Condition.Keys.Leading...)
			}
		}
		for call := range called {
			fits := func(prefix string) bool { return strings.HasPrefix(call.prefix, strings.TrimSuffix(prefix, "*")) }
			if allowed, not := slices.ContainsFunc(granted[call.action], fits), notReached[name][call]; allowed == not {
				t.Errorf("%s: %s of %s* is allowed: %v, and is listed as not reached: %v", name, call.action, call.prefix, allowed, not)
			}
		}
		if len(called) == 0 {
			t.Errorf("%s calls nothing", name)
		}
	}
}

// rowCall is an action on rows whose keys have a prefix.
type rowCall struct{ action, prefix string }

// notReached are calls behind methods that a function's interfaces have, but that the function does not reach. Most are of
// operators, or of divided opt-outs, see notCalled.
var notReached = map[string]map[rowCall]bool{
	"dashboard": {
		{"dynamodb:BatchGetItem", "CALLS#"}: true, {"dynamodb:UpdateItem", "CALLS#"}: true, // calls of clients
		{"dynamodb:BatchGetItem", "I#"}: true, {"dynamodb:PutItem", "I#"}: true,
		{"dynamodb:UpdateItem", "A#"}: true, {"dynamodb:PutItem", "A#"}: true, {"dynamodb:ConditionCheckItem", "A#"}: true,
		{"dynamodb:UpdateItem", "DIRECTORY"}: true, {"dynamodb:PutItem", "DIRECTORY"}: true, {"dynamodb:DeleteItem", "DIRECTORY"}: true,
		{"dynamodb:Query", "DIRECTORY"}: true, // the rates of agents, which operators set
		{"dynamodb:PutItem", "PAUSE#"}:  true, {"dynamodb:DeleteItem", "PAUSE#"}: true,
	},
	"dispatch": {{"dynamodb:DeleteItem", "OPT#"}: true, {"dynamodb:GetItem", "OPT#"}: true, {"dynamodb:PutItem", "OPT#"}: true},
	"exports": { // it lists no exports, and reads no heads
		{"dynamodb:BatchGetItem", "C#"}: true, {"dynamodb:BatchGetItem", "EXPORT#"}: true, {"dynamodb:Query", "EXPORTS#"}: true,
	},
	"intake": {
		{"dynamodb:DeleteItem", "OPT#"}: true, {"dynamodb:PutItem", "OPT#"}: true,
		{"dynamodb:BatchGetItem", "CALLS#"}: true, {"dynamodb:UpdateItem", "CALLS#"}: true, {"dynamodb:BatchGetItem", "CRED#"}: true,
		{"dynamodb:BatchGetItem", "I#"}: true, {"dynamodb:PutItem", "I#"}: true,
	},
	"notify": {{"dynamodb:Query", "W#"}: true},                                        // of the index, whose keys have another prefix
	"revoke": {{"dynamodb:PutItem", "W#"}: true, {"dynamodb:UpdateItem", "N#"}: true}, // happenings, and cancelling before the first batch
	"send":   {{"dynamodb:DeleteItem", "OPT#"}: true, {"dynamodb:PutItem", "OPT#"}: true},
	"sweep":  {{"dynamodb:Query", "W#"}: true}, // of the index
}

// rowCalls are the functions and methods of the package dynamo by name.
type rowCalls struct {
	builders map[string]string // prefixes of the functions of keys.go and of constants
	declared map[string][]*ast.BlockStmt
}

// buildsKey matches the functions that return a key, or a partition key.
var buildsKey = regexp.MustCompile(`^(of(Campaign|Tenant|Templates)|[a-z]+[A-Za-z]*(Key|PK))$`)

func newRowCalls(t *testing.T) rowCalls {
	t.Helper()
	r := rowCalls{map[string]string{}, map[string][]*ast.BlockStmt{}}
	var builders []*ast.FuncDecl
	for _, file := range sources(t, path.Join("internal", "aws", "dynamo")) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				r.addConstants(d, keyPrefixes(t))
			case *ast.FuncDecl:
				if d.Recv == nil && buildsKey.MatchString(d.Name.Name) && !strings.HasPrefix(d.Name.Name, "read") {
					builders = append(builders, d)
				} else if d.Body != nil && d.Name.Name != "send" { // which makes a write that is built elsewhere
					r.declared[d.Name.Name] = append(r.declared[d.Name.Name], d.Body)
				}
			}
		}
	}
	for range builders { // some are built on others
		for _, b := range builders {
			r.builders[b.Name.Name] = r.prefix(b.Body)
		}
	}
	return r
}

// addConstants adds the constants that are the beginning of a partition key of a table.
func (r rowCalls) addConstants(d *ast.GenDecl, prefixes map[string]bool) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			continue
		}
		name := v.Names[0].Name
		if text := literal(v.Values[0]); name != "deadPrefix" && name != "parkedPrefix" && (prefixes[text] || prefixes[text+"*"]) {
			r.builders[name] = text
		}
	}
}

func literal(n ast.Node) string {
	l, ok := n.(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, _ := strconv.Unquote(l.Value)
	return text
}

// prefix returns the first text of the key that a builder returns, "" if it begins with a value.
func (r rowCalls) prefix(body ast.Node) (prefix string) {
	ended := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text := literal(n); !ended && text != "pk" && text != "sk" {
				before, _, _ := strings.Cut(text, "%")
				prefix, ended = prefix+before, !strings.HasSuffix(prefix+before, "#") || before != text
			}
		case *ast.Ident:
			if known, ok := r.builders[n.Name]; ok && !ended {
				prefix += known
			} else if prefix != "" {
				ended = true
			}
		}
		return !ended
	})
	return prefix
}

// of returns the calls of a function and of what it calls.
func (r rowCalls) of(name string, seen map[string]bool) map[rowCall]bool {
	all := map[rowCall]bool{}
	if seen[name] {
		return all
	}
	seen[name] = true
	for _, body := range r.declared[name] {
		whole, direct := r.keysIn(body), map[string]bool{}
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if action := actionOf[n.Sel.Name]; ofSDK(n.X) && strings.HasPrefix(action, "dynamodb:") {
					direct[action] = true
				}
			case *ast.CallExpr:
				callee := r.called(n)
				actions, keys := r.closure(callee)
				if len(actions) > 0 && len(keys) > 0 {
					maps.Copy(all, r.of(callee, seen))
				} else if len(actions) > 0 {
					add(all, cmpOr(r.keysIn(n), whole), actions)
				}
			}
			return true
		})
		add(all, whole, direct)
	}
	return all
}

func cmpOr(a, b map[string]bool) map[string]bool {
	if len(a) > 0 {
		return a
	}
	return b
}

func add(all map[rowCall]bool, prefixes, actions map[string]bool) {
	for prefix := range prefixes {
		for action := range actions {
			all[rowCall{action, prefix}] = true
		}
	}
}

// keysIn returns the prefixes that a node uses, also by functions that only build rows.
func (r rowCalls) keysIn(node ast.Node) map[string]bool {
	keys := map[string]bool{}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if prefix := r.builders[n.Name]; prefix != "" {
				keys[prefix] = true
			}
		case *ast.CallExpr:
			if actions, of := r.closure(r.called(n)); len(actions) == 0 {
				maps.Copy(keys, of)
			}
		}
		return true
	})
	return keys
}

// closure returns the actions and prefixes of a function and of what it calls, in any combination.
func (r rowCalls) closure(name string) (actions, prefixes map[string]bool) {
	actions, prefixes = map[string]bool{}, map[string]bool{}
	r.collect(name, actions, prefixes, map[string]bool{})
	return actions, prefixes
}

func (r rowCalls) collect(name string, actions, prefixes, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	for _, body := range r.declared[name] {
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if action := actionOf[n.Sel.Name]; ofSDK(n.X) && strings.HasPrefix(action, "dynamodb:") {
					actions[action] = true
				}
			case *ast.Ident:
				if prefix := r.builders[n.Name]; prefix != "" {
					prefixes[prefix] = true
				}
			case *ast.CallExpr:
				r.collect(r.called(n), actions, prefixes, seen)
			}
			return true
		})
	}
}

// called returns the function or method of the package that a call may be of, "" for none.
func (r rowCalls) called(call *ast.CallExpr) string {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.IndexExpr:
		if generic, ok := f.X.(*ast.Ident); ok {
			name = generic.Name
		}
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); !ok || !slices.Contains(notStores, x.Name) {
			name = f.Sel.Name
		}
	}
	if r.declared[name] == nil {
		return ""
	}
	return name
}

// notStores are packages and values whose functions have the names of a store's.
var notStores = []string{"l", "strings", "slices", "maps", "errors", "fmt", "time", "ledger", "campaign"}

package stacktemplate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// A role allows what its function calls on tables and objects, and no more. A
// function calls what the use cases that it wires name in their interfaces; the
// packages dynamo and blob say by which actions.
func TestRolesAllowWhatIsCalled(t *testing.T) {
	t.Parallel()
	adapters := map[string]map[string]calls{"dynamo": methods(t, "dynamo"), "blob": methods(t, "blob")}
	for name := range functions(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[string]bool{}
			if slices.Contains([]string{"campaigns", "dashboard", "notify", "revoke", "send"}, name) {
				want["s3:ListBucket"] = true // not called: a missing object is to be told from a forbidden one
			}
			if name == "feed" {
				for _, action := range []string{"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"} {
					want["dynamodb:"+action] = true // by Lambda, which reads the stream in the function's place
				}
			}
			wired := dependencies(t, filepath.Join("functions", name))
			for adapter, declared := range adapters {
				if !wired[filepath.Join("internal", adapter)] {
					continue
				}
				for folder := range wired {
					for _, method := range interfaceMethods(t, folder) {
						collect(declared, method, want, map[string]bool{})
					}
				}
			}
			if name == "sweep" {
				delete(want, "s3:GetObject") // of an event's content: only outcomes applies events
			}
			if name == "send" {
				delete(want, "dynamodb:DeleteItem") // of divided opt-outs: only outcomes records opt-outs
			}
			if name == "revoke" {
				delete(want, "s3:PutObject") // of a campaign's end: one that was cancelled has none to tell
			}
			if name == "dispatch" {
				delete(want, "dynamodb:GetItem") // of the last outcomes: campaign.CallLimit has a method of that name too
			}
			if name == "dashboard" {
				delete(want, "dynamodb:DeleteItem") // tenants and pauses are an operator's to change
				delete(want, "dynamodb:ConditionCheckItem")
			}
			if diff := cmp.Diff(sorted(want), sorted(allowed(t, name))); diff != "" {
				t.Errorf("the role of %s and what it calls differ (-called +allowed):\n%s", name, diff)
			}
		})
	}
}

// calls are what a function or method of an adapter does.
type calls struct {
	actions []string // of AWS
	locals  []string // functions and methods of its own package
}

// collect adds the actions of a method and of what it calls.
func collect(declared map[string]calls, method string, into, seen map[string]bool) {
	if seen[method] {
		return
	}
	seen[method] = true
	for _, action := range declared[method].actions {
		into[action] = true
	}
	for _, local := range declared[method].locals {
		collect(declared, local, into, seen)
	}
}

// actionOf are the actions behind the names that adapters use of the SDK. What a
// transaction does is allowed by the actions of its items.
var actionOf = map[string]string{
	"GetItem": "dynamodb:GetItem", "BatchGetItem": "dynamodb:BatchGetItem", "NewQueryPaginator": "dynamodb:Query", "Query": "dynamodb:Query",
	"PutItem": "dynamodb:PutItem", "UpdateItem": "dynamodb:UpdateItem", "DeleteItem": "dynamodb:DeleteItem",
	"BatchWriteItem": "dynamodb:BatchWriteItem",
	"Put":            "dynamodb:PutItem", "Update": "dynamodb:UpdateItem", "Delete": "dynamodb:DeleteItem",
	"ConditionCheck": "dynamodb:ConditionCheckItem",
	"GetObject":      "s3:GetObject", "PutObject": "s3:PutObject", "DeleteObject": "s3:DeleteObject",
}

// methods returns what each function and method of an adapter calls.
func methods(t *testing.T, adapter string) map[string]calls {
	t.Helper()
	declared := map[string]calls{}
	for _, file := range sources(t, filepath.Join("internal", adapter)) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			c := declared[f.Name.Name]
			ast.Inspect(f.Body, func(n ast.Node) bool {
				c.note(n)
				return true
			})
			declared[f.Name.Name] = c
		}
	}
	return declared
}

// note takes down what a node does: of the SDK it uses a client's method, or a
// package's function or type; of its own package it calls something.
func (c *calls) note(n ast.Node) {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if action, ok := actionOf[n.Sel.Name]; ok && ofSDK(n.X) {
			c.actions = append(c.actions, action)
		}
	case *ast.CallExpr:
		switch called := n.Fun.(type) {
		case *ast.Ident:
			c.locals = append(c.locals, called.Name)
		case *ast.SelectorExpr:
			if _, ok := called.X.(*ast.Ident); ok {
				c.locals = append(c.locals, called.Sel.Name)
			}
		}
	}
}

func ofSDK(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == "Client"
	case *ast.Ident:
		return x.Name == "types" || x.Name == "dynamodb"
	}
	return false
}

func interfaceMethods(t *testing.T, folder string) (names []string) {
	t.Helper()
	for _, file := range sources(t, folder) {
		ast.Inspect(file, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					for _, name := range m.Names {
						names = append(names, name.Name)
					}
				}
			}
			return true
		})
	}
	return names
}

// dependencies returns the folders of the packages that one imports, directly or not.
func dependencies(t *testing.T, folder string) map[string]bool {
	t.Helper()
	found := map[string]bool{folder: true}
	for next := []string{folder}; len(next) > 0; next = next[1:] {
		for _, file := range sources(t, next[0]) {
			for _, i := range file.Imports {
				path, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "campaign-dispatch/")
				if ours && !found[path] {
					found[path] = true
					next = append(next, path)
				}
			}
		}
	}
	return found
}

func sources(t *testing.T, folder string) []*ast.File {
	t.Helper()
	paths, err := fs.Glob(os.DirFS(root), filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sources in %s: %v", folder, err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), root+path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// allowed returns what the role of a function may do on tables and objects.
func allowed(t *testing.T, function string) map[string]bool {
	t.Helper()
	actions := map[string]bool{}
	for _, g := range grants(t, roleOf(function)) {
		for _, action := range texts(g.Actions) {
			if strings.HasPrefix(action, "dynamodb:") || strings.HasPrefix(action, "s3:") {
				actions[action] = true
			}
		}
	}
	return actions
}

// texts returns a text, or the texts of a list.
func texts(node yaml.Node) []string {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}
	}
	var all []string
	for _, child := range node.Content {
		all = append(all, child.Value)
	}
	return all
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// A role allows exactly the calls of its function on tables and objects. The calls are
// the methods of the interfaces that the function wires; the packages dynamo and s3 map
// them to actions.
func TestTemplate_RolesAllowCalls(t *testing.T) {
	t.Parallel()
	adapters := map[string]map[string]calls{"dynamo": methods(t, "dynamo"), "s3": methods(t, "s3")}
	for name := range functions(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[string]bool{}
			if slices.Contains([]string{"campaigns", "dashboard", "exports", "intake", "notify", "revoke", "send"}, name) {
				want["s3:ListBucket"] = true // not called: without it, a missing object would be 403
			}
			if name == "feed" {
				for _, action := range []string{"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"} {
					want["dynamodb:"+action] = true // by Lambda, which reads the stream in the function's place
				}
			}
			wired := dependencies(t, filepath.Join("functions", name))
			for adapter, declared := range adapters {
				if !wired[path.Join("internal/aws", adapter)] {
					continue
				}
				for _, method := range wiredMethods(t, name) {
					collect(declared, method, want, map[string]bool{})
				}
			}
			for _, action := range notCalled[name] {
				delete(want, action)
			}
			if diff := cmp.Diff(sorted(want), sorted(allowed(t, name))); diff != "" {
				t.Errorf("the role of %s and what it calls differ (-called +allowed):\n%s", name, diff)
			}
		})
	}
}

// notCalled are actions behind methods that a function's interfaces have, but that the
// function does not reach.
var notCalled = map[string][]string{
	"campaigns": {"s3:DeleteObject"},                         // a list is deleted by its row
	"dispatch":  {"dynamodb:GetItem", "dynamodb:DeleteItem"}, // campaign.CallLimit has a method of the same name; only outcomes divides opt-outs
	"exports":   {"dynamodb:BatchGetItem"},                   // the heads of batches, which it does not read
	"intake":    {"dynamodb:DeleteItem"},                     // only outcomes divides opt-outs
	"revoke":    {"s3:PutObject"},                            // the end of a campaign that was not cancelled
	"send":      {"dynamodb:DeleteItem"},                     // only outcomes divides opt-outs
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
	"CreateMultipartUpload": "s3:PutObject", "CompleteMultipartUpload": "s3:PutObject", "CopyObject": "s3:PutObject",
	"UploadPart": "s3:PutObject", "AbortMultipartUpload": "s3:AbortMultipartUpload", "HeadObject": "s3:GetObject", "PresignGetObject": "s3:GetObject",
	"NewListPartsPaginator": "s3:ListMultipartUploadParts", "NewListObjectsV2Paginator": "s3:ListBucket",
}

// methods returns what each function and method of an adapter calls.
func methods(t *testing.T, adapter string) map[string]calls {
	t.Helper()
	declared := map[string]calls{}
	for _, file := range sources(t, path.Join("internal/aws", adapter)) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || adapter == "dynamo" && f.Name.Name == "send" {
				continue // send makes a write that is built elsewhere, as a transaction does
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
		return x.Name == "types" || x.Name == "dynamodb" || x.Name == "s3"
	}
	return false
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

// parsed keeps the sources of each folder.
var parsed sync.Map

func sources(t *testing.T, folder string) []*ast.File {
	t.Helper()
	if files, ok := parsed.Load(folder); ok {
		return files.([]*ast.File)
	}
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
	parsed.Store(folder, files)
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

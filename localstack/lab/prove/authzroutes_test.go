package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web"
)

// pageRoute is a route of the dashboard.
type pageRoute struct {
	method, pattern string
	least           web.Role // "" if it needs no session
}

func (p pageRoute) String() string { return p.method + " " + p.pattern }

const webPath = "campaign-dispatch/internal/dashboard/web"

// registering are the methods of web.UI that register a route, with the HTTP method; the
// patterns of the last two have theirs.
var registering = map[string]string{"Get": "GET", "Post": "POST", "Public": "", "WithoutSession": ""}

// pageRoutes reads the routes of the dashboard from its source, so that none is left
// out: all are registered by a method of web.UI.
func pageRoutes(ctx context.Context, t *testing.T) (all []pageRoute) {
	t.Helper()
	out, err := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,Export,GoFiles", "-export", "-deps", "./internal/dashboard/...").Output()
	check(t, err)
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	exports, files := map[string]string{}, token.NewFileSet()
	known := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for read := json.NewDecoder(bytes.NewReader(out)); ; { // dependencies come first
		var p listed
		if err := read.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !strings.HasPrefix(p.ImportPath, "campaign-dispatch/internal/dashboard") {
			continue
		}
		var sources []*ast.File
		for _, name := range p.GoFiles {
			source, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			check(t, err)
			sources = append(sources, source)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		_, err := (&types.Config{Importer: known}).Check(p.ImportPath, files, sources, info)
		check(t, err)
		for _, source := range sources {
			for node := range ast.Preorder(source) {
				if call, ok := node.(*ast.CallExpr); ok {
					all = append(all, routeOf(t, info, call, p.ImportPath)...)
				}
			}
		}
	}
}

// routeOf returns the route that a call registers, or none.
func routeOf(t *testing.T, info *types.Info, call *ast.CallExpr, within string) []pageRoute {
	t.Helper()
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	called, ok := info.Uses[selector.Sel].(*types.Func)
	if !ok {
		return nil
	}
	if strings.HasPrefix(called.FullName(), "(*net/http.ServeMux).Handle") && within != webPath {
		t.Fatalf("%s registers a route without web.UI", within)
	}
	if len(call.Args) < 3 || !called.Exported() || !strings.HasPrefix(called.FullName(), "(*"+webPath+".UI).") {
		return nil
	}
	method, ok := registering[called.Name()]
	if !ok {
		t.Fatalf("web.UI registers routes with %s: add it to registering", called.Name())
	}
	pattern := constantOf(t, info, call.Args[1])
	if method != "" {
		return []pageRoute{{method, pattern, web.Role(constantOf(t, info, call.Args[2]))}}
	}
	if before, after, found := strings.Cut(pattern, " "); found {
		method, pattern = before, after
	}
	return []pageRoute{{method, pattern, ""}}
}

// constantOf returns the text of a constant that registers a route.
func constantOf(t *testing.T, info *types.Info, of ast.Expr) string {
	t.Helper()
	value := info.Types[of].Value
	if value == nil || value.Kind() != constant.String {
		t.Fatalf("a route is registered whose path or role is not constant: %s", types.ExprString(of))
	}
	return constant.StringVal(value)
}

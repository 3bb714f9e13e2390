package wronghands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
)

// pageRoute is a route that an area of the dashboard registers.
type pageRoute struct {
	method, pattern string
	kind            string // the method of web.UI: View, AdminView, Change, Own, Public or WithoutSession
}

const webPath = "campaign-dispatch/internal/dashboard/web"

// methods are those of what is registered by each method of web.UI; the last two
// name theirs with the pattern.
var methods = map[string]string{"View": "GET", "AdminView": "GET", "Change": "POST", "Own": "POST", "Public": "", "WithoutSession": ""}

// listed is a package as `go list -json -export` tells of it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// pageRoutes reads the routes of the dashboard from its source, so that none is left
// out: whatever is registered is registered by a method of web.UI.
func pageRoutes(ctx context.Context) (all []pageRoute, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,Export,GoFiles", "-export", "-deps",
		"./internal/dashboard/...").Output()
	if err != nil {
		return nil, fmt.Errorf("list the dashboard's packages: %w", err)
	}
	exports, read := map[string]string{}, json.NewDecoder(bytes.NewReader(out))
	var pages []listed
	for {
		var p listed
		if err := read.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list the dashboard's packages: %w", err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, "campaign-dispatch/internal/dashboard") {
			pages = append(pages, p)
		}
	}
	files := token.NewFileSet()
	known := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range pages {
		found, err := p.routes(files, known)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (p listed) routes(files *token.FileSet, known types.Importer) (all []pageRoute, err error) {
	var sources []*ast.File
	for _, name := range p.GoFiles {
		source, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: known}).Check(p.ImportPath, files, sources, info); err != nil {
		return nil, fmt.Errorf("read %s: %w", p.ImportPath, err)
	}
	for _, source := range sources {
		for node := range ast.Preorder(source) {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				continue
			}
			r, ok, err := routeOf(info, call, p.ImportPath)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", files.Position(call.Pos()), err)
			}
			if ok {
				all = append(all, r)
			}
		}
	}
	return all, nil
}

// routeOf returns the route that a call registers, and false for other calls.
func routeOf(info *types.Info, call *ast.CallExpr, within string) (pageRoute, bool, error) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return pageRoute{}, false, nil
	}
	called, ok := info.Uses[selector.Sel].(*types.Func)
	if !ok {
		return pageRoute{}, false, nil
	}
	switch name := called.FullName(); {
	case strings.HasPrefix(name, "(*net/http.ServeMux).Handle") && within != webPath:
		return pageRoute{}, false, errors.New("a route that webui does not know")
	case !strings.HasPrefix(name, "(*"+webPath+".UI)."):
		return pageRoute{}, false, nil
	}
	method, ok := methods[called.Name()]
	if !ok || len(call.Args) != 3 {
		return pageRoute{}, false, nil
	}
	value := info.Types[call.Args[1]].Value
	if value == nil || value.Kind() != constant.String {
		return pageRoute{}, false, errors.New("a route whose path is no constant")
	}
	pattern := constant.StringVal(value)
	if method == "" {
		if before, after, found := strings.Cut(pattern, " "); found {
			method, pattern = before, after
		}
	}
	return pageRoute{method, pattern, called.Name()}, true, nil
}

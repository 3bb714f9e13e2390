package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A port says of each method what it returns, and when it fails: its adapter and its fakes hold to that.
func TestPorts_EveryMethodHasSentence(t *testing.T) {
	t.Parallel()
	ports := 0
	for _, path := range tracked(t) {
		if !strings.HasPrefix(path, "/internal/") || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			declared, isType := n.(*ast.TypeSpec)
			if !isType || !declared.Name.IsExported() {
				return true
			}
			if port, isPort := declared.Type.(*ast.InterfaceType); isPort {
				ports++
				for _, method := range port.Methods.List {
					if len(method.Names) > 0 && method.Doc == nil {
						t.Errorf("%s: %s.%s has no sentence", path, declared.Name, method.Names[0])
					}
				}
			}
			return true
		})
	}
	if ports < 50 {
		t.Errorf("only %d ports were found", ports)
	}
}

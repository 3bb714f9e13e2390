package app_test

import (
	"go/ast"
	"go/token"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// declared is a type or function of a package of this module.
type declared struct{ folder, name string }

// wiring returns the packages that wire a function: its own and those below internal/app.
func wiring(t *testing.T, function string) (folders []string) {
	t.Helper()
	folders = []string{path.Join("functions", function)}
	for i := 0; i < len(folders); i++ {
		for _, file := range sources(t, folders[i]) {
			for _, folder := range importsOf(file) {
				if strings.HasPrefix(folder, "internal/app/") && !slices.Contains(folders, folder) {
					folders = append(folders, folder)
				}
			}
		}
	}
	return folders
}

// importsOf returns the folders of this module that a file imports, by the names it uses.
func importsOf(file *ast.File) map[string]string {
	folders := map[string]string{}
	for _, i := range file.Imports {
		imported, _ := strconv.Unquote(i.Path.Value)
		folder, ours := strings.CutPrefix(imported, "campaign-dispatch/")
		if !ours {
			continue
		}
		name := path.Base(folder)
		if i.Name != nil {
			name = i.Name.Name
		}
		folders[name] = folder
	}
	return folders
}

// wiredMethods returns the methods of every interface that the wired types are built on,
// directly or through their fields.
func wiredMethods(t *testing.T, function string) (methods []string) {
	t.Helper()
	var next []declared
	for _, folder := range wiring(t, function) {
		for _, file := range sources(t, folder) {
			next = append(next, namesIn(file, "", file)...)
		}
	}
	seen := map[declared]bool{}
	for ; len(next) > 0; next = next[1:] {
		if seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		more, named := declaration(t, next[0])
		next, methods = append(next, more...), append(methods, named...)
	}
	return methods
}

// namesIn returns the names of this module that a node of a file uses: with a package's
// name before them, and those of its own folder, where it is given.
func namesIn(file *ast.File, folder string, node ast.Node) (names []declared) {
	folders := importsOf(file)
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && folders[x.Name] != "" {
				names = append(names, declared{folders[x.Name], n.Sel.Name})
			}
			return !ok
		case *ast.Ident:
			if folder != "" {
				names = append(names, declared{folder, n.Name})
			}
		}
		return true
	})
	return names
}

// declaration returns what the declaration of a name is built on, and where it is an
// interface, its methods.
func declaration(t *testing.T, d declared) (names []declared, methods []string) {
	t.Helper()
	if strings.HasPrefix(d.folder, "internal/app") || strings.HasPrefix(d.folder, "internal/aws") {
		return nil, nil // wiring itself, and the adapters behind the interfaces
	}
	for _, file := range sources(t, d.folder) {
		for _, one := range file.Decls {
			switch one := one.(type) {
			case *ast.FuncDecl:
				if one.Recv == nil && one.Name.Name == d.name {
					names = append(names, namesIn(file, d.folder, one.Type)...)
				}
			case *ast.GenDecl:
				if spec := typeSpec(one, d.name); spec != nil {
					names = append(names, namesIn(file, d.folder, spec.Type)...)
					methods = append(methods, methodsOf(spec.Type)...)
				}
			}
		}
	}
	return names, methods
}

func typeSpec(d *ast.GenDecl, name string) *ast.TypeSpec {
	if d.Tok != token.TYPE {
		return nil
	}
	for _, s := range d.Specs {
		if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.Name == name {
			return spec
		}
	}
	return nil
}

// methodsOf returns the names of the methods of the interfaces in a type.
func methodsOf(expression ast.Expr) (names []string) {
	ast.Inspect(expression, func(n ast.Node) bool {
		if i, ok := n.(*ast.InterfaceType); ok {
			for _, m := range i.Methods.List {
				for _, name := range m.Names {
					names = append(names, name.Name)
				}
			}
		}
		return true
	})
	return names
}

// variablesOf returns the variables that FromEnv reads into each field of a Config.
func variablesOf(t *testing.T) map[string][]string {
	t.Helper()
	variables := map[string][]string{}
	for _, file := range sources(t, "internal/app") {
		ast.Inspect(file, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			field, ok := pair.Key.(*ast.Ident)
			if !ok {
				return true
			}
			ast.Inspect(pair.Value, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if name, _ := strconv.Unquote(l.Value); name == strings.ToUpper(name) && name != "" && !strings.ContainsAny(name, "0123456789") {
						variables[field.Name] = append(variables[field.Name], name)
					}
				}
				return true
			})
			return true
		})
	}
	return variables
}

// readBy returns the variables that the wiring of a function reads.
func readBy(t *testing.T, function string) []string {
	t.Helper()
	variables, read := variablesOf(t), map[string]bool{}
	for _, folder := range wiring(t, function) {
		for _, file := range sources(t, folder) {
			ast.Inspect(file, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); !ok || x.Name != "c" {
					return true
				}
				field := s.Sel.Name
				if field == "SweepDelay" {
					field = "SweepAfter"
				}
				for _, v := range variables[field] {
					read[v] = true
				}
				return true
			})
		}
	}
	return slices.Sorted(maps.Keys(read))
}

// The phone library's metadata makes a start some three times as long, so only the functions that
// parse numbers of a file or a call load it: campaigns, for those of lists and searches.
func TestFunctions_PhoneLibrary(t *testing.T) {
	t.Parallel()
	parsing := []string{"campaigns", "dashboard", "dispatch", "intake"}
	folders, err := filepath.Glob("../../functions/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no function is found: %v", err)
	}
	for _, folder := range folders {
		name := filepath.Base(folder)
		deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../../functions/"+name).Output()
		if err != nil {
			t.Fatalf("list the packages of %s: %v", name, err)
		}
		loads := strings.Contains(string(deps), "github.com/nyaruka/phonenumbers\n")
		if want := slices.Contains(parsing, name); loads != want {
			t.Errorf("%s loads the phone library: %t, want %t", name, loads, want)
		}
	}
}

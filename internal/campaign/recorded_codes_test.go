package campaign_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

// Every code that is recorded for a message has its row, wherever the code is declared.
func TestMessageCodes_Recorded(t *testing.T) {
	t.Parallel()
	packages := map[string][]*ast.File{}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		packages[filepath.Base(filepath.Dir(path))] = append(packages[filepath.Base(filepath.Dir(path))], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, files := range packages {
		for _, code := range recordedCodes(files, packages) {
			found++
			if !slices.ContainsFunc(campaign.MessageCodes, func(c campaign.MessageCode) bool { return c.Code == code }) {
				t.Errorf("package %s records the code %q, which has no row in codes.go", name, code)
			}
		}
	}
	const least = 15 // so that a test that finds nothing is noticed
	if found < least {
		t.Errorf("%d places record codes, want at least %d", found, least)
	}
}

// Each form in which a code can be recorded is found.
func TestRecordedCodes(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "example.go", `package example

const codeDeclared = "declared"

var verdicts = map[int]verdict{400: {"verdict", campaign.Permanent}, 401: {"transient", campaign.Transient}}

func example(index int, code string) {
	j.setOutcome(campaign.OutcomeFailed, codeDeclared, now)
	j.setOutcome(campaign.OutcomeFailed, code, now)
	c.Outcome, c.Code = campaign.OutcomeExpired, "assigned"
	_ = campaign.Change{Index: index, Outcome: campaign.OutcomeStopped, Code: other.Code}
	_ = &campaign.Failure{Kind: campaign.Permanent, Code: "failure"}
	_ = campaign.Change{Index: index, Outcome: campaign.OutcomeRead, Code: "delivered"}
}
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	other, err := parser.ParseFile(token.NewFileSet(), "other.go", `package other; const Code = "of another package"`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := recordedCodes([]*ast.File{file}, map[string][]*ast.File{"other": {other}})
	slices.Sort(got)
	if diff := cmp.Diff([]string{"assigned", "declared", "failure", "of another package", "verdict"}, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// undelivered are the constants of campaign and outgoing that stand beside a recorded code.
var undelivered = []string{"OutcomeFailed", "OutcomeExpired", "OutcomeStopped", "OutcomeRevoked", "Permanent"}

// recordedCodes returns the texts that stand in a call, a literal or an assignment beside a
// constant of undelivered. Variables are left out.
func recordedCodes(files []*ast.File, packages map[string][]*ast.File) (codes []string) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			values := valuesOf(n)
			if slices.ContainsFunc(values, isUndelivered) {
				for _, v := range values {
					if code := textOf(v, files, packages); code != "" {
						codes = append(codes, code)
					}
				}
			}
			return true
		})
	}
	return codes
}

func valuesOf(n ast.Node) (values []ast.Expr) {
	switch n := n.(type) {
	case *ast.CallExpr:
		return n.Args
	case *ast.AssignStmt:
		return n.Rhs
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				e = pair.Value
			}
			values = append(values, e)
		}
	}
	return values
}

func isUndelivered(e ast.Expr) bool {
	name, ok := e.(*ast.SelectorExpr)
	return ok && slices.Contains(undelivered, name.Sel.Name)
}

// textOf returns the text of a literal or of a constant, else "".
func textOf(e ast.Expr, own []*ast.File, packages map[string][]*ast.File) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value) // of a number, ""
		return text
	case *ast.Ident:
		return constant(e.Name, own)
	case *ast.SelectorExpr:
		if from, ok := e.X.(*ast.Ident); ok && !strings.HasPrefix(e.Sel.Name, "Outcome") {
			return constant(e.Sel.Name, packages[from.Name])
		}
	}
	return ""
}

// constant returns the text of a package's constant, "" if there is none.
func constant(name string, files []*ast.File) (text string) {
	for _, file := range files {
		for _, d := range file.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, s := range group.Specs {
				if spec, ok := s.(*ast.ValueSpec); ok && spec.Names[0].Name == name && len(spec.Values) == 1 {
					text = textOf(spec.Values[0], nil, nil)
				}
			}
		}
	}
	return text
}

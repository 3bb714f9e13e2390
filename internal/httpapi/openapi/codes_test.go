package openapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// Each message code that the service records has a description of its own, and is in
// every list of codes in the document.
func TestDocument_MessageCodes(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{
		"revoked":               true, // which the outcome says itself
		content.CodeTextTooLong: true, content.CodeInvalidURL: true,
		campaign.CodeCancelled: true, campaign.CodeNoAnswer: true,
	}
	for _, folder := range []string{"send", "outcome", "control", "rcs"} {
		collectCodes(t, folder, codes)
	}
	for _, code := range []string{"unreachable", "opted_out", "payload_missing", "ttl_passed"} {
		if !codes[code] {
			t.Errorf("code %s was not collected", code)
		}
	}
	_, general := campaign.Change{Outcome: campaign.OutcomeFailed, Code: "new"}.Why()
	for code := range codes {
		got, reason := campaign.Change{Outcome: campaign.OutcomeFailed, Code: code}.Why()
		if got != code || reason == general {
			t.Errorf("code %s has no description", code)
		}
	}
	text, lists := string(document(t)), 0
	for _, list := range strings.Split(text, "for programs: ")[1:] {
		list, _, _ = strings.Cut(list, ", or a new one")
		listed := strings.Split(strings.ReplaceAll(list, "`", ""), ", ")
		slices.Sort(listed)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(codes)), listed); diff != "" {
			t.Errorf("a list of codes (-recorded +documented):\n%s", diff)
		}
		lists++
	}
	if lists < 3 {
		t.Errorf("found %d lists of codes", lists)
	}
}

// collectCodes adds the codes that a package records: its constants named code..., and
// the provider's permanent results.
func collectCodes(t *testing.T, folder string, codes map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources of %s: %v", folder, err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if strings.HasPrefix(n.Names[0].Name, "code") && len(n.Values) == 1 {
					addText(codes, n.Values[0])
				}
			case *ast.CompositeLit:
				if len(n.Elts) == 2 && isPermanent(n.Elts[1]) {
					addText(codes, n.Elts[0])
				}
			}
			return true
		})
	}
}

func isPermanent(e ast.Expr) bool {
	kind, ok := e.(*ast.SelectorExpr)
	return ok && kind.Sel.Name == "Permanent"
}

func addText(codes map[string]bool, e ast.Expr) {
	if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		text, _ := strconv.Unquote(literal.Value)
		codes[text] = true
	}
}

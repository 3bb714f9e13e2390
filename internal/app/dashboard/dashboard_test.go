package dashboard_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/dashboard"
)

// The routes, pages and texts of all areas fit together. A function parses an area only at
// its first request, so this test is what finds a fault in one.
func TestSite(t *testing.T) {
	t.Parallel()
	ui, pages := dashboard.Site(app.Config{AWS: aws.Config{Region: "sa-east-1"}})
	if err := ui.Check(); err != nil || pages == nil {
		t.Errorf("pages %v: %v", pages, err)
	}
}

package dashboard_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/dashboard"
)

// The routes, pages and texts of all areas fit together.
func TestHandler(t *testing.T) {
	t.Parallel()
	if dashboard.Handler(app.Config{AWS: aws.Config{Region: "sa-east-1"}}) == nil {
		t.Error("no handler")
	}
}

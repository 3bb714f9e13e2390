package docs_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The guide's code takes a webhook that is signed by Standard Webhooks' rules, and no other.
func TestGuide_VerifyWebhook(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(read(t, "guides.md"))
	if code == nil {
		t.Fatal("the guide has no Python code")
	}
	key, body := []byte("a key of thirty-two bytes in all"), `{"type":"message.read"}`
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	now := time.Now().Unix()
	for name, test := range map[string]struct {
		at        int64
		body      string
		signature string
		valid     bool
	}{
		"valid":                {now, body, signature(key, now, body), true},
		"secret being rotated": {now, body, signature([]byte("another"), now, body) + " " + signature(key, now, body), true},
		"another body":         {now, body + " ", signature(key, now, body), false},
		"another key":          {now, body, signature([]byte("another"), now, body), false},
		"old":                  {now - 600, body, signature(key, now-600, body), false},
		"another version":      {now, body, "v2" + strings.TrimPrefix(signature(key, now, body), "v1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := fmt.Sprintf("%s\nverify(%q, {'webhook-id': 'msg_1', 'webhook-timestamp': '%d', 'webhook-signature': %q}, b%q)\n",
				code[1], secret, test.at, test.signature, test.body)
			out, err := exec.CommandContext(t.Context(), "python3", "-c", call).CombinedOutput() //nolint:gosec // the guide's own code
			if test.valid != (err == nil) || !test.valid && !strings.Contains(string(out), "ValueError") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func signature(key []byte, at int64, body string) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "msg_1.%d.%s", at, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

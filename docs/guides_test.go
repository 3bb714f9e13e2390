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
	const key = "a key of thirty-two bytes in all"
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(key))
	now := time.Now().Unix()
	for name, test := range map[string]struct {
		at        int64
		body      string
		signature string
		valid     bool
	}{
		"valid":                {now, body, sign(key, now), true},
		"secret being rotated": {now, body, sign("another", now) + " " + sign(key, now), true},
		"another body":         {now, body + " ", sign(key, now), false},
		"another key":          {now, body, sign("another", now), false},
		"old":                  {now - 600, body, sign(key, now-600), false},
		"another version":      {now, body, "v2" + strings.TrimPrefix(sign(key, now), "v1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := fmt.Sprintf("%s\nverify(%q, {'webhook-id': 'msg_1', 'webhook-timestamp': '%d', 'webhook-signature': %q}, b%q)\n",
				code[1], secret, test.at, test.signature, test.body)
			out, err := exec.CommandContext(t.Context(), "python3", "-c", call).CombinedOutput()
			if test.valid != (err == nil) || !test.valid && !strings.Contains(string(out), "ValueError") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

const body = `{"type":"message.read"}`

// sign returns the signature of msg_1 with that body.
func sign(key string, at int64) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprintf(mac, "msg_1.%d.%s", at, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

package docs_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// verifiers run a language's code of the guide on one webhook. They exit with 0 if it is
// authentic.
var verifiers = map[string]struct {
	run  string
	call string // of a secret, a timestamp, a signature and a body; an empty header is absent
}{
	"python": {"python3 verify.py", `%[1]s
given = {'webhook-id': 'msg_1', 'webhook-timestamp': %[3]q, 'webhook-signature': %[4]q}
verify(%[2]q, {name: value for name, value in given.items() if value}, b%[5]q)
`},
	"js": {"node verify.mjs", `%[1]s
const given = {"webhook-id": "msg_1", "webhook-timestamp": %[3]q, "webhook-signature": %[4]q};
verify(%[2]q, Object.fromEntries(Object.entries(given).filter(([, value]) => value)), Buffer.from(%[5]q));
`},
	"go": {"go run verify.go", `package main

import "log"

%s
func main() {
	secret, timestamp, signature, body := %q, %q, %q, %q
	header := http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {signature}}
	if err := verify(secret, header, []byte(body)); err != nil {
		log.Fatal(err)
	}
}
`},
}

// delivered is a webhook as it arrives, and what the guide's code says to refuse it.
type delivered struct {
	at        int64
	body      string
	signature string
	refusal   string
}

// deliveries returns webhooks that arrive at an instant, by name.
func deliveries(now int64) map[string]delivered {
	return map[string]delivered{
		"valid":                {now, body, sign(signingKey, now), ""},
		"secret being rotated": {now, body, sign("another", now) + " " + sign(signingKey, now), ""},
		"another body":         {now, body + " ", sign(signingKey, now), "no signature matches"},
		"another key":          {now, body, sign("another", now), "no signature matches"},
		"old":                  {now - 600, body, sign(signingKey, now-600), "the timestamp is more than five minutes off"},
		"no timestamp":         {0, body, sign(signingKey, now), "the timestamp is more than five minutes off"},
		"no signature":         {now, body, "", "no signature matches"},
		"another version":      {now, body, "v2" + strings.TrimPrefix(sign(signingKey, now), "v1"), "no signature matches"},
	}
}

const signingKey = "a key of thirty-two bytes in all"

// The guide's code accepts a webhook that is signed by the rules of Standard Webhooks,
// and no other.
func TestGuide_VerifyWebhook(t *testing.T) {
	t.Parallel()
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(signingKey))
	for name := range deliveries(0) {
		for language, verifier := range verifiers {
			t.Run(language+"/"+name, func(t *testing.T) {
				t.Parallel()
				test := deliveries(time.Now().Unix())[name] // subtests wait for each other on a busy machine
				program := fmt.Sprintf(verifier.call, codeOf(t, read(t, "guides.md"), language), secret, timestamp(test.at), test.signature, test.body)
				out, err := run(t, verifier.run, program)
				if (err == nil) != (test.refusal == "") || !strings.Contains(out, test.refusal) {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// timestamp returns the header of a time, or "" for 0.
func timestamp(at int64) string {
	if at == 0 {
		return ""
	}
	return strconv.FormatInt(at, 10)
}

// codeOf returns the first code of a text in a language.
func codeOf(t *testing.T, text, language string) string {
	t.Helper()
	block := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(text)
	if block == nil {
		t.Fatalf("there is no %s code", language)
	}
	return block[1]
}

// run runs a program in the file that the command ends with.
func run(t *testing.T, command, program string) (out string, err error) {
	t.Helper()
	words := strings.Fields(command)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, words[len(words)-1]), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = folder
	text, err := cmd.CombinedOutput()
	return string(text), err
}

const body = `{"type":"message.read"}`

// sign returns the signature of msg_1 with that body.
func sign(key string, at int64) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprintf(mac, "msg_1.%d.%s", at, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

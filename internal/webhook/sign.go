package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/webhook/delivery"
)

var errBadSecret = errors.New("invalid endpoint secret: want whsec_ and base64")

// sign returns the webhook-signature header: a symmetric Standard Webhooks signature for
// each valid secret.
func sign(e delivery.Endpoint, id string, at time.Time, body []byte) (string, error) {
	secrets := []string{e.Secret}
	if e.PreviousSecret != "" && at.Before(e.PreviousUntil) {
		secrets = append(secrets, e.PreviousSecret)
	}
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		encoded, ok := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) == 0 {
			return "", errBadSecret
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " "), nil
}

package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/aws/aws-lambda-go/events"
	"github.com/golang-jwt/jwt/v5"
	"github.com/nyaruka/phonenumbers"
)

// straightforward accepts a dispatch call as one would write it from the usual
// parts: a typed event, encoding/json, phonenumbers, a roaring bitmap, NDJSON and
// gzip. It is the baseline for the handler's CPU time, and it talks to no AWS
// service either.
type straightforward struct {
	key     *ecdsa.PublicKey
	earlier *roaring64.Bitmap
	needed  []string
}

type plainCall struct {
	CampaignID string         `json:"campaignId"`
	Name       string         `json:"name"`
	TemplateID string         `json:"templateId"`
	Messages   []plainMessage `json:"messages"`
}

type plainMessage struct {
	Phone string         `json:"phone"`
	UID   string         `json:"uid"`
	Vars  map[string]any `json:"vars"`
}

var errRefused = errors.New("refused")

// Invoke takes the bytes of an API Gateway event and returns those of its answer.
func (s *straightforward) Invoke(_ context.Context, event []byte) ([]byte, error) {
	var request events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(event, &request); err != nil {
		return nil, err
	}
	if err := s.authorize(request.Headers["authorization"]); err != nil {
		return nil, err
	}
	var call plainCall
	if err := json.Unmarshal([]byte(request.Body), &call); err != nil {
		return nil, err
	}
	numbers, rejected, err := s.normalise(call.Messages)
	if err != nil {
		return nil, err
	}
	if _, err := roaring64.BitmapOf(numbers...).ToBytes(); err != nil {
		return nil, err
	}
	if _, err := archive(call.Messages); err != nil {
		return nil, err
	}
	answer, err := json.Marshal(map[string]any{
		"campaignId": call.CampaignID, "status": "sending", "accepted": len(numbers), "rejected": rejected,
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(events.APIGatewayV2HTTPResponse{StatusCode: 202, Body: string(answer)})
}

func (s *straightforward) authorize(header string) error {
	_, err := jwt.Parse(strings.TrimPrefix(header, "Bearer "), func(*jwt.Token) (any, error) { return s.key, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithoutClaimsValidation())
	return err
}

func (s *straightforward) normalise(messages []plainMessage) (numbers []uint64, rejected int, err error) {
	for _, m := range messages {
		for _, name := range s.needed {
			if _, ok := m.Vars[name]; !ok || m.UID == "" {
				return nil, 0, errRefused
			}
		}
		n, ok := libraryNumber(m.Phone)
		if !ok {
			rejected++
			continue
		}
		if s.earlier.Contains(n) {
			return nil, 0, errRefused
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers, rejected, nil
}

// libraryNumber reads a number with libphonenumber alone.
func libraryNumber(text string) (uint64, bool) {
	n, err := phonenumbers.Parse(text, "BR")
	if err != nil || !phonenumbers.IsValidNumber(n) || phonenumbers.GetNumberType(n) == phonenumbers.UNKNOWN {
		return 0, false
	}
	digits := phonenumbers.Format(n, phonenumbers.E164)[1:]
	var number uint64
	for _, c := range []byte(digits) {
		number = number*10 + uint64(c-'0')
	}
	return number, true
}

// archive writes the messages as compressed NDJSON.
func archive(messages []plainMessage) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	lines := json.NewEncoder(zip)
	for _, m := range messages {
		if err := lines.Encode(m); err != nil {
			return nil, err
		}
	}
	err := zip.Close()
	return out.Bytes(), err
}

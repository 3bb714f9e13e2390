package jsonscan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"campaign-dispatch/internal/httpapi/jsonscan"
)

// call returns a dispatch body of 2,000 messages with 4 variables each.
func call() []byte {
	var b strings.Builder
	b.WriteString(`{"campaignId":"0190b6a4-7a1c-7d51-b5a0-3c1f0a4b9f10","name":"Black Friday","templateId":"7d3f5a10-3c1f-4b9f-8a10-0190b6a47a1c","messages":[`)
	for i := range 2000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"phone":"+55119%08d","uid":"order-%08d-2026","vars":{"nome":"João Conceição %d","pedido":"PED-%08d",`+
			`"link":"https://loja.example/p/%08d?utm=rcs","cupom":"SEXTA-%06d"}}`, 10000000+i, i, i, i, i, i)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

type body struct {
	CampaignID, Name, TemplateID string
	Messages                     []struct {
		Phone, UID string
		Vars       map[string]string
	}
}

func BenchmarkCall(b *testing.B) {
	data := call()
	b.Run("jsonscan", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := pull(jsonscan.New(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var v body
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// pull reads every string of the text.
func pull(s *jsonscan.Scanner) error {
	kind := s.Peek()
	if kind == jsonscan.Object {
		return s.Members(func([]byte) error { return pull(s) })
	}
	if kind == jsonscan.Array {
		return s.Elements(func() error { return pull(s) })
	}
	_, err := s.String()
	return err
}

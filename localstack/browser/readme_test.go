package browser_test

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
)

// The README shows a completed campaign. `make screenshot` copies the picture to docs/images.
func TestReadme_Screenshot(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "en-US")
	_, token := b.token(b.env["CLIENT_ID"], b.env["CLIENT_SECRET"])
	call := b.call("Ofertas de inverno "+rand.Text()[:4], recipients()...)
	call["templateId"] = b.env["TEMPLATE_ID_CAROUSEL"]
	if status, got := b.dispatch(token.AccessToken, call); status != http.StatusAccepted {
		t.Fatalf("dispatch: %d %+v, want 202", status, got)
	}
	b.visit("/dashboard/campaigns/" + call["campaignId"].(string))
	b.run("wait for the completed state", chromedp.WaitVisible(`#head .tag.good`))
	const width, height = 1280, 900
	b.run("set the window", chromedp.EmulateViewport(width, height))
	if err := b.save("readme", chromedp.CaptureScreenshot()); err != nil {
		t.Error(err)
	}
}

// recipients returns messages that are delivered, are not reachable, or are tapped. The picture has many.
func recipients() (messages []fields) {
	add := func(phone string) {
		messages = append(messages, fields{"phone": phone, "uid": strconv.Itoa(len(messages)), "vars": fields{"nome": "Ana", "pedido": "A-17"}})
	}
	delivered := 20
	if takeScreenshots {
		delivered = 110
	}
	for range delivered {
		add("21" + number())
	}
	for area := 11; area < 20; area++ {
		add(strconv.Itoa(area) + "900000006")
		add(strconv.Itoa(area) + "900000007")
		if area%3 == 0 {
			add(strconv.Itoa(area) + "900000001")
		}
	}
	add("11 is no number")
	return messages
}

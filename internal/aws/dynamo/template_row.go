package dynamo

import (
	"encoding/json"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// templateRow returns the row of a template version. The newest version is also stored
// under templateKey.
func templateRow(key Item, t campaign.Template) (Item, error) {
	content, err := json.Marshal(t.Content)
	if err != nil {
		return nil, fmt.Errorf("write the content of a template: %w", err)
	}
	key["tenant"] = text(t.Tenant)
	key["version"] = number(t.Version)
	key["name"] = text(t.Name)
	key["content"] = text(string(content))
	key["createdAt"] = millis(t.CreatedAt)
	if t.Traffic != "" {
		key["traffic"] = text(string(t.Traffic))
	}
	return key, nil
}

func readTemplate(id string, row Item) (campaign.Template, error) {
	t := campaign.Template{
		ID:      id,
		Tenant:  getText(row, "tenant"),
		Version: int(getNumber(row, "version")),
		Name:    getText(row, "name"),
		Traffic: campaign.Traffic(getText(row, "traffic")),

		CreatedAt: getMillis(row, "createdAt"),
	}
	if err := json.Unmarshal([]byte(getText(row, "content")), &t.Content); err != nil {
		return t, fmt.Errorf("read the content of template %s: %w", id, err)
	}
	return t, nil
}

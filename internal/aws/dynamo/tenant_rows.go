package dynamo

import (
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
)

func tenantRow(t campaign.Tenant) Item {
	row := tenantKey(t.ID)
	row["name"] = text(t.Name)
	row["agentId"] = text(t.AgentID)
	return row
}

func readTenant(id string, row Item) campaign.Tenant {
	return campaign.Tenant{ID: id, Name: getText(row, "name"), AgentID: getText(row, "agentId")}
}

func agentRow(a campaign.Agent) Item {
	row := agentKey(a.ID)
	row["keyParameter"] = text(a.KeyParameter)
	row["webhookToken"] = text(a.WebhookToken)
	row["rate"] = number(a.Rate)
	return row
}

func readAgent(id string, row Item) campaign.Agent {
	return campaign.Agent{
		ID:           id,
		KeyParameter: getText(row, "keyParameter"),
		WebhookToken: getText(row, "webhookToken"),
		Rate:         int(getNumber(row, "rate")),
	}
}

func credentialRow(c account.Credential) Item {
	row := credentialKey(c.ClientID)
	row["tenant"] = text(c.Tenant)
	row["name"] = text(c.Name)
	row["secretHash"] = bytesOf(c.SecretHash)
	row["scope"] = text(c.Scope)
	row["createdAt"] = millis(c.CreatedAt)
	if c.CreatedBy != "" {
		row["createdBy"] = text(c.CreatedBy)
	}
	if len(c.PreviousSecretHash) > 0 {
		row["previousSecretHash"] = bytesOf(c.PreviousSecretHash)
		row["previousUntil"] = millis(c.PreviousUntil)
	}
	if c.RefreshGeneration > 0 {
		row["refreshGeneration"] = number(c.RefreshGeneration)
	}
	if c.Revoked() {
		row["revokedAt"] = millis(c.RevokedAt)
	}
	return row
}

func readCredential(clientID string, row Item) account.Credential {
	return account.Credential{
		ClientID:           clientID,
		Tenant:             getText(row, "tenant"),
		Name:               getText(row, "name"),
		SecretHash:         getBinary(row, "secretHash"),
		PreviousSecretHash: getBinary(row, "previousSecretHash"),
		PreviousUntil:      getMillis(row, "previousUntil"),
		RefreshGeneration:  int(getNumber(row, "refreshGeneration")),
		Scope:              getText(row, "scope"),
		CreatedAt:          getMillis(row, "createdAt"),
		CreatedBy:          getText(row, "createdBy"),
		RevokedAt:          getMillis(row, "revokedAt"),
	}
}

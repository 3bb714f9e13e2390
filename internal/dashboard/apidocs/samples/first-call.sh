set -eu
BASE={{base}}

# A token, valid for an hour.
ANSWER=$(curl -sS --fail-with-body -u "$CLIENT_ID:$CLIENT_SECRET" -d grant_type=client_credentials \
  "$BASE/api/v1/oauth/token") || { echo "$ANSWER"; exit 1; }
TOKEN=$(echo "$ANSWER" | sed -n 's/.*"access_token": *"\([^"]*\)".*/\1/p')

uuid() { od -An -tx1 -N16 /dev/urandom | tr -d ' \n' | sed -E 's/(.{8})(.{4})(.{4})(.{4})/\1-\2-\3-\4-/'; }

# A campaign has a UUID of your choice.
ID=$(uuid)

# The same key makes a repeat of this call safe. Store it until you have the answer.
KEY=$(uuid)

curl -sS --fail-with-body -w '\n%{http_code}\n' "$BASE/api/v1/external/campaigns/dispatch" \
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -H "Idempotency-Key: $KEY" -d @- <<JSON
{
  "campaignId": "$ID",
  "name": "First call $ID",
  "templateId": "$TEMPLATE_ID",
  "messages": [
    {"phone": "$PHONE", "uid": "customer-1", "vars": {"nome": "Ana", "pedido": 1001}}
  ]
}
JSON

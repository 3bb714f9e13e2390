const base = "{{base}}";
const { CLIENT_ID, CLIENT_SECRET, TEMPLATE_ID, PHONE } = process.env;

async function post(path, headers, body) {
  const answer = await fetch(base + path, { method: "POST", headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status}: ${text}`);
  console.log(answer.status);
  return JSON.parse(text);
}

// A token, valid for an hour.
const pair = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString("base64");
const { access_token } = await post(
  "/api/v1/oauth/token",
  { Authorization: `Basic ${pair}` },
  new URLSearchParams({ grant_type: "client_credentials" }),
);

// A campaign has a UUID of your choice.
const campaignId = crypto.randomUUID();

// The same key makes a repeat of this call safe. Store it until you have the answer.
const key = crypto.randomUUID();
const result = await post(
  "/api/v1/external/campaigns/dispatch",
  { Authorization: `Bearer ${access_token}`, "Content-Type": "application/json", "Idempotency-Key": key },
  JSON.stringify({
    campaignId,
    name: `First call ${campaignId}`,
    templateId: TEMPLATE_ID,
    messages: [{ phone: PHONE, uid: "customer-1", vars: { nome: "Ana", pedido: 1001 } }],
  }),
);
console.log(result);

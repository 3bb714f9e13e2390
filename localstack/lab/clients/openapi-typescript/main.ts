// Dispatches a campaign with fetch and the types that openapi-typescript generates.
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not given`);
  return value;
}

const client = createClient<paths>({ baseUrl: given("BASE_URL") });

const token = await client.POST("/api/v1/oauth/token", {
  body: { grant_type: "client_credentials", client_id: given("CLIENT_ID"), client_secret: given("CLIENT_SECRET") },
});
if (!token.data) throw new Error(`asking for a token got ${token.response.status}`);
const headers = { Authorization: `${token.data.token_type} ${token.data.access_token}` };

const campaign: components["schemas"]["DispatchRequest"] = {
  campaignId: given("CAMPAIGN_ID"),
  name: `openapi-typescript ${given("CAMPAIGN_ID")}`,
  templateId: given("TEMPLATE_ID"),
  messages: given("PHONES")
    .split(",")
    .map((phone, i) => ({ phone, uid: `${i}`, vars: { nome: "Ana", pedido: i } })),
};

const first = await client.POST("/api/v1/external/campaigns/dispatch", { headers, body: campaign });
if (!first.data) throw new Error(`dispatching got ${first.response.status}`);
const again = await client.POST("/api/v1/external/campaigns/dispatch", { headers, body: campaign });
if (!again.error || !("code" in again.error)) throw new Error(`dispatching again got ${again.response.status}`);

const { version } = JSON.parse(readFileSync("node_modules/openapi-typescript/package.json", "utf8"));
console.log(
  JSON.stringify({
    library: "openapi-typescript",
    version,
    status: first.response.status,
    accepted: first.data.accepted,
    again: again.error.code,
  }),
);

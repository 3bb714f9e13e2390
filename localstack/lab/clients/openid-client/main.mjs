// Gets a token by client credentials, renews it, and tries a wrong secret. The token
// endpoint comes from the service's metadata.
import { readFileSync } from "node:fs";
import * as oauth from "openid-client";

const { BASE_URL, CLIENT_ID, CLIENT_SECRET } = process.env;

const discover = (authentication) =>
  oauth.discovery(new URL(BASE_URL), CLIENT_ID, undefined, authentication, {
    algorithm: "oauth2",
    execute: [oauth.allowInsecureRequests], // the local stack uses HTTP
  });

async function attempt(style) {
  const client = await discover(style(CLIENT_SECRET));
  const first = await oauth.clientCredentialsGrant(client, { scope: "campaigns:dispatch" });
  const renewed = await oauth.refreshTokenGrant(client, first.refresh_token);
  return {
    first: first.access_token,
    refresh: first.refresh_token,
    renewed: renewed.access_token,
    ...(await wrong(style)),
  };
}

async function wrong(style) {
  const client = await discover(style("wrong"));
  try {
    await oauth.clientCredentialsGrant(client);
  } catch (e) {
    return { errorType: e.constructor.name, errorCode: e.error ?? (await challenged(e)) };
  }
  return {};
}

// A 401 for a secret in the header has a challenge (RFC 6749, section 5.2).
// openid-client throws it without reading the body.
async function challenged(e) {
  return e instanceof oauth.WWWAuthenticateChallengeError ? (await e.response.json()).error : e.code;
}

const { version } = JSON.parse(readFileSync("node_modules/openid-client/package.json", "utf8"));
console.log(
  JSON.stringify({
    library: "openid-client",
    version,
    header: await attempt(oauth.ClientSecretBasic),
    form: await attempt(oauth.ClientSecretPost),
  }),
);

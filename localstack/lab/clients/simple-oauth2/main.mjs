// Gets a token by client credentials, renews it, and tries a wrong secret.
import { readFileSync } from "node:fs";
import { ClientCredentials } from "simple-oauth2";

const { BASE_URL, CLIENT_ID, CLIENT_SECRET } = process.env;

const client = (authorizationMethod, secret) =>
  new ClientCredentials({
    client: { id: CLIENT_ID, secret },
    auth: { tokenHost: BASE_URL, tokenPath: "/api/v1/oauth/token" },
    options: { authorizationMethod },
  });

async function attempt(method) {
  const first = await client(method, CLIENT_SECRET).getToken({ scope: "campaigns:dispatch" });
  const renewed = await first.refresh();
  return {
    first: first.token.access_token,
    refresh: first.token.refresh_token,
    renewed: renewed.token.access_token,
    ...(await wrong(method)),
  };
}

async function wrong(method) {
  try {
    await client(method, "wrong").getToken({});
  } catch (e) {
    // simple-oauth2 throws a @hapi/boom error with the response.
    return { errorType: e.isBoom ? `Boom ${e.message}` : e.constructor.name, errorCode: e.data?.payload?.error };
  }
  return {};
}

const { version } = JSON.parse(readFileSync("node_modules/simple-oauth2/package.json", "utf8"));
console.log(
  JSON.stringify({ library: "simple-oauth2", version, header: await attempt("header"), form: await attempt("body") }),
);

"""Gets a token by client credentials, renews it, and tries a wrong secret."""

import json
import os
from importlib.metadata import version

from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session

CLIENT_ID = os.environ["CLIENT_ID"]
TOKEN_URL = os.environ["BASE_URL"] + "/api/v1/oauth/token"


def attempt(method):
    session = OAuth2Session(CLIENT_ID, os.environ["CLIENT_SECRET"], scope="campaigns:dispatch", token_endpoint_auth_method=method)
    first = session.fetch_token(TOKEN_URL, grant_type="client_credentials")
    renewed = session.refresh_token(TOKEN_URL, refresh_token=first["refresh_token"])
    return {
        "first": first["access_token"],
        "refresh": first["refresh_token"],
        "renewed": renewed["access_token"],
        **wrong(method),
    }


def wrong(method):
    session = OAuth2Session(CLIENT_ID, "wrong", token_endpoint_auth_method=method)
    try:
        session.fetch_token(TOKEN_URL, grant_type="client_credentials")
    except OAuthError as e:
        return {"errorType": type(e).__name__, "errorCode": e.error}
    return {}


print(json.dumps({
    "library": "Authlib",
    "version": version("authlib"),
    "header": attempt("client_secret_basic"),
    "form": attempt("client_secret_post"),
}))

"""Gets a token by client credentials, renews it, and tries a wrong secret."""

import json
import os
from importlib.metadata import version

from oauthlib.oauth2 import BackendApplicationClient, OAuth2Error
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"  # the local stack uses HTTP
CLIENT_ID = os.environ["CLIENT_ID"]
TOKEN_URL = os.environ["BASE_URL"] + "/api/v1/oauth/token"


def in_header(secret):
    return {"auth": HTTPBasicAuth(CLIENT_ID, secret)}


def in_form(secret):
    return {"include_client_id": True, "client_secret": secret}


def session():
    return OAuth2Session(client=BackendApplicationClient(CLIENT_ID, scope=["campaigns:dispatch"]))


def attempt(style, renewal):
    client = session()
    first = client.fetch_token(TOKEN_URL, **style(os.environ["CLIENT_SECRET"]))
    renewed = client.refresh_token(TOKEN_URL, refresh_token=first["refresh_token"], **renewal)
    return {
        "first": first["access_token"],
        "refresh": first["refresh_token"],
        "renewed": renewed["access_token"],
        **wrong(style),
    }


def wrong(style):
    try:
        session().fetch_token(TOKEN_URL, **style("wrong"))
    except OAuth2Error as e:
        return {"errorType": type(e).__name__, "errorCode": e.error}
    return {}


secret = os.environ["CLIENT_SECRET"]
print(json.dumps({
    "library": "requests-oauthlib",
    "version": version("requests-oauthlib"),
    "header": attempt(in_header, {"auth": HTTPBasicAuth(CLIENT_ID, secret)}),
    "form": attempt(in_form, {"client_id": CLIENT_ID, "client_secret": secret}),
}))

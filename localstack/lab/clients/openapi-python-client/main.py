"""Dispatches a campaign with the client that openapi-python-client generates."""

import base64
import importlib
import json
import os
import pkgutil
from importlib.metadata import version

import generated
from generated import AuthenticatedClient
from generated.api.authentication import get_token
from generated.api.campaigns import dispatch_campaign
from generated.models import (
    DispatchCampaignResponse400,
    DispatchRequest,
    DispatchResult,
    Message,
    MessageVarsType0,
    Token,
    TokenRequest,
    TokenRequestGrantType,
)

BASE_URL, CAMPAIGN_ID = os.environ["BASE_URL"], os.environ["CAMPAIGN_ID"]


def signed_in() -> AuthenticatedClient:
    """Returns a client that carries an access token."""
    pair = f"{os.environ['CLIENT_ID']}:{os.environ['CLIENT_SECRET']}"
    basic = AuthenticatedClient(base_url=BASE_URL, token=base64.b64encode(pair.encode()).decode(), prefix="Basic")
    token = get_token.sync(client=basic, body=TokenRequest(grant_type=TokenRequestGrantType.CLIENT_CREDENTIALS))
    assert isinstance(token, Token), type(token)
    return AuthenticatedClient(base_url=BASE_URL, token=token.access_token)


def message(number: int, phone: str) -> Message:
    variables = MessageVarsType0.from_dict({"nome": "Ana", "pedido": number})
    return Message(phone=phone, uid=str(number), vars_=variables)


campaign = DispatchRequest(
    campaign_id=CAMPAIGN_ID,
    name=f"openapi-python-client {CAMPAIGN_ID}",
    template_id=os.environ["TEMPLATE_ID"],
    messages=[message(i, phone) for i, phone in enumerate(os.environ["PHONES"].split(","))],
)
for module in pkgutil.walk_packages(generated.__path__, "generated."):
    importlib.import_module(module.name)  # also modules that are not used here

client = signed_in()
first = dispatch_campaign.sync_detailed(client=client, body=campaign)
assert isinstance(first.parsed, DispatchResult), first.status_code
again = dispatch_campaign.sync(client=client, body=campaign)
assert isinstance(again, DispatchCampaignResponse400), type(again)
print(json.dumps({
    "library": "openapi-python-client",
    "version": version("openapi-python-client"),
    "status": first.status_code,
    "accepted": first.parsed.accepted,
    "again": again.code.value,
}))

import base64, json, os, uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen

BASE = "{{base}}"


def post(path, headers, body):
    try:
        with urlopen(Request(BASE + path, body, headers)) as answer:
            print(answer.status)
            return json.load(answer)
    except HTTPError as refusal:
        raise SystemExit(f"{refusal.code}: {refusal.read().decode()}")


# A token, valid for an hour.
pair = f"{os.environ['CLIENT_ID']}:{os.environ['CLIENT_SECRET']}"
token = post(
    "/api/v1/oauth/token",
    {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()},
    b"grant_type=client_credentials",
)["access_token"]

# A campaign has a UUID of your choice.
campaign = str(uuid.uuid4())

# The same key makes a repeat of this call safe. Store it until you have the answer.
key = str(uuid.uuid4())
print(json.dumps(post(
    "/api/v1/external/campaigns/dispatch",
    {"Authorization": "Bearer " + token, "Content-Type": "application/json", "Idempotency-Key": key},
    json.dumps({
        "campaignId": campaign,
        "name": "First call " + campaign,
        "templateId": os.environ["TEMPLATE_ID"],
        "messages": [
            {"phone": os.environ["PHONE"], "uid": "customer-1", "vars": {"nome": "Ana", "pedido": 1001}},
        ],
    }).encode(),
), indent=2))

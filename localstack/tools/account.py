"""Says which AWS account a deployment goes to, or in one line why none does."""

import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

try:
    identity = boto3.client("sts", region_name="us-east-1").get_caller_identity()
except NoCredentialsError:
    sys.exit("there are no AWS credentials: run `aws sso login` or set AWS_PROFILE, then again")
except (BotoCoreError, ClientError) as error:
    sys.exit(f"the AWS credentials are of no use: {error}")
print(f"deploying to the account {identity['Account']}")

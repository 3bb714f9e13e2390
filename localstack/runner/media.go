package runner

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// readableMedia is the policy that lets everybody read uploaded files.
const readableMedia = `{"Version": "2012-10-17", "Statement": [{"Sid": "ServeMedia", "Effect": "Allow", "Principal": "*",
 "Action": "s3:GetObject", "Resource": "arn:aws:s3:::%s/media/*"}]}`

// serveMedia lets the emulator serve uploaded files. On AWS, CloudFront serves them from a
// private bucket.
func (s Stack) serveMedia(ctx context.Context, bucket string) error {
	client := s3.NewFromConfig(s.aws().AWS(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: &bucket}); err != nil {
		return fmt.Errorf("allow a public policy of the media bucket: %w", err)
	}
	policy := fmt.Sprintf(readableMedia, bucket)
	if _, err := client.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy}); err != nil {
		return fmt.Errorf("let everybody read the media bucket: %w", err)
	}
	return nil
}

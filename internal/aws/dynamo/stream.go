package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
)

// UnreadRecord identifies an unreadable stream record. Without a SequenceNumber, it
// identifies a batch whose entries could not be queued.
type UnreadRecord struct {
	PK             string `json:"pk"`
	SK             string `json:"sk"`
	SequenceNumber string `json:"sequenceNumber"`
}

// OfStream returns the handler of the Outcomes table's stream. It passes the new entries of
// all records to handle. Unreadable records and the batches of a ledger.UnqueuedError are
// sent to unread, so that they do not block later records. Other errors fail the whole
// call.
func OfStream(
	handle func(ctx context.Context, fresh []ledger.NewEntries) error, unread port.BatchQueue,
) func(context.Context, events.DynamoDBEvent) error {
	return func(ctx context.Context, event events.DynamoDBEvent) error {
		var fresh []ledger.NewEntries
		var damaged []UnreadRecord
		for _, r := range event.Records {
			n, err := freshOf(r.Change)
			if err != nil {
				pk, sk := streamText(r.Change.Keys, "pk"), streamText(r.Change.Keys, "sk")
				damaged = append(damaged, UnreadRecord{pk, sk, r.Change.SequenceNumber})
				slog.ErrorContext(ctx, "reading stream record failed", "sequence_number", r.Change.SequenceNumber, "error", err)
			}
			if len(n.Entries) > 0 {
				fresh = append(fresh, n)
			}
		}
		err := handle(ctx, fresh)
		if unfed, ok := errors.AsType[*ledger.UnqueuedError](err); ok {
			err = nil
			for _, key := range unfed.Keys {
				damaged = append(damaged, UnreadRecord{PK: key.String(), SK: headSK})
			}
		}
		if err != nil || len(damaged) == 0 {
			return err
		}
		return port.SendAll(ctx, unread, "unread", damaged)
	}
}

// freshOf returns the entries added by a write. There are none for deletions and for rows
// without new entries.
func freshOf(change events.DynamoDBStreamRecord) (n ledger.NewEntries, err error) {
	row := change.NewImage
	if _, known := row["newAfter"]; !known {
		return n, nil
	}
	if n.Key, err = campaign.ParseBatchKey(streamText(row, "pk")); err != nil {
		return n, err
	}
	newAfter, isNumber := streamNumber(row, "newAfter")
	packed, newest := streamBytes(row, "entries"), 0
	if streamText(row, "sk") == headSK {
		packed = streamBytes(row, "tail")
		var ok bool
		newest, ok = streamNumber(row, "newest")
		isNumber = isNumber && ok
	}
	changes, err := ledger.Unpack(packed)
	if err != nil || !isNumber {
		return n, fmt.Errorf("decode new entries: %w", campaign.ErrDamaged)
	}
	newest = cmp.Or(newest, newAfter+len(changes))
	before := newAfter - (newest - len(changes)) // entries that are not new
	if len(changes) > 0 && (before < 0 || before > len(changes)) {
		return n, fmt.Errorf("find new entries: %w", campaign.ErrDamaged)
	}
	if len(changes) > 0 {
		n.Entries = ledger.Numbered(newAfter+1, changes[before:])
	}
	return n, nil
}

func streamNumber(row map[string]events.DynamoDBAttributeValue, name string) (int, bool) {
	v, there := row[name]
	if !there || v.DataType() != events.DataTypeNumber {
		return 0, false
	}
	n, err := strconv.Atoi(v.Number())
	return n, err == nil
}

func streamText(row map[string]events.DynamoDBAttributeValue, name string) string {
	if v, there := row[name]; there && v.DataType() == events.DataTypeString {
		return v.String()
	}
	return ""
}

func streamBytes(row map[string]events.DynamoDBAttributeValue, name string) []byte {
	if v, there := row[name]; there && v.DataType() == events.DataTypeBinary {
		return v.Binary()
	}
	return nil
}

// StreamFilter is the filter of the event source mapping: only rows with new entries, no
// deletions, expirations or moved entries. It uses only the new image; Lambda documents no
// filter on other stream keys.
const StreamFilter = `{"dynamodb":{"NewImage":{"newAfter":{"N":[{"exists":true}]}}}}`

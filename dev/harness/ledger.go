package harness

import (
	"context"
	"fmt"

	"ostinato.dev/ostinato/internal/protocol"
)

// ledgerPage is how many rows are asked for at a time: fewer than a ledger may have, so that pages are read on.
const ledgerPage = 100

// Ledger reads all rows that a CronJob's workflow has of its ledger, newest first.
func (h *Harness) Ledger(ctx context.Context, namespace, name string) ([]protocol.LedgerRow, error) {
	var rows []protocol.LedgerRow
	question := protocol.LedgerQuestion{Limit: ledgerPage}
	for {
		value, err := h.Temporal.QueryWorkflow(ctx, CronJobWorkflow(namespace, name), "", protocol.LedgerQuery, question)
		if err != nil {
			return nil, fmt.Errorf("ask CronJob %s/%s for its ledger: %w", namespace, name, err)
		}
		var page protocol.LedgerPage
		if err := value.Get(&page); err != nil {
			return nil, fmt.Errorf("read the ledger of CronJob %s/%s: %w", namespace, name, err)
		}
		rows = append(rows, page.Rows...)
		if page.Before == 0 {
			return rows, nil
		}
		question.Before = page.Before
	}
}

// Package payloadcodec encrypts what Ostinato keeps in Temporal: inputs, results,
// signals, queries, summaries and, if wanted, messages of failures. It is a
// converter.PayloadCodec (AES-256-GCM) with keys from files that can be changed
// while the process runs.
package payloadcodec

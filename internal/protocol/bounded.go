package protocol

import (
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/packed"
	"ostinato.dev/ostinato/internal/schedule"
)

// What arrives through Temporal may be anybody's, so each type that holds lists bounds its JSON before
// it is decoded (packed.Unmarshal). A type without methods stands for each.
type (
	plainPodList            PodList
	plainJobInput           JobInput
	plainCronJobInput       CronJobInput
	plainPodFacts           PodFacts
	plainStartRunRequest    StartRunRequest
	plainStartRunResult     StartRunResult
	plainWriteStatusRequest WriteStatusRequest
	plainWriteStatusResult  WriteStatusResult
	plainFindRunsRequest    FindRunsRequest
	plainFindRunsResult     FindRunsResult
	plainJobRequest         JobRequest
	plainJobResult          JobResult
	plainListPodsRequest    ListPodsRequest
	plainTerminateRequest   TerminatePodsRequest
	plainReleaseResult      ReleaseOrphansResult
	plainJobDescription     JobDescription
	plainCronJobDescription CronJobDescription
	plainRestoreRequest     RestoreLedgerRequest
)

// Long values of these are compressed: those of a Job with thousands of Pods, the state of a CronJob, and rows of its ledger.

func (l PodList) MarshalJSON() ([]byte, error)    { return packed.Marshal(plainPodList(l)) }
func (p PodFacts) MarshalJSON() ([]byte, error)   { return packed.Marshal(plainPodFacts(p)) }
func (j JobRequest) MarshalJSON() ([]byte, error) { return packed.Marshal(plainJobRequest(j)) }
func (j JobResult) MarshalJSON() ([]byte, error)  { return packed.Marshal(plainJobResult(j)) }
func (l ListPodsRequest) MarshalJSON() ([]byte, error) {
	return packed.Marshal(plainListPodsRequest(l))
}
func (t TerminatePodsRequest) MarshalJSON() ([]byte, error) {
	return packed.Marshal(plainTerminateRequest(t))
}
func (r ReleaseOrphansResult) MarshalJSON() ([]byte, error) {
	return packed.Marshal(plainReleaseResult(r))
}
func (c CronJobInput) MarshalJSON() ([]byte, error) { return packed.Marshal(plainCronJobInput(c)) }
func (r RestoreLedgerRequest) MarshalJSON() ([]byte, error) {
	return packed.Marshal(plainRestoreRequest(r))
}

func (l *PodList) UnmarshalJSON(data []byte) error {
	return packed.UnmarshalWithin(data, (*plainPodList)(l), job.MaxStateSize)
}
func (j *JobInput) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainJobInput)(j))
}
func (c *CronJobInput) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainCronJobInput)(c))
}
func (p *PodFacts) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainPodFacts)(p))
}
func (s *StartRunRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainStartRunRequest)(s))
}
func (s *StartRunResult) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainStartRunResult)(s))
}
func (w *WriteStatusRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainWriteStatusRequest)(w))
}
func (w *WriteStatusResult) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainWriteStatusResult)(w))
}
func (f *FindRunsRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainFindRunsRequest)(f))
}
func (f *FindRunsResult) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainFindRunsResult)(f))
}
func (j *JobRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainJobRequest)(j))
}
func (j *JobResult) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainJobResult)(j))
}
func (t *TerminatePodsRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainTerminateRequest)(t))
}
func (r *ReleaseOrphansResult) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainReleaseResult)(r))
}
func (l *ListPodsRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainListPodsRequest)(l))
}
func (r *RestoreLedgerRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainRestoreRequest)(r))
}

func (j *JobDescription) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainJobDescription)(j))
}
func (c *CronJobDescription) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainCronJobDescription)(c))
}

// Evaluation and BackfillTimes are those of package schedule as a history has recorded them: any poller of a task queue
// of Temporal may have written the record.
type (
	Evaluation    schedule.Evaluation
	BackfillTimes schedule.BackfillTimes
)

func (e *Evaluation) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*schedule.Evaluation)(e))
}
func (b *BackfillTimes) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*schedule.BackfillTimes)(b))
}

package protocol

import (
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/packed"
	"ostinato.dev/ostinato/internal/schedule"
)

// What arrives through Temporal may be anybody's, so what holds lists is bounded before
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
	plainJobClosed          JobClosed
	plainJobDescription     JobDescription
	plainCronJobDescription CronJobDescription
)

// MarshalJSON implements json.Marshaler: a long list is compressed.
func (l PodList) MarshalJSON() ([]byte, error) { return packed.Marshal(plainPodList(l)) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *PodList) UnmarshalJSON(data []byte) error {
	return packed.UnmarshalWithin(data, (*plainPodList)(l), job.MaxStateSize)
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JobInput) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainJobInput)(j))
}

// MarshalJSON implements json.Marshaler: the state of many runs is compressed.
func (c CronJobInput) MarshalJSON() ([]byte, error) { return packed.Marshal(plainCronJobInput(c)) }

// UnmarshalJSON implements json.Unmarshaler.
func (c *CronJobInput) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainCronJobInput)(c))
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *PodFacts) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainPodFacts)(p))
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *StartRunRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainStartRunRequest)(s))
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *StartRunResult) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainStartRunResult)(s))
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *WriteStatusRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainWriteStatusRequest)(w))
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *WriteStatusResult) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainWriteStatusResult)(w))
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *FindRunsRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainFindRunsRequest)(f))
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *FindRunsResult) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainFindRunsResult)(f))
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JobRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainJobRequest)(j))
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JobResult) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainJobResult)(j))
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *TerminatePodsRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainTerminateRequest)(t))
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *ListPodsRequest) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainListPodsRequest)(l))
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JobClosed) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainJobClosed)(j))
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JobDescription) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainJobDescription)(j))
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *CronJobDescription) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainCronJobDescription)(c))
}

// Evaluation is a schedule.Evaluation as a history has recorded it: whoever may poll a task
// queue of Temporal may have written the record.
type Evaluation schedule.Evaluation

// UnmarshalJSON implements json.Unmarshaler.
func (e *Evaluation) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*schedule.Evaluation)(e))
}

// BackfillTimes are schedule.BackfillTimes as a history has recorded them.
type BackfillTimes schedule.BackfillTimes

// UnmarshalJSON implements json.Unmarshaler.
func (b *BackfillTimes) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*schedule.BackfillTimes)(b))
}

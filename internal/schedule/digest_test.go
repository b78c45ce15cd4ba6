package schedule_test

import (
	"reflect"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// Workers of two versions compare digests: a field without a value is not in them, and one with a value is.
func TestADigestHoldsWhatIsSet(t *testing.T) {
	cronJob := &ostinatov1.CronJob{Spec: ostinatov1.CronJobSpec{Schedule: "0 2 * * *", ConcurrencyPolicy: batchv1.ForbidConcurrent}}
	plain := schedule.SpecOf(cronJob)
	const want = "c1cacd8f46ba14bc"
	if got := plain.Digest(); got != want {
		t.Errorf("digest %s of a plain CronJob, want %s as before", got, want)
	}
	for i := range reflect.TypeFor[schedule.Spec]().NumField() {
		changed := plain
		field := reflect.ValueOf(&changed).Elem().Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString("other")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int32, reflect.Int64:
			field.SetInt(7)
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		default:
			t.Fatalf("set field %s here", reflect.TypeFor[schedule.Spec]().Field(i).Name)
		}
		if changed.Digest() == plain.Digest() {
			t.Errorf("field %s is not in the digest", reflect.TypeFor[schedule.Spec]().Field(i).Name)
		}
	}
}

package activities

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"k8s.io/apimachinery/pkg/util/validation"

	"ostinato.dev/ostinato/internal/protocol"
)

// BadRequestErrorType: the activity was asked for something that can't be meant; not
// retryable, since the same request can only fail again.
const BadRequestErrorType = "BadRequest"

func badRequest(format string, arguments ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, arguments...), BadRequestErrorType, nil)
}

// checkReference returns an error for a reference that does not name one object: without
// a UID, an object of the same name could be taken for it.
func checkReference(kind string, object protocol.ObjectReference) error {
	switch {
	case object.Namespace == "" || object.Name == "":
		return badRequest("%s %q of namespace %q: give both the namespace and the name", kind, object.Name, object.Namespace)
	case object.UID == "":
		return badRequest("%s %s/%s without a UID: give its metadata.uid", kind, object.Namespace, object.Name)
	case len(validation.IsValidLabelValue(object.UID)) > 0:
		return badRequest("%s %s/%s with UID %.80q: give its metadata.uid", kind, object.Namespace, object.Name, object.UID)
	}
	return nil
}

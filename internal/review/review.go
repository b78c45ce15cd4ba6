package review

import (
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// timeout bounds a question.
const timeout = 5 * time.Second

// Identify returns the user who has a token; false if the API server does not know it. With an audience the token must be for that.
// It needs the right to create tokenreviews.
func Identify(ctx context.Context, client kubernetes.Interface, token, audience string) (authenticationv1.UserInfo, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	asked := authenticationv1.TokenReviewSpec{Token: token}
	if audience != "" {
		asked.Audiences = []string{audience}
	}
	answer, err := client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: asked}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, false, fmt.Errorf("create a TokenReview: %w", err)
	}
	// An authenticator that knows no audiences answers without any.
	known := answer.Status.Authenticated && (audience == "" || slices.Contains(answer.Status.Audiences, audience))
	return answer.Status.User, known, nil
}

// Allowed reports whether a user may do what one of the two attributes says. It needs the right to create subjectaccessreviews.
func Allowed(
	ctx context.Context, client kubernetes.Interface, user authenticationv1.UserInfo,
	resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes,
) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			ResourceAttributes: resource, NonResourceAttributes: path,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("create a SubjectAccessReview of %s: %w", user.Username, err)
	}
	return answer.Status.Allowed, nil
}

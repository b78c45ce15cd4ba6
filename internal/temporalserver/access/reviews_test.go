package access_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/temporalserver/access"
)

// apiServer answers reviews: ada's token is "good", and she may do everything while allowed is true.
type apiServer struct {
	*fake.Clientset
	allowed, away bool
	audiences     []string
	asked         int
}

func newAPIServer() *apiServer {
	s := &apiServer{Clientset: fake.NewClientset(), allowed: true, audiences: []string{access.Audience}}
	s.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		s.asked++
		if s.away {
			return true, nil, errors.New("connection refused")
		}
		review := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		review.Status.Authenticated = review.Spec.Token == "good"
		review.Status.Audiences = s.audiences
		review.Status.User.Username = "ada"
		return true, review, nil
	})
	s.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		s.asked++
		if s.away {
			return true, nil, errors.New("connection refused")
		}
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		review.Status.Allowed = s.allowed
		return true, review, nil
	})
	return s
}

var ada = authenticationv1.UserInfo{Username: "ada"}

func TestAnAnswerHoldsForSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer()
		reviews := access.NewReviews(server)
		may := func() bool {
			user, known, err := reviews.Identify(t.Context(), "10.0.0.1", "good")
			require.NoError(t, err)
			require.True(t, known)
			assert.Equal(t, "ada", user.Username)
			refused, err := reviews.Allowed(t.Context(), user, []access.Question{getCronJobs})
			require.NoError(t, err)
			return refused == nil
		}
		assert.True(t, may())
		assert.True(t, may())
		assert.Equal(t, 2, server.asked)
		server.allowed = false
		time.Sleep(15 * time.Second)
		assert.False(t, may(), "a right that was taken away is felt")
	})
}

func TestOfSeveralQuestionsTheRefusedOneIsNamed(t *testing.T) {
	server := newAPIServer()
	server.allowed = false
	refused, err := access.NewReviews(server).Allowed(t.Context(), ada, []access.Question{getJobs, getLogs})
	require.NoError(t, err)
	assert.Equal(t, &getJobs, refused)
}

func TestATokenForAnotherAudienceIsUnknown(t *testing.T) {
	for _, audiences := range [][]string{nil, {"https://kubernetes.default.svc"}} {
		server := newAPIServer()
		server.audiences = audiences
		_, known, err := access.NewReviews(server).Identify(t.Context(), "", "good")
		require.NoError(t, err)
		assert.False(t, known, audiences)
	}
}

func TestAnAPIServerThatIsAwayAllowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer()
		reviews := access.NewReviews(server)
		_, err := reviews.Allowed(t.Context(), ada, []access.Question{getCronJobs})
		require.NoError(t, err)
		server.away = true
		time.Sleep(6 * time.Second)
		_, err = reviews.Allowed(t.Context(), ada, []access.Question{getCronJobs})
		require.Error(t, err)
		_, _, err = reviews.Identify(t.Context(), "", "good")
		require.Error(t, err)
	})
}

func TestAStrangersTokensDoNotUseUpTheQuestionsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer()
		reviews := access.NewReviews(server)
		var busy int
		for i := range 1000 {
			_, _, err := reviews.Identify(t.Context(), "10.0.0.66", string(rune('a'+i%26))+time.Duration(i).String())
			if err != nil {
				busy++
			}
		}
		assert.Equal(t, 960, busy)
		_, known, err := reviews.Identify(t.Context(), "10.0.0.1", "good")
		require.NoError(t, err)
		assert.True(t, known)
	})
}

// All who forward a port of the Pod's come from one address, and so do all who use the Web UI.
func TestAKnownUsersQuestionsDoNotUseUpThoseOfOthersAtTheSameAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := access.NewReviews(newAPIServer())
		eve := authenticationv1.UserInfo{Username: "eve"}
		var busy int
		for i := range 1000 {
			question := getCronJobs
			question.Name = time.Duration(i).String()
			_, err := reviews.Allowed(t.Context(), eve, []access.Question{question})
			if err != nil {
				busy++
			}
		}
		assert.Equal(t, 960, busy)
		_, err := reviews.Allowed(t.Context(), ada, []access.Question{getCronJobs})
		require.NoError(t, err)
	})
}

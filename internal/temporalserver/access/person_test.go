package access_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// personal is a certificate of a user.
func personal(t testing.TB, authorities authority.Authorities, user authority.Identity) []byte {
	t.Helper()
	request, err := authority.NewRequest()
	require.NoError(t, err)
	data, err := authorities.Person(user, request.Certificate, time.Now())
	require.NoError(t, err)
	return data
}

package temporalaccess_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/dynamicconfig"
)

// Temporal takes no notice of settings that it does not know.
func TestTheSettingsOfTheDocumentsAreTemporals(t *testing.T) {
	for _, file := range []string{"../../../docs/temporal.md", "../../../test/stack/scaleout/authorizer_test.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, setting := range []dynamicconfig.GenericSetting{dynamicconfig.ExposeAuthorizerErrors, dynamicconfig.EnablePrincipalPropagation} {
			assert.Contains(t, strings.ToLower(string(text)), setting.Key().String()+":", file)
		}
	}
}

/*
Copyright 2026 The Entente Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package sensitive

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// brokenDecoder fails with err, and says that what it read was of kind.
type brokenDecoder struct {
	kind *schema.GroupVersionKind
	err  error
}

func (d brokenDecoder) Decode([]byte, *schema.GroupVersionKind, runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	return &Vault{}, d.kind, d.err
}

func strictDecoder(t *testing.T) runtime.Decoder {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(vaultCodecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	require.True(t, ok)
	return NewNegotiatedSerializer(vaultCodecs).DecoderToVersion(info.StrictSerializer, vaultInternal)
}

// R15: what decodes is decoded as without the wrapper.
func TestDecoderDecodes(t *testing.T) {
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML} {
		info, ok := runtime.SerializerInfoForMediaType(vaultCodecs.SupportedMediaTypes(), mediaType)
		require.True(t, ok)
		inner, wrapped := vaultCodecs.DecoderToVersion(info.StrictSerializer, vaultInternal), NewNegotiatedSerializer(vaultCodecs).DecoderToVersion(info.StrictSerializer, vaultInternal)
		want, wantKind, err := inner.Decode([]byte(manifest("one", keyCanary)), nil, nil)
		require.NoError(t, err)
		got, kind, err := wrapped.Decode([]byte(manifest("one", keyCanary)), nil, nil)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, wantKind, kind)
		assert.Equal(t, keyCanary, got.(*Vault).Spec.Key.Secret)
	}
}

// R15: an error of strict decoding stays one, which the handlers may make warnings
// of; and the object that was decoded all the same is kept.
func TestR15DecoderKeepsStrictness(t *testing.T) {
	obj, _, err := strictDecoder(t).Decode([]byte(`{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"wrong":"`+keyCanary+`","label":"a","label":"b"}}`), nil, &Vault{})
	require.Error(t, err)
	strict, ok := runtime.AsStrictDecodingError(err)
	require.True(t, ok)
	var texts []string
	for _, e := range strict.Errors() {
		texts = append(texts, e.Error())
	}
	assert.ElementsMatch(t, []string{`unknown field "spec.wrong"`, `duplicate field "spec.label"`}, texts)
	assert.NotNil(t, obj)

	_, _, err = strictDecoder(t).Decode([]byte(`{"spec":`), &schema.GroupVersionKind{Group: "vault.test", Version: "v1", Kind: "Vault"}, &Vault{})
	require.Error(t, err)
	assert.False(t, runtime.IsStrictDecodingError(err))
	assert.NoError(t, rewriteDecodingError(nil))
}

// R15: the handlers quote the body where no kind is known, and the kind where one
// is; so a failure always has a kind, and never the one of the body.
func TestR15DecoderClaimsAKind(t *testing.T) {
	expected := &schema.GroupVersionKind{Group: "vault.test", Version: "v1", Kind: "Vault"}
	kind := func(version, kind string) *schema.GroupVersionKind {
		return &schema.GroupVersionKind{Group: "vault.test", Version: version, Kind: kind}
	}
	for name, test := range map[string]struct{ in, want *schema.GroupVersionKind }{
		"none":                  {nil, expected},
		"another":               {kind("v1beta1", "Other"), expected},
		"no kind":               {kind("v1", ""), expected},
		"no version":            {kind("", "Vault"), expected},
		"a text":                {kind("v1", "my secret: "+keyCanary), expected},
		"a secret":              {kind("v1", keyCanary), expected},
		"a secret for version":  {kind(keyCanary, "Vault"), expected},
		"a long one":            {kind("v1", keySecret), expected},
		"a line end at the end": {kind("v1", "Vault\n"), expected},
	} {
		t.Run(name, func(t *testing.T) {
			obj, got, err := decoder{brokenDecoder{test.in, errors.New(keyCanary)}}.Decode(nil, expected, nil)
			assert.Equal(t, test.want, got)
			assert.NotNil(t, obj)
			require.Error(t, err)
			assertNoCanary(t, err.Error())
		})
	}
}

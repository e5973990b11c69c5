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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NewNegotiatedSerializer wraps the serializer of an API group with sensitive
// kinds so that its decoding errors, which end up in answers, warnings, logs and
// audit, quote nothing of a body (R15).
func NewNegotiatedSerializer(inner runtime.NegotiatedSerializer) runtime.NegotiatedSerializer {
	return negotiatedSerializer{inner}
}

type negotiatedSerializer struct {
	runtime.NegotiatedSerializer
}

func (s negotiatedSerializer) DecoderToVersion(serializer runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return decoder{s.NegotiatedSerializer.DecoderToVersion(serializer, gv)}
}

type decoder struct {
	inner runtime.Decoder
}

// Decode decodes data. When it fails it claims that the kind was the expected one:
// the handlers say the kind that the body names, whatever stands there, and without
// any they quote the beginning of the body.
func (d decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.inner.Decode(data, defaults, into)
	if err == nil {
		return obj, gvk, nil
	}
	if defaults != nil {
		gvk = defaults
	}
	return obj, gvk, rewriteDecodingError(err)
}

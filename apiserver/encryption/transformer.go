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

package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
)

var (
	// errClear says that a value would be stored as it is.
	errClear = errors.New("it would be stored in the clear")
	// errUnread says that nothing that is configured reads a value.
	errUnread = errors.New("nothing that is configured can read it")
)

// transformer encrypts and decrypts the values of one resource. Of its two parts,
// one may be nil.
type transformer struct {
	// ring encrypts with the generated keys.
	ring value.Transformer
	// providers encrypts with what the configuration file names.
	providers value.Transformer
	// generated says that the ring writes, though there may be providers.
	generated bool
}

func (t *transformer) writer() value.Transformer {
	if t.generated {
		return t.ring
	}
	return t.providers
}

// TransformFromStorage implements value.Transformer. What the writer would not have
// written is stale, and so encrypted anew when the object is next written.
func (t *transformer) TransformFromStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, bool, error) {
	reader := t.providers
	fromRing := bytes.HasPrefix(data, []byte(ringPrefix))
	if fromRing {
		reader = t.ring
	}
	if reader == nil {
		return nil, false, errUnread
	}
	out, stale, err := reader.TransformFromStorage(ctx, data, dataCtx)
	return out, stale || fromRing != t.generated, err
}

// TransformToStorage implements value.Transformer. It checks every value again: a
// provider may be changed while the server runs.
func (t *transformer) TransformToStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, error) {
	out, err := t.writer().TransformToStorage(ctx, data, dataCtx)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(out, []byte(encryptedPrefix)) {
		return nil, fmt.Errorf("could not encrypt the value: %w", errClear)
	}
	return out, nil
}

// refusal is the transformer of a resource that nobody tried.
type refusal struct{ resource schema.GroupResource }

func (r refusal) err() error {
	return fmt.Errorf("could not use the store for %s: its encryption was not tried", r.resource)
}

func (r refusal) TransformFromStorage(context.Context, []byte, value.Context) ([]byte, bool, error) {
	return nil, false, r.err()
}

func (r refusal) TransformToStorage(context.Context, []byte, value.Context) ([]byte, error) {
	return nil, r.err()
}

// probe is what transformers are tried with. It looks like nothing else.
const probe = `{"kind":"Probe","apiVersion":"entente.dev/v1","note":"may this never be seen in a store"}`

// try encrypts a probe and decrypts it again. An error that is errClear says that
// the probe would be stored in the clear; any other, that the transformer does not
// work (now), and so stores nothing.
func try(ctx context.Context, resource schema.GroupResource, transformer value.Transformer) error {
	where := value.DefaultContext("/" + resource.String() + "/probe")
	out, err := transformer.TransformToStorage(ctx, []byte(probe), where)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(out, []byte(encryptedPrefix)) || bytes.Contains(out, []byte(probe)) {
		return errClear
	}
	back, _, err := transformer.TransformFromStorage(ctx, out, where)
	if err != nil {
		return err
	}
	if string(back) != probe {
		return errors.New("what was encrypted is not what comes back")
	}
	return nil
}

// header is the beginning of a stored value that says what encrypted it, without
// names of keys; empty if nothing did.
func header(data []byte) string {
	if !bytes.HasPrefix(data, []byte(encryptedPrefix)) {
		return ""
	}
	const longest = 64
	parts := strings.SplitN(string(data[:min(longest, len(data))]), ":", 5)
	if len(parts) < 5 {
		return encryptedPrefix
	}
	return strings.Join(parts[:4], ":") + ":"
}

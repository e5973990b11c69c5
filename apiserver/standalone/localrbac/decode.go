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

package localrbac

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// decoder decodes manifests strictly: unknown and repeated fields are faults.
type decoder struct {
	runtime.Decoder
}

func newDecoder() (*decoder, error) {
	scheme := runtime.NewScheme()
	if err := rbacv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("could not prepare the decoding of RBAC manifests: %w", err)
	}
	options := json.SerializerOptions{Yaml: true, Strict: true}
	return &decoder{json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, options)}, nil
}

// decode yields the objects of a file, or the first fault in it. The objects are
// of the four kinds, but not validated yet.
func (d *decoder) decode(f file) ([]runtime.Object, error) {
	if f.err != nil {
		return nil, f.err
	}
	documents, err := split(f)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	for i, document := range documents {
		object, err := d.decodeOne(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func (d *decoder) decodeOne(document []byte) (runtime.Object, error) {
	object, kind, err := d.Decode(document, nil, nil)
	switch {
	case runtime.IsMissingKind(err):
		// The library's text quotes the document, which may be anything.
		return nil, errors.New("kind is missing")
	case runtime.IsMissingVersion(err):
		return nil, errors.New("apiVersion is missing")
	case runtime.IsNotRegisteredError(err) && kind != nil:
		return nil, unsupported(kind.Kind, kind.GroupVersion().String())
	case err != nil:
		return nil, err
	}
	switch object.(type) {
	case *rbacv1.ClusterRole, *rbacv1.Role, *rbacv1.ClusterRoleBinding, *rbacv1.RoleBinding:
		return object, nil
	default:
		return nil, unsupported(kind.Kind, kind.GroupVersion().String())
	}
}

func unsupported(kind, version string) error {
	return fmt.Errorf("%s of %s is not one of Role, ClusterRole, RoleBinding and ClusterRoleBinding of %s", kind, version, rbacv1.SchemeGroupVersion)
}

// split takes a file apart into documents, leaving out those that say nothing.
func split(f file) ([][]byte, error) {
	var next func() ([]byte, error)
	if filepath.Ext(f.name) == ".json" {
		stream := stdjson.NewDecoder(bytes.NewReader(f.content))
		next = func() ([]byte, error) {
			var document stdjson.RawMessage
			err := stream.Decode(&document)
			return document, err
		}
	} else {
		next = yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(f.content))).Read
	}
	var documents [][]byte
	for {
		document, err := next()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		if !blank(document) {
			documents = append(documents, document)
		}
	}
}

// blank tells whether a document has nothing but comments and separators.
func blank(document []byte) bool {
	for line := range strings.Lines(string(document)) {
		line = strings.TrimSpace(line)
		if line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

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

package target

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	kjson "sigs.k8s.io/json"
)

// Limits of a kubeconfig. One with a thousand clusters is within them.
const (
	maxKubeconfig = 1 << 20
	// maxMarks bounds the number of values: each takes a character that is not one of
	// base64, a word or a sentence, and each value in memory more than a hundred bytes.
	maxMarks = 64 << 10
	maxDepth = 32
)

// decode decodes a kubeconfig, in YAML or JSON, without anything that could make it grow.
func decode(data []byte) (config *clientcmdv1.Config, fault *Fault) {
	// What decodes is made by others, for data that is meant well.
	defer func() {
		if recover() != nil {
			config, fault = nil, &Fault{Text: FaultSyntax}
		}
	}()
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, &Fault{Text: FaultEmpty}
	case len(data) > maxKubeconfig || marks(data) > maxMarks:
		return nil, &Fault{Text: FaultSize}
	case !utf8.Valid(data):
		return nil, &Fault{Text: FaultEncoding}
	}
	document, fault := parse(data)
	if fault != nil {
		return nil, fault
	}
	value, fault := valueOf(document, maxDepth)
	if fault != nil {
		return nil, fault
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, &Fault{Text: FaultNotMap}
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, &Fault{Text: FaultSyntax}
	}
	config = &clientcmdv1.Config{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(encoded, config); err != nil {
		return nil, faultOfType(err)
	}
	return config, nil
}

// marks counts the characters that can begin, end or part values.
func marks(data []byte) int {
	count := 0
	for _, c := range data {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("+/=_. ", c) >= 0:
		default:
			count++
		}
	}
	return count
}

// parse parses the one document that there may be. Aliases stay what they are.
func parse(data []byte) (*yaml.Node, *Fault) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, &Fault{Text: FaultEmpty} // comments
	case err != nil || len(document.Content) != 1:
		return nil, &Fault{Text: FaultSyntax}
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &Fault{Text: FaultDocuments}
	}
	return document.Content[0], nil
}

// valueOf returns the value of a node as JSON has it. A number becomes a string as it is
// written, since there is no field of a kubeconfig for one: 0123 is a token too.
func valueOf(node *yaml.Node, depth int) (any, *Fault) {
	if depth == 0 {
		return nil, &Fault{Text: FaultDepth}
	}
	switch node.Kind {
	case yaml.MappingNode:
		values := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind == yaml.AliasNode || key.ShortTag() == "!!merge" {
				return nil, &Fault{Text: FaultAlias}
			}
			if key.Kind != yaml.ScalarNode {
				return nil, &Fault{Text: FaultType}
			}
			if _, ok := values[key.Value]; ok {
				return nil, &Fault{Text: FaultRepeated}
			}
			value, fault := valueOf(node.Content[i+1], depth-1)
			if fault != nil {
				return nil, fault
			}
			values[key.Value] = value
		}
		return values, nil
	case yaml.SequenceNode:
		values := make([]any, len(node.Content))
		for i, item := range node.Content {
			var fault *Fault
			if values[i], fault = valueOf(item, depth-1); fault != nil {
				return nil, fault
			}
		}
		return values, nil
	case yaml.ScalarNode:
		return scalarOf(node), nil
	default:
		return nil, &Fault{Text: FaultAlias}
	}
}

func scalarOf(node *yaml.Node) any {
	switch node.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(node.Value, "true")
	default:
		return node.Value
	}
}

// faultOfType says which field it was that could not be decoded, if it is one that counts.
func faultOfType(err error) *Fault {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		// There is nothing else in a kubeconfig that a string can be wrong for.
		return &Fault{Text: FaultBase64}
	}
	for _, field := range []string{
		fieldKind, fieldAPIVersion, fieldCurrent, fieldContexts, fieldContextCluster, fieldContextUser,
		fieldClusters, fieldClusterServer, fieldClusterName, fieldClusterSkip, fieldClusterCAFile, fieldClusterCA,
		fieldClusterProxy, fieldClusterPlain, fieldUsers, fieldUser, fieldUserExec, fieldUserProvider, fieldUserCertFile,
		fieldUserCert, fieldUserKeyFile, fieldUserKey, fieldUserToken, fieldUserTokenFile, fieldUserAs, fieldUserAsUID,
		fieldUserAsGroups, fieldUserAsExtra, fieldUserName, fieldUserPassword,
	} {
		if strings.ReplaceAll(field, "[]", "") == wrong.Field {
			return &Fault{field, FaultType}
		}
	}
	return &Fault{Text: FaultType}
}

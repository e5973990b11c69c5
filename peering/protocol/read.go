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

package protocol

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// Read reads one message, a JSON object of at most limit bytes. Fields that are not
// known are passed over, so that a later version may have more of them. Names of fields
// are matched to the letter. Every error is a Fault, and quotes nothing.
func Read(r io.Reader, limit int64, into any) error {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case int64(len(data)) > limit:
		return ErrTooLarge
	case err != nil:
		return ErrIncomplete
	}
	if err := checkJSON(data); err != nil {
		return err
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(data, into) != nil {
		return ErrMalformed
	}
	return nil
}

// ReadFailure reads why the other side would not do something. A reason that is not in
// the closed set is FailureRefused.
func ReadFailure(r io.Reader) (FailureReason, error) {
	var failure Failure
	if err := Read(r, LimitFailure, &failure); err != nil {
		return "", err
	}
	if !failure.Reason.known() {
		return FailureRefused, nil
	}
	return failure.Reason, nil
}

// checkJSON goes through a message before anything is made of it: it is one object and
// nothing else, not too deep, and no object in it has two fields of one name, of which
// two readers could take different ones.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) || !json.Valid(data) || !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return ErrMalformed
	}
	return checkValue(json.NewDecoder(bytes.NewReader(data)), MaxDepth)
}

// checkValue reads one value of what is known to be JSON.
func checkValue(decoder *json.Decoder, depth int) error {
	token, err := decoder.Token()
	if err != nil {
		return ErrMalformed // a number that fits nowhere
	}
	opened, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth == 0 {
		return ErrTooDeep
	}
	names := map[json.Token]bool{}
	for decoder.More() {
		if opened == '{' {
			name, err := decoder.Token()
			if err != nil {
				return ErrMalformed
			}
			if names[name] {
				return ErrDuplicate
			}
			names[name] = true
		}
		if err := checkValue(decoder, depth-1); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return ErrMalformed
	}
	return nil
}

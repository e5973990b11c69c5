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

package main

import (
	"bytes"
	"io"
)

// discreet is what the standard library logs to. The HTTP client of that logs what somebody
// sends who was not asked, as it came: it is the bytes of another cluster, which get into no
// log (R15, P11). That something was sent is kept.
type discreet struct{ out io.Writer }

// unsolicited begins such a line, behind which there is what was sent.
const unsolicited = "Unsolicited response received on idle HTTP channel"

// Write writes a line, without what is not ours.
func (d discreet) Write(line []byte) (int, error) {
	if i := bytes.Index(line, []byte(unsolicited)); i >= 0 {
		if _, err := d.out.Write([]byte(string(line[:i]) + unsolicited + "\n")); err != nil {
			return 0, err
		}
		return len(line), nil
	}
	return d.out.Write(line)
}

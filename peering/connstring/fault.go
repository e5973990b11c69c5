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

package connstring

// Fault says what is wrong with a connection string, naming the part. It is an
// error. The constants of this package are the only ones, so that a text of
// a Fault never holds a piece of the string and may be shown to anybody.
type Fault string

// The faults of a connection string, in the order in which Parse looks for them.
const (
	// ErrTooLong means that it has more than MaxLength characters.
	ErrTooLong Fault = "length: more than 2048 characters"
	// ErrCharacter means that a character is none of those that occur in a
	// connection string; often it is the line break at the end of a file.
	ErrCharacter Fault = "characters: a space, a line break or another character that no connection string has"
	// ErrForm means that it is not made of the three parts, or that the first of
	// them is not the name of the format.
	ErrForm Fault = "form: not entente1.<data>.<checksum>"
	// ErrVersion means that it is of another format than the one known here.
	ErrVersion Fault = "version: not entente1, the only one known here; it was issued by another version of Entente"
	// ErrChecksum means that the string was damaged while it was copied.
	ErrChecksum Fault = "checksum: does not match; the string was changed or cut while it was copied"
	// ErrBase64 means that the data is not base64url.
	ErrBase64 Fault = "data: not base64url without padding"
	// ErrDocument means that the data is not JSON, or of another shape.
	ErrDocument Fault = "data: not the JSON object that is expected"
	// ErrTokenID means that the ID of the token is missing or malformed.
	ErrTokenID Fault = "token ID: not 16 lower-case hexadecimal digits"
	// ErrToken means that the token is missing, or not 32 bytes, or all zero.
	ErrToken Fault = "token: not 32 random bytes"
	// ErrEndpoints means that there are too few, too many or equal endpoints, or
	// that one of them is not of the form that is described at the package.
	ErrEndpoints Fault = "endpoints: not 1 to 4 different URLs of the form https://HOST:PORT, with a lower-case host name or an IP address and nothing after the port"
	// ErrPins means that there are too few, too many or equal pins, or that one
	// of them is not a SHA-256 hash.
	ErrPins Fault = "pins: not 1 to 3 different SHA-256 hashes"
	// ErrClusterUUID means that the UUID of the issuer is missing or malformed.
	ErrClusterUUID Fault = "cluster: not a UUID in lower case"
	// ErrExpiry means that the expiry is missing, or not between 1970 and 9999.
	ErrExpiry Fault = "expiry: missing or out of range"
	// ErrProtocol means that the protocol range is missing, empty or out of range.
	ErrProtocol Fault = "protocol: not a range of versions from 1 to 65535"
	// ErrSpelling means that the data says what it says in another way than
	// Encode does: unknown or repeated fields, another order, white space.
	ErrSpelling Fault = "data: unknown, repeated or misplaced fields, or not spelled the way it is issued"
)

// Error returns the text of the fault.
func (f Fault) Error() string { return "connection string: " + string(f) }

// ErrNotPrinted is returned by the marshallers of JSON and text, which exist so
// that no encoder writes the fields of a connection string by itself.
const ErrNotPrinted Fault = "not for marshalling: it is written by Encode only"

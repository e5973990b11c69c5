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

// Package connstring holds the connection string by which one cluster invites
// another: a text that a person carries from the cluster that issued it to the
// one that joins. Whoever holds it may join in its place, once, until it
// expires, so it is a secret as a whole.
//
//	entente1.<data>.<checksum>
//
// It has at most 2048 characters, all of them letters, digits, "-", "_" or ".".
// The first part names the format; a change of the data is a new format.
//
// data is a JSON object in base64url without padding (RFC 4648), with these
// fields in this order and no white space:
//
//	id         token ID, 16 lower-case hexadecimal digits, not secret
//	token      token, 32 random bytes in base64url without padding
//	endpoints  1 to 4 URLs of the issuer's gateway: https://HOST or https://HOST:PORT
//	pins       1 to 3 SHA-256 hashes of public keys (SubjectPublicKeyInfo, DER) of
//	           the issuer's peering CA, in base64url without padding
//	cluster    UUID of the cluster that issued it, in lower case
//	expires    when it expires by the issuer's clock, in seconds of Unix time
//	protocol   oldest and newest version of the peering protocol that the issuer
//	           speaks, {"min":1,"max":1}
//
// checksum is the CRC-32C of all that precedes its dot, in 8 lower-case
// hexadecimal digits. It is there for typing and copying errors, not against
// people, who can compute it anew; therefore a CRC and not a hash: it is certain
// to notice any damage within four neighbouring characters (a wrong one, a
// swapped pair), where a hash cut to that length would notice it only probably,
// and like the hash it misses one in 4 thousand million of all other changes.
// It tells nothing about the token that the string does not hold anyway.
// Hexadecimal digits in lower case have one way to be written.
//
// Every connection string has exactly one spelling: whatever Parse accepts,
// Encode gives back to the last character.
package connstring

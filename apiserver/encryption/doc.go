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

// Package encryption keeps everything that the server stores encrypted (R17).
//
// What encrypts is either what a file names (--encryption-provider-config, read by
// the library: keys in the file, or a KMS plugin) or a key of our own, generated on
// first start and kept in a KeyStore, which is never the store that it protects.
// No cryptography is done here: the library's transformers are put together.
//
// Three things hold whatever is configured. A resource that would be stored in
// the clear is a refusal to start, found by trying each transformer. A value that
// a transformer leaves in the clear is refused again when it is written. A key that
// is missing while there is data is never replaced by a new one.
//
// Log levels: a changed configuration is an information, one that is refused an
// error. Keys never appear anywhere; a value that holds them prints redacted.
package encryption

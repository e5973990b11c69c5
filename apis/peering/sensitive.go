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

package peering

// SensitiveField names the sensitive fields of a ClusterPeer, by number from 0;
// past the last one the path is empty. It is the only place that names them:
// redaction, restoring, scrubbing, OpenAPI, the printing of these types and the
// tests take the paths from here.
//
// It returns the JSON path of the field and a pointer to its value. Without
// write the pointer is for reading only, and nil if the object has no place for
// the field. With write the caller may set the value: the struct that holds it
// is copied first, or made, so that no other object that shares it changes.
func (in *ClusterPeer) SensitiveField(i int, write bool) (path string, value *string) {
	switch i {
	case 0:
		return "spec.join.connectionString", within(&in.Spec.Join, write, func(j *JoinSpec) *string { return &j.ConnectionString })
	case 1:
		return "status.invite.connectionString", within(&in.Status.Invite, write, func(s *InviteStatus) *string { return &s.ConnectionString })
	}
	return "", nil
}

// within yields a field of the struct that holder points to; for writing, of
// holder's own copy of it.
func within[T any](holder **T, write bool, field func(*T) *string) *string {
	if write {
		var own T
		if *holder != nil {
			own = **holder
		}
		*holder = &own
	}
	if *holder == nil {
		return nil
	}
	return field(*holder)
}

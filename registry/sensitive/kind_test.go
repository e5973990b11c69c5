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
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
)

// Vault is a kind with three sensitive fields: one in a struct of its spec, one
// two pointers deep, one in its status. This is its internal version.
type Vault struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              VaultSpec   `json:"spec,omitempty"`
	Status            VaultStatus `json:"status,omitempty"`
}

// VaultSpec is the spec of a Vault.
type VaultSpec struct {
	Label  string       `json:"label,omitempty"`
	Count  int64        `json:"count,omitempty"`
	Small  int32        `json:"small,omitempty"`
	Open   bool         `json:"open,omitempty"`
	Since  *metav1.Time `json:"since,omitempty"`
	Owners []string     `json:"owners,omitempty"`
	Key    *VaultKey    `json:"key,omitempty"`
	Door   *VaultDoor   `json:"door,omitempty"`
}

// VaultKey holds a sensitive field.
type VaultKey struct {
	Secret string `json:"secret,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// VaultDoor holds what holds a sensitive field.
type VaultDoor struct {
	Color string     `json:"color,omitempty"`
	Lock  *VaultLock `json:"lock,omitempty"`
}

// VaultLock holds a sensitive field.
type VaultLock struct {
	Code string `json:"code,omitempty"`
	Make string `json:"make,omitempty"`
}

// VaultStatus is the status of a Vault.
type VaultStatus struct {
	Phase string     `json:"phase,omitempty"`
	Note  *VaultNote `json:"note,omitempty"`
}

// VaultNote holds a sensitive field.
type VaultNote struct {
	Token string `json:"token,omitempty"`
	ID    string `json:"id,omitempty"`
}

// VaultList is a list of Vaults.
type VaultList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Vault `json:"items"`
}

// VaultV1 is a Vault as it is served and stored.
type VaultV1 Vault

// VaultV1List is a VaultList as it is served.
type VaultV1List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VaultV1 `json:"items"`
}

// Plain is a kind without sensitive fields.
type Plain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Value             string `json:"value,omitempty"`
}

// PlainList is a list of Plains.
type PlainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Plain `json:"items"`
}

var _ Object = &Vault{}

// The sensitive paths of a Vault, in the order of SensitiveField.
const (
	keyPath  = "spec.key.secret"
	codePath = "spec.door.lock.code"
	notePath = "status.note.token"
)

// SensitiveField implements Object.
func (v *Vault) SensitiveField(i int, write bool) (string, *string) {
	switch i {
	case 0:
		if key := through(&v.Spec.Key, write); key != nil {
			return keyPath, &key.Secret
		}
		return keyPath, nil
	case 1:
		if door := through(&v.Spec.Door, write); door != nil {
			if lock := through(&door.Lock, write); lock != nil {
				return codePath, &lock.Code
			}
		}
		return codePath, nil
	case 2:
		if note := through(&v.Status.Note, write); note != nil {
			return notePath, &note.Token
		}
		return notePath, nil
	}
	return "", nil
}

func through[T any](holder **T, write bool) *T {
	if write {
		own := new(T)
		if *holder != nil {
			*own = **holder
		}
		*holder = own
	}
	return *holder
}

func copyOf[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}

// DeepCopyObject implements runtime.Object.
func (v *Vault) DeepCopyObject() runtime.Object {
	out := *v
	v.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Since = v.Spec.Since.DeepCopy()
	out.Spec.Owners = append([]string(nil), v.Spec.Owners...)
	out.Spec.Key = copyOf(v.Spec.Key)
	if out.Spec.Door = copyOf(v.Spec.Door); out.Spec.Door != nil {
		out.Spec.Door.Lock = copyOf(v.Spec.Door.Lock)
	}
	out.Status.Note = copyOf(v.Status.Note)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *VaultList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Vault))
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (v *VaultV1) DeepCopyObject() runtime.Object {
	return (*VaultV1)((*Vault)(v).DeepCopyObject().(*Vault))
}

// DeepCopyObject implements runtime.Object.
func (l *VaultV1List) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*VaultV1))
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (p *Plain) DeepCopyObject() runtime.Object {
	out := *p
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *PlainList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = append([]Plain(nil), l.Items...)
	return &out
}

var (
	vaultGV       = schema.GroupVersion{Group: "vault.test", Version: "v1"}
	vaultInternal = schema.GroupVersion{Group: "vault.test", Version: runtime.APIVersionInternal}
	vaultResource = vaultGV.WithResource("vaults")
	vaultKind     = schema.GroupKind{Group: "vault.test", Kind: "Vault"}
)

func newVaultScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(vaultInternal, &Vault{}, &VaultList{})
	scheme.AddKnownTypeWithName(vaultGV.WithKind("Vault"), &VaultV1{})
	scheme.AddKnownTypeWithName(vaultGV.WithKind("VaultList"), &VaultV1List{})
	// As generated conversions do, these share what pointers lead to, and leave
	// apiVersion and kind alone.
	convert(scheme, func(in *Vault, out *VaultV1) {
		out.ObjectMeta, out.Spec, out.Status = in.ObjectMeta, in.Spec, in.Status
	})
	convert(scheme, func(in *VaultV1, out *Vault) {
		out.ObjectMeta, out.Spec, out.Status = in.ObjectMeta, in.Spec, in.Status
	})
	convert(scheme, func(in *VaultList, out *VaultV1List) {
		out.ListMeta, out.Items = in.ListMeta, make([]VaultV1, len(in.Items))
		for i := range in.Items {
			out.Items[i] = VaultV1(in.Items[i])
		}
	})
	convert(scheme, func(in *VaultV1List, out *VaultList) {
		out.ListMeta, out.Items = in.ListMeta, make([]Vault, len(in.Items))
		for i := range in.Items {
			out.Items[i] = Vault(in.Items[i])
		}
	})
	metav1.AddToGroupVersion(scheme, vaultGV)
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"},
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme
}

func convert[In, Out any](scheme *runtime.Scheme, do func(*In, *Out)) {
	err := scheme.AddConversionFunc((*In)(nil), (*Out)(nil), func(in, out any, _ conversion.Scope) error {
		do(in.(*In), out.(*Out))
		return nil
	})
	if err != nil {
		panic(err)
	}
}

var (
	vaultScheme = newVaultScheme()
	vaultCodecs = serializer.NewCodecFactory(vaultScheme)
)

// The secrets of the Vaults in these tests. No two share a piece of a length
// that assertNoCanary looks for, and no message of a library holds one.
const (
	keyCanary  = "kQ7zCANARYkeyVw3-0a1b2c3d4e5f6g7h8"
	codeCanary = "cX9yCANARYcodeTu8_8h7g6f5e4d3c2b1a"
	noteCanary = "nJ5wCANARYnoteSr2~q1w2e3r4t5y6u7i8"
)

// piece is the length of the shortest part of a secret that counts as a leak.
const piece = 8

// leaked returns the first piece of a secret that text holds.
func leaked(text string, secrets ...string) string {
	for _, secret := range secrets {
		for i := 0; i+piece <= len(secret); i++ {
			if strings.Contains(text, secret[i:i+piece]) {
				return secret[i : i+piece]
			}
		}
	}
	return ""
}

func assertNoCanary(t *testing.T, text string, more ...string) bool {
	t.Helper()
	found := leaked(text, append([]string{keyCanary, codeCanary, noteCanary}, more...)...)
	return assert.Empty(t, found, "a piece of a secret is in: %s", text)
}

// newVault returns a Vault with a value in each of its sensitive fields.
func newVault(name string) *Vault {
	return &Vault{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: VaultSpec{
			Label:  "label of " + name,
			Count:  3,
			Owners: []string{"ann", "bob"},
			Key:    &VaultKey{Secret: keyCanary, Hint: "hint"},
			Door:   &VaultDoor{Color: "red", Lock: &VaultLock{Code: codeCanary, Make: "acme"}},
		},
		Status: VaultStatus{Phase: "Open", Note: &VaultNote{Token: noteCanary, ID: "id"}},
	}
}

// redactedVault returns what newVault looks like to somebody without the right.
func redactedVault(name string) *Vault {
	v := newVault(name)
	v.Spec.Key.Secret, v.Spec.Door.Lock.Code, v.Status.Note.Token = Placeholder, Placeholder, Placeholder
	return v
}

// vaultStrategy is an ordinary strategy: the status is kept on update.
type vaultStrategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

var (
	_ rest.RESTCreateStrategy = vaultStrategy{}
	_ rest.RESTUpdateStrategy = vaultStrategy{}
)

func (vaultStrategy) NamespaceScoped() bool { return false }

// The status of a created Vault is kept, so that a test makes one in one step.
func (vaultStrategy) PrepareForCreate(context.Context, runtime.Object) {}

func (vaultStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*Vault).Status = old.(*Vault).Status
}

func (vaultStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return append(validateVault(obj.(*Vault)), Validate(obj.(*Vault))...)
}

func (vaultStrategy) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	return append(validateVault(obj.(*Vault)), Validate(obj.(*Vault))...)
}

// validateVault quotes a submitted value in the way of many validations.
func validateVault(v *Vault) field.ErrorList {
	if v.Spec.Key != nil && strings.Contains(v.Spec.Key.Secret, "refuse me") {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "key", "secret"), v.Spec.Key.Secret, fmt.Sprintf("%s is not good enough", v.Spec.Key.Secret))}
	}
	return nil
}

func (vaultStrategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

func (vaultStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (vaultStrategy) Canonicalize(runtime.Object)                   {}
func (vaultStrategy) AllowCreateOnUpdate(context.Context) bool      { return false }
func (vaultStrategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// statusStrategy changes the status alone; sensitiveStrategy the spec alone,
// which is enough for a subresource of a test.
type statusStrategy struct{ vaultStrategy }

func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*Vault).Spec = old.(*Vault).Spec
}

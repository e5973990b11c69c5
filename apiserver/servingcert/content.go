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

package servingcert

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"

	"entente.dev/entente/peering/pki"
)

// The keys of the Secret that are ours.
const (
	caCert     = "ca.crt"
	caKey      = "ca.key"
	nextCACert = "next-ca.crt"
	nextCAKey  = "next-ca.key"
	leafCert   = corev1.TLSCertKey
	leafKey    = corev1.TLSPrivateKeyKey
	oldCACert  = "old-ca.crt"
	oldLeaf    = "old-tls.crt"
)

// maxOld limits the former authorities, of which there is one as a rule. More come
// together only if somebody breaks the Secret again and again; the newest stay.
const maxOld = 8

// content is what is sound in the Secret.
type content struct {
	// current signs leaves, unless it has no key.
	current *pki.Authority
	// next will sign once it is published everywhere.
	next *pki.Authority
	// leaf is signed by current.
	leaf *leaf
	// old are former authorities, newest first. Leaves of theirs may be served still.
	old []*x509.Certificate
	// oldLeaves are the last leaves of those. Each is valid and signed by one of them.
	oldLeaves []*x509.Certificate
}

// leaf is a serving certificate with its key.
type leaf struct {
	certificate *x509.Certificate
	key         *pki.Key
}

// errTooEarly says that a certificate is not valid yet. Nothing is repaired then:
// the clock that is wrong may be ours, and then the others serve what we would
// throw away.
var errTooEarly = errors.New("is the clock of this machine right? (If it is, empty the Secret)")

// decode returns what is sound in the Secret's data, and what is wrong with the
// rest. It quotes none of it.
func decode(data map[string][]byte, now time.Time) (content, []string, error) {
	d := decoder{data: data, now: now}
	var c content
	c.current = d.authority(caCert, caKey)
	c.next = d.authority(nextCACert, nextCAKey)
	if c.next != nil && c.next.Key == nil {
		c.next = nil // of no use
	}
	c.leaf = d.leaf(c.current)
	d.old(&c)
	return c, d.faults, d.early
}

// decoder collects what is wrong.
type decoder struct {
	data   map[string][]byte
	now    time.Time
	faults []string
	early  error
}

func (d *decoder) fault(err error) {
	switch {
	case errors.Is(err, errTooEarly):
		d.early = errors.Join(d.early, err)
	case err != nil:
		d.faults = append(d.faults, err.Error())
	}
}

// authority returns an authority without a key if only the key is faulty: what it
// signed may be trusted further.
func (d *decoder) authority(certName, keyName string) *pki.Authority {
	if d.empty(certName) && d.empty(keyName) {
		return nil
	}
	certificate, err := d.certificate(certName)
	if err == nil && (!certificate.IsCA || certificate.KeyUsage&x509.KeyUsageCertSign == 0) {
		err = fmt.Errorf("%s is not the certificate of an authority", certName)
	}
	if err == nil {
		err = valid(certificate, certName, d.now)
	}
	if err != nil {
		d.fault(err)
		return nil
	}
	key, err := d.key(keyName, certificate, certName)
	d.fault(err)
	return &pki.Authority{Certificate: certificate, Key: key}
}

func (d *decoder) leaf(authority *pki.Authority) *leaf {
	if d.empty(leafCert) && d.empty(leafKey) {
		return nil
	}
	certificate, err := d.certificate(leafCert)
	var key *pki.Key
	if err == nil {
		key, err = d.key(leafKey, certificate, leafCert)
	}
	if err == nil && (authority == nil || !authority.Signed(certificate)) {
		err = fmt.Errorf("%s is not signed by the authority in %s", leafCert, caCert)
	}
	if err == nil {
		err = valid(certificate, leafCert, d.now)
	}
	if err == nil && !verifies(certificate, d.now, authority.Certificate) {
		err = fmt.Errorf("%s is not a serving certificate under the authority in %s", leafCert, caCert)
	}
	if err != nil {
		d.fault(err)
		return nil
	}
	return &leaf{certificate: certificate, key: key}
}

// old adds the former authorities of which a leaf is still valid.
func (d *decoder) old(c *content) {
	if d.empty(oldCACert) && d.empty(oldLeaf) {
		return
	}
	authorities, caErr := cert.ParseCertsPEM(d.data[oldCACert])
	leaves, leafErr := cert.ParseCertsPEM(d.data[oldLeaf])
	if caErr != nil || leafErr != nil {
		d.fault(fmt.Errorf("%s and %s are not PEM files with certificates", oldCACert, oldLeaf))
		return
	}
	for _, authority := range authorities {
		c.addOld(authority, leaves, d.now)
	}
	if len(c.old) < len(authorities) || len(c.oldLeaves) < len(leaves) {
		d.fault(fmt.Errorf("no leaf that is still valid hangs on %s, or on one of several in it", oldCACert))
	}
}

func (d *decoder) empty(name string) bool { return len(bytes.TrimSpace(d.data[name])) == 0 }

func (d *decoder) certificate(name string) (*x509.Certificate, error) {
	certificates, err := cert.ParseCertsPEM(d.data[name])
	if err != nil || len(certificates) != 1 {
		return nil, fmt.Errorf("%s is not a PEM file with one certificate", name)
	}
	return certificates[0], nil
}

func (d *decoder) key(name string, certificate *x509.Certificate, certName string) (*pki.Key, error) {
	key, err := pki.ParseKey(d.data[name])
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", name, err)
	}
	if !key.Fits(certificate) {
		return nil, fmt.Errorf("%s is not the key of %s", name, certName)
	}
	return key, nil
}

// addOld adds a former authority with those of the leaves that hang on it, if there
// are any, in the order of age.
func (c *content) addOld(authority *x509.Certificate, leaves []*x509.Certificate, now time.Time) {
	if slices.ContainsFunc(c.trusted(), authority.Equal) {
		return
	}
	var hanging []*x509.Certificate
	for _, leaf := range leaves {
		if now.Before(leaf.NotAfter) && leaf.CheckSignatureFrom(authority) == nil {
			hanging = append(hanging, leaf)
		}
	}
	if len(hanging) == 0 || !now.Before(authority.NotAfter) {
		return
	}
	c.old = append(c.old, authority)
	c.oldLeaves = append(c.oldLeaves, hanging...)
	slices.SortStableFunc(c.old, newestFirst)
	for len(c.old) > maxOld {
		dropped := c.old[maxOld]
		c.old = c.old[:maxOld]
		c.oldLeaves = slices.DeleteFunc(c.oldLeaves, func(leaf *x509.Certificate) bool { return leaf.CheckSignatureFrom(dropped) == nil })
	}
}

// trusted are the certificates of all authorities.
func (c content) trusted() []*x509.Certificate {
	var out []*x509.Certificate
	for _, authority := range []*pki.Authority{c.next, c.current} {
		if authority != nil {
			out = append(out, authority.Certificate)
		}
	}
	return append(out, c.old...)
}

// bundle is what belongs into the APIServices. It is the same before and after the
// next authority becomes the current one.
func (c content) bundle() ([]byte, error) {
	certificates := c.trusted()
	slices.SortStableFunc(certificates, newestFirst)
	return cert.EncodeCertificates(certificates...)
}

func newestFirst(a, b *x509.Certificate) int {
	if byAge := b.NotBefore.Compare(a.NotBefore); byAge != 0 {
		return byAge
	}
	return bytes.Compare(a.Raw, b.Raw)
}

// encode puts the content into the Secret and removes what else is there under
// keys of ours.
func (c content) encode(secret *corev1.Secret) error {
	values := map[string][]byte{}
	certificates := map[string][]*x509.Certificate{oldCACert: c.old, oldLeaf: c.oldLeaves}
	if c.current != nil {
		certificates[caCert] = []*x509.Certificate{c.current.Certificate}
		if c.current.Key != nil {
			values[caKey] = c.current.Key.PEM()
		}
	}
	if c.next != nil {
		certificates[nextCACert] = []*x509.Certificate{c.next.Certificate}
		values[nextCAKey] = c.next.Key.PEM()
	}
	if c.leaf != nil {
		certificates[leafCert] = []*x509.Certificate{c.leaf.certificate}
		values[leafKey] = c.leaf.key.PEM()
	}
	for name, list := range certificates {
		var err error
		if values[name], err = cert.EncodeCertificates(list...); err != nil {
			return fmt.Errorf("could not encode certificates: %w", err)
		}
	}

	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for _, name := range []string{caCert, caKey, nextCACert, nextCAKey, leafCert, leafKey, oldCACert, oldLeaf} {
		if _, there := secret.Data[name]; there && len(values[name]) == 0 && (name == leafCert || name == leafKey) {
			secret.Data[name] = []byte{} // a Secret of type kubernetes.io/tls must have these two
		} else if len(values[name]) == 0 {
			delete(secret.Data, name)
		} else {
			secret.Data[name] = values[name]
		}
	}
	return nil
}

func valid(certificate *x509.Certificate, name string, now time.Time) error {
	switch {
	case now.Before(certificate.NotBefore):
		return fmt.Errorf("%s is not valid before %s: %w", name, certificate.NotBefore.Format(time.RFC3339), errTooEarly)
	case !now.Before(certificate.NotAfter):
		return fmt.Errorf("%s expired on %s", name, certificate.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// verifies tells whether who trusts the authorities takes the certificate for that
// of a server.
func verifies(certificate *x509.Certificate, now time.Time, authorities ...*x509.Certificate) bool {
	roots := x509.NewCertPool()
	for _, authority := range authorities {
		roots.AddCert(authority)
	}
	_, err := certificate.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err == nil
}

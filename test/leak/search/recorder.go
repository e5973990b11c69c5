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

package search

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Recorder keeps what left a server until it is searched. It may be used by many at
// once.
type Recorder struct {
	mu      sync.Mutex
	streams []stream
}

// stream is something that left a server.
type stream struct {
	source string
	read   func() ([]byte, error)
	// allowed are the canaries that may be in it.
	allowed []Canary
}

// Add records bytes, which the recorder keeps as they are. source says in findings
// what they are. The allowed canaries may be in them.
func (r *Recorder) Add(source string, content []byte, allowed ...Canary) {
	if len(content) > 0 {
		r.add(stream{source, func() ([]byte, error) { return content, nil }, allowed})
	}
}

// AddFile records the content that a file has when it is searched. One that is not
// there is an error then.
func (r *Recorder) AddFile(source, path string, allowed ...Canary) {
	r.add(stream{source, func() ([]byte, error) { return os.ReadFile(path) }, allowed})
}

// AddFolder records all files below a folder, and their names, but for the folders and
// files named, by their paths in it.
func (r *Recorder) AddFolder(source, dir string, except ...string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(except, inside) && entry.IsDir():
			return filepath.SkipDir
		case slices.Contains(except, inside):
			return nil
		}
		r.Add(source+": a name", []byte(inside))
		if entry.Type().IsRegular() {
			r.AddFile(source+": "+inside, path)
		}
		return nil
	})
}

func (r *Recorder) add(s stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams = append(r.streams, s)
}

// Sizes says how many bytes have been recorded of sources that begin alike, up to a
// colon; files count as they are now.
func (r *Recorder) Sizes() (map[string]int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sizes := map[string]int{}
	for _, s := range r.streams {
		content, err := s.read()
		if err != nil {
			return nil, fmt.Errorf("could not read what was recorded of %s: %w", s.source, err)
		}
		class, _, _ := strings.Cut(s.source, ":")
		sizes[class] += len(content)
	}
	return sizes, nil
}

// maxFindings is how many findings of one stream are told; there may be thousands.
const maxFindings = 3

// around is how much of the text around a finding is told, on each side.
const around = 100

// Search looks for the canaries in all that was recorded. The findings come in the
// order in which it was.
func (r *Recorder) Search(canaries ...Canary) ([]Finding, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := newIndex(canaries)
	findings := make([][]Finding, len(r.streams))
	errs := make([]error, len(r.streams))
	next := make(chan int)
	var searchers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		searchers.Go(func() {
			for i := range next {
				findings[i], errs[i] = r.streams[i].search(x)
			}
		})
	}
	for i := range r.streams {
		next <- i
	}
	close(next)
	searchers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(findings...), nil
}

func (s stream) search(x *index) ([]Finding, error) {
	content, err := s.read()
	if err != nil {
		return nil, fmt.Errorf("could not read what was recorded of %s: %w", s.source, err)
	}
	var findings []Finding
	x.find(content, s.allowed, func(met spelling, from, to int) bool {
		text := fmt.Sprintf("%q", content[max(0, from-around):min(len(content), to+around)])
		findings = append(findings, Finding{
			Source: s.source, Canary: met.canary.name, Spelling: met.how, Offset: from, Length: to - from, Around: text[1 : len(text)-1],
		})
		return len(findings) < maxFindings
	})
	return findings, nil
}

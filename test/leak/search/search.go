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
	"encoding/binary"
	"fmt"
	"slices"
)

// Finding is a place where a canary, or a piece of one, was met.
type Finding struct {
	// Source says where: what was recorded.
	Source string
	// Canary is the name of the canary, Spelling how it is written there.
	Canary, Spelling string
	// Offset is where in the source it begins, Length how much of it there is, in bytes.
	Offset, Length int
	// Around is the text around it.
	Around string
}

// String says it in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s, at %d: %d bytes of %s (%s): …%s…", f.Source, f.Offset, f.Length, f.Canary, f.Spelling, f.Around)
}

// A text is not searched at every byte. Whatever holds Piece bytes of a spelling in a
// row also holds gram of its bytes that begin at a multiple of stride; so it is enough
// to look there, for the grams of all spellings.
const (
	gram   = 8
	stride = Piece - gram + 1
)

// index holds the grams of all spellings of some canaries.
type index struct {
	spellings []spelling
	grams     map[uint64][]place
	// maybe has the bit set of every gram's hash: most texts are done with it.
	maybe [1 << 12]uint64
}

type place struct{ spelling, offset int }

func newIndex(canaries []Canary) *index {
	x := &index{grams: map[uint64][]place{}}
	for _, canary := range canaries {
		x.spellings = append(x.spellings, canary.spellings()...)
	}
	for i, s := range x.spellings {
		for offset := 0; offset+gram <= len(s.text); offset++ {
			g := binary.LittleEndian.Uint64([]byte(s.text[offset : offset+gram]))
			x.grams[g] = append(x.grams[g], place{i, offset})
			word, bit := hash(g)
			x.maybe[word] |= bit
		}
	}
	return x
}

func hash(g uint64) (word, bit uint64) {
	h := g * 0x9E3779B97F4A7C15 >> 46
	return h >> 6, 1 << (h & 63)
}

// find calls found for each stretch of text that is a piece of a canary which may not
// be there, until it returns false. It goes over hundreds of megabytes that nobody
// writes any more, and is ten times slower if the race detector looks at each.
//
//go:norace
func (x *index) find(text []byte, allowed []Canary, found func(s spelling, from, to int) bool) {
	for at := 0; at+gram <= len(text); at += stride {
		g := binary.LittleEndian.Uint64(text[at:])
		if word, bit := hash(g); x.maybe[word]&bit == 0 {
			continue
		}
		// The longest stretch says best what it is.
		var best spelling
		from, to := at, at
		for _, p := range x.grams[g] {
			s := x.spellings[p.spelling]
			if slices.Contains(allowed, s.canary) {
				continue
			}
			start, end := stretch(text, at, s.text, p.offset)
			if end-start >= s.least && end-start > to-from {
				best, from, to = s, start, end
			}
		}
		if to == at && from == at {
			continue
		}
		if !found(best, from, to) {
			return
		}
		// On with what lies behind it, at the next multiple of stride.
		at = max(at, (to-1)/stride*stride)
	}
}

// stretch is how far text and spelling agree around a place where they do.
func stretch(text []byte, at int, spelling string, offset int) (from, to int) {
	from, to = at, at
	for from > 0 && offset-(at-from) > 0 && text[from-1] == spelling[offset-(at-from)-1] {
		from--
	}
	for to < len(text) && offset+(to-at) < len(spelling) && text[to] == spelling[offset+(to-at)] {
		to++
	}
	return from, to
}

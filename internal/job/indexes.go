package job

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Indexes is a set of completion indexes, as intervals. The zero value is empty. Methods leave the receiver as it is.
type Indexes struct {
	// runs are ascending, disjoint and not adjacent.
	runs []run
}

// maxDecoded bounds the intervals of a set, and the records of failures, that are decoded: a
// short text can stand for many. A status of more can't be written (MaxStatusIndexes).
const maxDecoded = 1 << 18

// run is an interval of indexes, both ends included.
type run struct{ first, last int32 }

// ParseIndexes reads a set in the format of status.completedIndexes ("1,3-5,7"), like upstream without unreadable parts.
func ParseIndexes(text string) Indexes {
	var runs []run
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		first, err := strconv.ParseInt(low, 10, 32)
		if err != nil || first < 0 {
			continue
		}
		last := first
		if ranged {
			if last, err = strconv.ParseInt(high, 10, 32); err != nil || last < first {
				continue
			}
		}
		runs = append(runs, run{int32(first), int32(last)})
	}
	return Indexes{}.merged(runs)
}

// String returns the set in the format of status.completedIndexes: runs of three or more as "a-b" (parity 2.11).
func (x Indexes) String() string {
	var text []byte
	for i, r := range x.runs {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(r.first), 10)
		if r.last > r.first {
			separator := byte('-')
			if r.last == r.first+1 {
				separator = ','
			}
			text = strconv.AppendInt(append(text, separator), int64(r.last), 10)
		}
	}
	return string(text)
}

// Len returns the number of indexes in the set.
func (x Indexes) Len() int32 {
	count := int64(0)
	for _, r := range x.runs {
		count += int64(r.last) - int64(r.first) + 1
	}
	return int32(min(count, math.MaxInt32))
}

// IsZero reports whether the set is empty.
func (x Indexes) IsZero() bool { return len(x.runs) == 0 }

// Equal reports whether both sets hold the same indexes.
func (x Indexes) Equal(other Indexes) bool { return slices.Equal(x.runs, other.runs) }

// Contains reports whether the index is in the set.
func (x Indexes) Contains(index int32) bool {
	i, _ := slices.BinarySearchFunc(x.runs, index, func(r run, index int32) int { return cmp.Compare(r.last, index) })
	return i < len(x.runs) && x.runs[i].first <= index
}

// With returns the set with the indexes added; negative ones are left out.
func (x Indexes) With(indexes ...int32) Indexes {
	var runs []run
	for _, index := range indexes {
		if index >= 0 {
			runs = append(runs, run{index, index})
		}
	}
	return x.merged(runs)
}

// Union returns the set of the indexes in either set.
func (x Indexes) Union(other Indexes) Indexes { return x.merged(other.runs) }

// Common returns how many indexes are in both sets.
func (x Indexes) Common(other Indexes) int32 {
	count := int32(0)
	for a, b := x.runs, other.runs; len(a) > 0 && len(b) > 0; {
		if low, high := max(a[0].first, b[0].first), min(a[0].last, b[0].last); low <= high {
			count += high - low + 1
		}
		if a[0].last < b[0].last {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return count
}

// Below returns the part of the set that is less than the limit.
func (x Indexes) Below(limit int32) Indexes {
	if len(x.runs) == 0 || x.runs[len(x.runs)-1].last < limit {
		return x
	}
	var runs []run
	for _, r := range x.runs {
		if r.first < limit {
			runs = append(runs, run{r.first, min(r.last, limit-1)})
		}
	}
	return Indexes{runs}
}

// Missing yields the indexes from 0 up to the limit that are not in the set.
func (x Indexes) Missing(limit int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		next := int32(0)
		for _, r := range append(slices.Clip(x.runs), run{limit, limit}) {
			for ; next < min(r.first, limit); next++ {
				if !yield(next) {
					return
				}
			}
			if r.last == math.MaxInt32 {
				return
			}
			next = max(next, r.last+1)
		}
	}
}

// merged returns the set with the runs added, which may overlap and be in any order.
func (x Indexes) merged(added []run) Indexes {
	if len(added) == 0 {
		return x
	}
	all := slices.Concat(x.runs, added)
	slices.SortFunc(all, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	runs := all[:1]
	for _, r := range all[1:] {
		last := &runs[len(runs)-1]
		if int64(r.first) > int64(last.last)+1 {
			runs = append(runs, r)
			continue
		}
		last.last = max(last.last, r.last)
	}
	return Indexes{runs}
}

// A set is stored as its text while that is short; a long one, whose text could
// grow to 300 KB at 100,000 indexes, as one bit for each index up to the highest.
const (
	maxIndexText = 1024
	bitsPrefix   = "bits:"
)

// MarshalJSON implements json.Marshaler.
func (x Indexes) MarshalJSON() ([]byte, error) {
	text := x.String()
	if len(text) > maxIndexText && base64.StdEncoding.EncodedLen(x.bytes()) < len(text) {
		text = bitsPrefix + base64.StdEncoding.EncodeToString(x.bits())
	}
	return json.Marshal(text)
}

// UnmarshalJSON implements json.Unmarshaler.
func (x *Indexes) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read a set of indexes: %w", err)
	}
	encoded, ok := strings.CutPrefix(text, bitsPrefix)
	if !ok {
		if parts := strings.Count(text, ",") + 1; parts > maxDecoded {
			return fmt.Errorf("a set of %d intervals of indexes, want %d at most", parts, maxDecoded)
		}
		*x = ParseIndexes(text)
		return nil
	}
	bits, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("read a set of indexes: %w", err)
	}
	*x, err = indexesOf(bits)
	return err
}

// bytes is the length of bits.
func (x Indexes) bytes() int { return int(x.runs[len(x.runs)-1].last/8) + 1 }

func (x Indexes) bits() []byte {
	bits := make([]byte, x.bytes())
	for _, r := range x.runs {
		for index := r.first; index <= r.last; index++ {
			bits[index/8] |= 1 << (index % 8)
		}
	}
	return bits
}

func indexesOf(bits []byte) (Indexes, error) {
	var runs []run
	for i := range int32(len(bits)) * 8 {
		switch {
		case bits[i/8]&(1<<(i%8)) == 0:
		case len(runs) > 0 && runs[len(runs)-1].last == i-1:
			runs[len(runs)-1].last = i
		case len(runs) == maxDecoded:
			return Indexes{}, fmt.Errorf("a set of more than %d intervals of indexes", maxDecoded)
		default:
			runs = append(runs, run{i, i})
		}
	}
	return Indexes{runs}, nil
}

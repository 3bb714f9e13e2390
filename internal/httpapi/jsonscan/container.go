package jsonscan

import "bytes"

// smallObject is the number of names up to which linear search is faster than a set.
const smallObject = 32

// frame is an open object or array.
type frame struct {
	started bool // the first member or element was read
	names   int  // start of its names in Scanner.names
	seen    map[string]struct{}
}

func (s *Scanner) enter(open byte) error {
	if s.next() != open {
		return s.unexpected("expected an object or an array")
	}
	if len(s.frames) == MaxDepth {
		return &Error{s.pos, TooDeep, "objects and arrays are nested too deeply"}
	}
	s.pos++
	s.frames = append(s.frames, frame{names: len(s.names)})
	return nil
}

// advance moves to the next member or element of the innermost container. At the
// closing character it consumes it and returns false.
func (s *Scanner) advance(closing byte) (more bool, err error) {
	f := &s.frames[len(s.frames)-1]
	c := s.next()
	if c == closing {
		s.pos++
		s.names = s.names[:f.names]
		s.frames = s.frames[:len(s.frames)-1]
		return false, nil
	}
	if f.started {
		if c != ',' {
			return false, s.malformed("expected a comma or the end of an object or array")
		}
		s.pos++
	}
	f.started = true
	return true, nil
}

// unique records a name of the innermost object, and reports whether it is new.
func (s *Scanner) unique(name []byte) bool {
	f := &s.frames[len(s.frames)-1]
	if f.seen != nil {
		return f.add(name)
	}
	siblings := s.names[f.names:]
	for _, n := range siblings {
		if bytes.Equal(n, name) {
			return false
		}
	}
	s.names = append(s.names, name)
	if len(siblings) == smallObject {
		f.seen = make(map[string]struct{}, 2*smallObject)
		for _, n := range s.names[f.names:] {
			f.add(n)
		}
	}
	return true
}

func (f *frame) add(name []byte) bool {
	before := len(f.seen)
	f.seen[string(name)] = struct{}{}
	return len(f.seen) > before
}

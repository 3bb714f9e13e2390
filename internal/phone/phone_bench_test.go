package phone_test

import (
	"math/rand/v2"
	"testing"

	"github.com/nyaruka/phonenumbers"

	"campaign-dispatch/internal/phone"
)

// benchNumbers is how many numbers one operation of a benchmark normalises.
const benchNumbers = 2000

// BenchmarkNormalise compares the table with the library on the phones of one
// full call, all Brazilian mobiles: valid ones, and ones with the usual faults.
func BenchmarkNormalise(b *testing.B) {
	inputs := map[string][][]byte{"valid": validMobiles(), "invalid": faultyMobiles()}
	paths := map[string]func([]byte) bool{"table": byTable, "library": byLibrary}
	for _, path := range []string{"table", "library"} {
		for _, kind := range []string{"valid", "invalid"} {
			b.Run(path+"/"+kind, func(b *testing.B) {
				benchmarkPath(b, paths[path], inputs[kind], kind == "valid")
			})
		}
	}
}

func benchmarkPath(b *testing.B, valid func([]byte) bool, phones [][]byte, want bool) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range phones {
			if valid(p) != want {
				b.Fatalf("%s: valid is not %v", p, want)
			}
		}
	}
}

func byTable(p []byte) bool {
	_, rejection := phone.Parse(p)
	return rejection == nil
}

// byLibrary is the straightforward way.
func byLibrary(p []byte) bool {
	parsed, err := phonenumbers.Parse(string(p), "BR")
	return err == nil && phonenumbers.IsValidNumber(parsed) &&
		phonenumbers.GetNumberType(parsed) != phonenumbers.UNKNOWN
}

func validMobiles() [][]byte {
	g := generator{rand.New(rand.NewPCG(7, 7))}
	phones := make([][]byte, benchNumbers)
	for i := range phones {
		phones[i] = []byte("55" + g.pick("11", "21", "31", "55", "85", "99") + "9" + g.digits(8))
	}
	return phones
}

// faultyMobiles lack the ninth digit, have no such area code, or are too long.
func faultyMobiles() [][]byte {
	phones := validMobiles()
	for i, p := range phones {
		s := string(p)
		switch i % 3 {
		case 0:
			s = s[:4] + "8" + s[6:]
		case 1:
			s = s[:2] + "20" + s[4:]
		case 2:
			s += "0"
		}
		phones[i] = []byte(s)
	}
	return phones
}

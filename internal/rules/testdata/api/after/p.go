// Package p is compared with the package before.
package p

import "context"

const (
	Kept               = 1
	Value              = "b"
	DefaultTries       = 6
	Moved        int64 = 1
	New                = true
)

var Variable *int

type Struct struct {
	Retyped string
	Same    int
	Added   int
	hidden  string
}

func (Struct) Value()     {}
func (*Struct) Pointer()  {}
func (*Struct) Receiver() {}

type Comparable struct {
	A int
	B []int
}

type Open interface {
	Do(renamed context.Context) error
	More()
}

type Closed interface {
	Do()
	More()
	private()
}

type NewOpen interface{ Do() }

type lender struct{ Lent string }

type Borrower struct{ lender }

type Alias = Comparable

type Generic[T comparable] struct{ Of []T }

type Named []byte

func Function(renamed func(other string) error, much ...int) (int, error) { return 0, nil }

func GenericFunction[T comparable](x T) T { return x }

var _, _ = Struct{}.hidden, Closed.private

// Package p is compared with the package after.
package p

import "context"

const (
	Kept             = 1
	Value            = "a"
	DefaultTries     = 5 // its value may change
	Moved        int = 1
)

var Variable error

type Struct struct {
	Same    int
	Gone    int
	Retyped int
	hidden  int
}

func (Struct) Value()      {}
func (*Struct) Pointer()   {}
func (Struct) Receiver()   {}
func (*Struct) Lost() bool { return false }

type Comparable struct{ A int }

type Open interface {
	Do(ctx context.Context) error
}

type Closed interface {
	Do()
	private()
}

type lender struct{ Lent int }

func (*lender) Borrowed() {}

type Borrower struct{ lender }

type Alias = Struct

type Generic[T any] struct{ Of []T }

type Named string

func Function(f func(name string) error, more ...int) (n int, err error) { return 0, nil }

func GenericFunction[T any](x T) T { return x }

func Removed() {}

var _, _ = Struct{}.hidden, Closed.private

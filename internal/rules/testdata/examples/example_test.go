package p_test

import p "example.com/ftpfetch/internal/rules/testdata/examples"

type implementation struct{}

func (implementation) Implemented() { p.Alone() }

func Example() {
	var i p.Interface = implementation{}
	i.Implemented()
	if p.One == 1 {
		p.Called()
	}
	p.Type{}.Called()
	// Output:
}

func ExampleOwn() {
	// Output:
}

func ExampleType_Own() {
	// Output:
}

func ExampleCompiled() { p.Compiled() }

// Package p has examples for some of what it exports.
package p

type Type struct{}

func (Type) Called()  {}
func (*Type) Own()    {}
func (Type) Alone()   {}
func (Type) Unwrap()  {}
func (Type) private() {}

type Interface interface{ Implemented() }

type Kind int

const One Kind = 1

func Called()   {}
func Own()      {}
func Alone()    {}
func Compiled() {}

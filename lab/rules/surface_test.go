package rules_test

import (
	"go/types"
	"strings"
)

// surface maps each exported name of the packages, as docs/api.txt writes it, to its declaration.
type surface map[string]string

// add adds the exported names of p, which is in dir.
func (s surface) add(dir string, p *types.Package) {
	w := writer{s, p}
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			s[dir+"."+name] = "const " + w.text(o.Type()) + " = " + o.Val().ExactString()
		case *types.Var:
			s[dir+"."+name] = "var " + w.text(o.Type())
		case *types.Func:
			s[dir+"."+name] = w.text(o.Type())
		case *types.TypeName:
			w.typeName(dir, o)
		}
	}
}

// writer writes the names of a package.
type writer struct {
	surface
	own *types.Package
}

func (w writer) typeName(dir string, o *types.TypeName) {
	name := dir + "." + o.Name()
	if alias, ok := o.Type().(*types.Alias); ok {
		w.surface[name] = "type = " + w.text(alias.Rhs())
		return
	}
	t := o.Type()
	what := "type"
	switch u := t.Underlying().(type) {
	case *types.Struct:
		what += " struct"
		if w.fields(name, u) && types.Comparable(t) {
			what += ", comparable"
		}
	case *types.Interface:
		what += " interface" + w.interfaceMethods(name, u)
	default:
		what += " " + w.text(u)
	}
	w.surface[name] = what
	if !types.IsInterface(t) {
		w.methods(dir, o.Name(), t)
	}
}

// fields adds the exported fields, including those promoted from unexported embedded structs. It reports whether there
// are no others: only then do callers write values of the type and compare them.
func (w writer) fields(name string, s *types.Struct) (all bool) {
	all = true
	for f := range s.Fields() {
		kind := "field "
		if f.Embedded() {
			kind = "embedded "
		}
		if f.Exported() {
			w.surface[name+"."+f.Name()] = kind + w.text(f.Type())
			continue
		}
		all = false
		if inner, ok := deref(f.Type()).Underlying().(*types.Struct); ok && f.Embedded() {
			w.fields(name, inner)
		}
	}
	return all
}

// interfaceMethods adds the methods of an interface. An interface with unexported methods cannot be implemented
// elsewhere, so methods may be added to it later.
func (w writer) interfaceMethods(name string, i *types.Interface) (closed string) {
	if !i.IsMethodSet() {
		closed = " " + w.text(i)
	}
	for e := range i.EmbeddedTypes() {
		if n, ok := e.(*types.Named); ok && n.Obj().Exported() && n.Obj().Pkg() != nil {
			w.surface[name+"."+n.Obj().Name()] = "embedded " + w.text(e)
		}
	}
	for m := range i.ExplicitMethods() {
		if m.Exported() {
			w.surface[name+"."+m.Name()] = "interface method " + w.text(m.Type())
		} else {
			closed = " with unexported methods"
		}
	}
	return closed
}

// methods adds the methods of T and *T, including those promoted from unexported embedded types.
func (w writer) methods(dir, name string, t types.Type) {
	values := types.NewMethodSet(t)
	for m := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if !m.Obj().Exported() || listed(t, m) {
			continue
		}
		receiver := name
		if values.Lookup(nil, m.Obj().Name()) == nil {
			receiver = "(*" + name + ")"
		}
		w.surface[dir+"."+receiver+"."+m.Obj().Name()] = w.text(m.Obj().Type())
	}
}

// listed reports whether a method is promoted from an exported embedded type, which has its own lines.
func listed(t types.Type, m *types.Selection) bool {
	s, ok := t.Underlying().(*types.Struct)
	return ok && len(m.Index()) > 1 && s.Field(m.Index()[0]).Exported()
}

func (w writer) text(t types.Type) string {
	return types.TypeString(unnamed(t), func(p *types.Package) string {
		if p == w.own {
			return ""
		}
		return strings.TrimPrefix(p.Path(), module)
	})
}

// unnamed returns t without the names of parameters and results, which callers do not write.
func unnamed(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Pointer:
		return types.NewPointer(unnamed(t.Elem()))
	case *types.Slice:
		return types.NewSlice(unnamed(t.Elem()))
	case *types.Array:
		return types.NewArray(unnamed(t.Elem()), t.Len())
	case *types.Chan:
		return types.NewChan(t.Dir(), unnamed(t.Elem()))
	case *types.Map:
		return types.NewMap(unnamed(t.Key()), unnamed(t.Elem()))
	case *types.Signature:
		return signature(t)
	}
	return t
}

func signature(s *types.Signature) types.Type {
	tuple := func(vars *types.Tuple) *types.Tuple {
		var list []*types.Var
		for v := range vars.Variables() {
			list = append(list, types.NewParam(v.Pos(), v.Pkg(), "", unnamed(v.Type())))
		}
		return types.NewTuple(list...)
	}
	return types.NewSignatureType(nil, nil, nil, tuple(s.Params()), tuple(s.Results()), s.Variadic())
}

// deref returns T for *T.
func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

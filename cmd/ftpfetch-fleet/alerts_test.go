package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"example.com/ftpfetch/internal/testkit/must"
)

// exported has the values that the labels of each metric can have.
type exported map[string]map[string][]string

// everything returns what /metrics shows of a fleet that has all.
func everything(t *testing.T) exported {
	jobs := []*state{{job: job{ID: "j"}, tally: tally{By: map[string]int64{"78 h:21 w": 1}}}}
	now := state{All: &host{bounds: bounds{Rate: 1}}}
	for _, s := range hostStates {
		now.Hosts = append(now.Hosts, hostState{Host: s + ":21", Egress: "e", State: s, Since: time.Now()})
	}
	all := make(exported)
	for _, family := range must.Get(metricsOf(jobs, now, new(room)).Gather())(t) {
		values := make(map[string][]string)
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				values[l.GetName()] = append(values[l.GetName()], l.GetValue())
			}
		}
		all[family.GetName()] = values
	}
	return all
}

// wrong returns what is wrong with an expression, and with the labels that a text about its result names.
func (all exported) wrong(expr string, text string) (wrongs []string) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			wrongs = append(wrongs, all.wrongMatchers(s)...)
		}
		return nil
	})
	has := all.labels(e)
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, by := range a.Grouping {
				if !slices.Contains(all.labels(a.Expr), by) {
					wrongs = append(wrongs, "there is no label "+by+" to group by")
				}
			}
		}
		return nil
	})
	for _, m := range regexp.MustCompile(`\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(has, m[1]) {
			wrongs = append(wrongs, "the result has no label "+m[1])
		}
	}
	return wrongs
}

func (all exported) wrongMatchers(s *parser.VectorSelector) (wrongs []string) {
	metric, ok := all[s.Name]
	if !ok {
		return []string{"there is no metric " + s.Name}
	}
	for _, m := range s.LabelMatchers {
		if m.Name != model.MetricNameLabel && !slices.ContainsFunc(metric[m.Name], m.Matches) {
			wrongs = append(wrongs, s.Name+" is never with "+m.String())
		}
	}
	return wrongs
}

// labels returns the labels that the result of an expression has.
func (all exported) labels(e parser.Expr) []string {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return slices.Sorted(maps.Keys(all[e.Name]))
	case *parser.AggregateExpr:
		return e.Grouping // the rules and the dashboard have no "without"
	case *parser.BinaryExpr:
		return all.labels(e.LHS)
	case *parser.Call:
		if e.Func.Name != "absent" {
			return all.labels(e.Args[0])
		}
	case *parser.MatrixSelector:
		return all.labels(e.VectorSelector)
	case *parser.ParenExpr:
		return all.labels(e.Expr)
	}
	return nil
}

// strictly reads a file that has no other fields than to.
func strictly(t *testing.T, name string, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(must.Get(os.ReadFile("../../docs/recipes/" + name))(t)))
	d.DisallowUnknownFields()
	must.Do(t, d.Decode(to))
}

// TestExpressions has expressions with one mistake each.
func TestExpressions(t *testing.T) {
	all := everything(t)
	for _, tt := range []struct {
		expr, text string
		good       bool
	}{
		{`ftpfetch_fleet_workers == 0`, "", true},
		{`rate(ftpfetch_fleet_failures_total{code=~"7."}[5m])`, "{{ $labels.host }} {{code}}", true},
		{`ftpfetch_fleet_workers == `, "", false},
		{`rate(ftpfetch_fleet_failures_total)`, "", false},
		{`ftpfetch_fleet_worker == 0`, "", false},
		{`ftpfetch_fleet_host_state{state="refused"}`, "", false},
		{`ftpfetch_fleet_host_state{name="h"}`, "", false},
		{`sum by (name) (ftpfetch_fleet_host_state)`, "", false},
		{`sum by (state) (ftpfetch_fleet_host_state)`, "{{host}}", false},
		{`absent(ftpfetch_fleet_slots)`, "{{host}}", false},
		{`ftpfetch_fleet_files`, "{{host}}", false},
	} {
		if wrongs := all.wrong(tt.expr, tt.text); (len(wrongs) == 0) != tt.good {
			t.Errorf("%s with %q: %q", tt.expr, tt.text, wrongs)
		}
	}
}

// TestAlerts loads the rules for alerts as Prometheus does: no unknown field, and expressions, labels and times that
// there are.
func TestAlerts(t *testing.T) {
	type rule struct {
		Alert, Expr, For    string
		Labels, Annotations map[string]string
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	strictly(t, "fleet-alerts.json", &file)
	all, names := everything(t), make(map[string]bool)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			for _, wrong := range all.wrong(r.Expr, r.Annotations["summary"]) {
				t.Errorf("%s: %s: %s", r.Alert, r.Expr, wrong)
			}
			if _, err := model.ParseDuration(r.For); err != nil || r.Annotations["summary"] == "" || names[r.Alert] {
				t.Errorf("%+v: %v", r, err)
			}
			names[r.Alert] = true
		}
	}
	if len(names) < 6 {
		t.Errorf("the rules are %v", names)
	}
}

// TestDashboard loads the dashboard: each query and each legend names metrics and labels that there are, and no panel
// lies on another one.
func TestDashboard(t *testing.T) {
	type place struct{ H, W, X, Y int }
	type panel struct {
		ID          int
		Type, Title string
		Datasource  struct{ Type, UID string }
		GridPos     place
		FieldConfig any
		Targets     []struct{ RefID, Expr, LegendFormat string }
	}
	var board struct {
		Title, UID, Refresh string
		SchemaVersion       int
		Time                struct{ From, To string }
		Templating          struct {
			List []struct{ Name, Type, Query string }
		}
		Panels []panel
	}
	strictly(t, "fleet-dashboard.json", &board)
	all, shown := everything(t), 0
	if len(board.Templating.List) != 1 {
		t.Fatalf("the variables are %v", board.Templating.List)
	}
	source := "${" + board.Templating.List[0].Name + "}"
	for i, p := range board.Panels {
		refs := make(map[string]bool)
		for _, target := range p.Targets {
			for _, wrong := range all.wrong(target.Expr, target.LegendFormat) {
				t.Errorf("%s: %s: %s", p.Title, target.Expr, wrong)
			}
			if refs[target.RefID] || p.Datasource.UID != source {
				t.Errorf("%s: two queries %s, or the source %s", p.Title, target.RefID, p.Datasource.UID)
			}
			refs[target.RefID] = true
			shown++
		}
		for _, q := range board.Panels[:i] {
			a, b := p.GridPos, q.GridPos
			apart := a.X+a.W <= b.X || b.X+b.W <= a.X || a.Y+a.H <= b.Y || b.Y+b.H <= a.Y
			if p.ID == q.ID || !apart || a.X+a.W > 24 {
				t.Errorf("%s and %s have one id or one place", p.Title, q.Title)
			}
		}
	}
	if shown < 10 {
		t.Errorf("%d queries", shown)
	}
}

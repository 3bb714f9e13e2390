package alarms

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"slices"
	"strconv"
)

// check returns an error where the expression has what evaluate does not know.
func (a Alarm) check() error {
	values := map[string]float64{}
	for id := range a.terms {
		values[id] = 1
	}
	if math.IsNaN(evaluate(a.expression, values)) {
		return fmt.Errorf("its expression %q is not known here", a.expression)
	}
	return nil
}

// evaluate returns the value of a metric math expression: numbers, the values by
// their names, + - * /, FILL(name, number) and SUM(METRICS()). It is not a number
// where there is anything else in it.
func evaluate(expression string, values map[string]float64) float64 {
	e, err := parser.ParseExpr(expression)
	if err != nil {
		return math.NaN()
	}
	return calculate(e, values)
}

func calculate(e ast.Expr, values map[string]float64) float64 {
	switch e := e.(type) {
	case *ast.BasicLit:
		if v, err := strconv.ParseFloat(e.Value, 64); err == nil {
			return v
		}
	case *ast.Ident:
		if v, ok := values[e.Name]; ok {
			return v
		}
	case *ast.ParenExpr:
		return calculate(e.X, values)
	case *ast.BinaryExpr:
		return operate(e.Op, calculate(e.X, values), calculate(e.Y, values))
	case *ast.CallExpr:
		return call(e, values)
	}
	return math.NaN()
}

func operate(op token.Token, x, y float64) float64 {
	switch op { //nolint:exhaustive // the others are not of the language
	case token.ADD:
		return x + y
	case token.SUB:
		return x - y
	case token.MUL:
		return x * y
	case token.QUO:
		return x / y
	}
	return math.NaN()
}

func call(e *ast.CallExpr, values map[string]float64) float64 {
	name, _ := e.Fun.(*ast.Ident)
	switch {
	case name == nil:
	case name.Name == "FILL" && len(e.Args) == 2:
		if v := calculate(e.Args[0], values); !math.IsNaN(v) {
			return v
		}
		return calculate(e.Args[1], values)
	case name.Name == "SUM" && len(e.Args) == 1:
		if of, ok := e.Args[0].(*ast.CallExpr); ok && len(of.Args) == 0 {
			return statistics["Sum"](slices.Collect(maps.Values(values)))
		}
	}
	return math.NaN()
}

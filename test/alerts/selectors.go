package alerts

import (
	"regexp"
	"slices"
	"strings"
)

// Selector is what an expression asks of a metric.
type Selector struct {
	// Metric is its name, with the suffix of a histogram's part.
	Metric string
	// Labels are the names of the labels that the series has to have: those that are
	// matched, and those by which it is grouped.
	Labels []string
	// Values are those that the labels are matched with; of a regular expression each of
	// the alternatives.
	Values map[string][]string
}

// Family is the name of the metric that has the selector's series.
func (s Selector) Family() string { return strings.TrimSuffix(s.Metric, "_bucket") }

var (
	token = regexp.MustCompile(`"[^"]*"|[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9.]+[a-z]*|=~|!~|!=|\S`)
	name  = regexp.MustCompile(`^[a-zA-Z_:]`)
	// labelLists come before label names in parentheses.
	labelLists = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
	operators  = []string{"and", "or", "unless", "offset", "bool"}
)

// Selectors returns the selectors of a PromQL expression that promtool has found right. It
// reads as much of the language as rules and dashboard use.
func Selectors(expr string) []Selector {
	tokens := token.FindAllString(expr, -1)
	at := func(i int) string {
		if i < len(tokens) {
			return tokens[i]
		}
		return ""
	}
	// groups are the labels that the depth of parentheses is grouped by.
	type group struct {
		depth  int
		labels []string
	}
	var groups []group
	var found []Selector
	depth := 0
	for i := 0; i < len(tokens); i++ {
		switch word := tokens[i]; {
		case word == "(":
			depth++
		case word == ")":
			depth--
			groups = slices.DeleteFunc(groups, func(g group) bool { return g.depth > depth })
		case word == "[":
			for at(i) != "]" {
				i++
			}
		case slices.Contains(labelLists, word):
			var labels []string
			for i += 2; at(i) != ")"; i++ {
				if at(i) != "," {
					labels = append(labels, at(i))
				}
			}
			if word == "by" {
				groups = append(groups, group{depth + 1, labels})
			}
		case !name.MatchString(word), slices.Contains(operators, word), at(i+1) == "(", slices.Contains(labelLists, at(i+1)):
		default:
			selector := Selector{Metric: word, Values: map[string][]string{}}
			if at(i+1) == "{" {
				for i += 2; at(i) != "}"; i++ {
					if name.MatchString(at(i)) {
						selector.Labels = append(selector.Labels, at(i))
						selector.Values[at(i)] = strings.Split(strings.Trim(at(i+2), `"`), "|")
					}
				}
			}
			for _, g := range groups {
				selector.Labels = append(selector.Labels, g.labels...)
			}
			slices.Sort(selector.Labels)
			selector.Labels = slices.Compact(selector.Labels)
			found = append(found, selector)
		}
	}
	return found
}

package world

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var (
	// instanceTypesTSV has a line for each instance type, with the members of DescribeInstanceTypes
	// as columns. hack/instancetypes writes it.
	//go:embed instancetypes.tsv
	instanceTypesTSV string
	//go:embed prices.txt
	pricesTXT string
)

// Catalogue returns every instance type that EC2 was recorded to have, ordered by family and size.
// It is shared and must not be changed.
func Catalogue() []InstanceType { return loadCatalogue() }

// loadCatalogue panics if the embedded files are wrong, which a test would have found.
var loadCatalogue = sync.OnceValue(func() []InstanceType {
	all, err := parseCatalogue(instanceTypesTSV, pricesTXT, nil)
	if err != nil {
		panic("world: the catalogue: " + err.Error())
	}
	return all
})

// chosenTypes returns the types of the catalogue with these names, in their order. It parses no
// others: most worlds have few.
func chosenTypes(names []string) ([]InstanceType, error) {
	found, err := parseCatalogue(instanceTypesTSV, pricesTXT, names)
	if err != nil {
		return nil, err
	}
	chosen := make([]InstanceType, 0, len(names))
	for _, name := range names {
		i := slices.IndexFunc(found, func(t InstanceType) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("catalogueTypes: the catalogue has no instance type %q", name)
		}
		chosen = append(chosen, found[i])
	}
	return chosen, nil
}

// parseCatalogue returns the types of a table, or only the named ones.
func parseCatalogue(table, priceList string, named []string) ([]InstanceType, error) {
	usd, err := parsePrices(priceList)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	for strings.HasPrefix(table, "#") {
		_, table, _ = strings.Cut(table, "\n")
	}
	header, lines, _ := strings.Cut(table, "\n")
	columns, err := columnsOf(header)
	if err != nil {
		return nil, err
	}
	var all []InstanceType
	for line := range strings.Lines(lines) {
		name, _, _ := strings.Cut(line, "\t")
		if named != nil && !slices.Contains(named, name) {
			continue
		}
		t, err := parseType(strings.TrimSuffix(line, "\n"), columns)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if t.OnDemandUSD = usd.of(&t); t.OnDemandUSD == 0 {
			return nil, fmt.Errorf("%s: it has no price", name)
		}
		all = append(all, t)
	}
	return all, nil
}

// column sets the value of a cell on a type.
type column func(*InstanceType, *cell)

func columnsOf(header string) ([]column, error) {
	var columns []column
	for name := range strings.SplitSeq(header, "\t") {
		set, known := catalogueColumns[name]
		if !known {
			return nil, fmt.Errorf("column %q is unknown", name)
		}
		columns = append(columns, set)
	}
	if len(columns) != len(catalogueColumns) {
		return nil, fmt.Errorf("it has %d columns, not %d", len(columns), len(catalogueColumns))
	}
	return columns, nil
}

func parseType(line string, columns []column) (InstanceType, error) {
	var t InstanceType
	for n, set := range columns {
		text, rest, more := strings.Cut(line, "\t")
		if line = rest; more == (n == len(columns)-1) {
			return t, fmt.Errorf("it does not have %d cells", len(columns))
		}
		if text == "" {
			continue
		}
		c := cell{text: text}
		if set(&t, &c); c.err != nil {
			return t, c.err
		}
	}
	t.derive()
	return t, nil
}

// derive sets what follows from the columns.
func (t *InstanceType) derive() {
	t.Cores = t.VCPUs / max(t.ThreadsPerCore, 1)
	for _, card := range t.NetworkCards {
		t.MaxENIs += card.MaxENIs
	}
}

// cell is the content of the table for a type in one column. The methods that read it keep the
// first error.
type cell struct {
	text string
	err  error
}

func (c *cell) flag() bool { return c.text == "y" }

func (c *cell) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *cell) number() int32 { return c.numberIn(c.text) }

// numberIn returns 0 for no text.
func (c *cell) numberIn(text string) int32 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		c.fail(err)
	}
	return int32(n)
}

func (c *cell) fractionIn(text string) float64 {
	if text == "" {
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		c.fail(err)
	}
	return f
}

func (c *cell) list() []string { return split(c.text, ",") }

// split returns nil for empty text.
func split(text, separator string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, separator)
}

// numbers returns a list in which 1-4 is 1, 2, 3, 4 and 8-16+4 is 8, 12, 16.
func (c *cell) numbers() []int32 {
	var all []int32
	for _, word := range c.list() {
		first, last, isRun := strings.Cut(word, "-")
		last, distance, isWide := strings.Cut(last, "+")
		step := int32(1)
		if isWide {
			step = max(c.numberIn(distance), 1)
		}
		from := c.numberIn(first)
		to := from
		if isRun {
			to = c.numberIn(last)
		}
		for n := from; n <= to; n += step {
			all = append(all, n)
		}
	}
	return all
}

// structures returns the members of each structure. Each must have as many as the column has.
func (c *cell) structures(members int) [][]string {
	var all [][]string
	for _, structure := range split(c.text, ";") {
		values := strings.Split(structure, "/")
		if len(values) != members {
			c.fail(fmt.Errorf("%q has %d members, not %d", structure, len(values), members))
			return nil
		}
		all = append(all, values)
	}
	return all
}

// prices are US dollars per hour.
type prices struct {
	families map[string]float64 // of four vCPUs
	types    map[string]float64
}

func parsePrices(text string) (prices, error) {
	p := prices{map[string]float64{}, map[string]float64{}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if _, twice := p.families[words[0]]; twice {
			return p, fmt.Errorf("family %s is there twice", words[0])
		}
		p.families[words[0]] = 0
		for _, word := range words[1:] {
			size, price, isSize := strings.Cut(word, "=")
			if !isSize {
				size, price = "", word
			}
			usd, err := strconv.ParseFloat(price, 64)
			if err != nil {
				return p, fmt.Errorf("family %s: %w", words[0], err)
			}
			if isSize {
				p.types[words[0]+"."+size] = usd
			} else {
				p.families[words[0]] = usd
			}
		}
	}
	return p, nil
}

// of returns the price of a type; 0 if it has none.
func (p prices) of(t *InstanceType) float64 {
	if usd, own := p.types[t.Name]; own {
		return usd
	}
	family, _, _ := strings.Cut(t.Name, ".")
	return math.Round(p.families[family]*float64(t.VCPUs)/4*1e6) / 1e6
}

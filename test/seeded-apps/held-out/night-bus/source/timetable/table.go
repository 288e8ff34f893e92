package timetable

// Table has the departures of each line, in minutes after midnight.
type Table struct {
	departures map[string][]int
}

func New() *Table {
	return &Table{departures: map[string][]int{}}
}

func (t *Table) Lines() int { return len(t.departures) }

func (t *Table) Add(line string, minute int) {
	t.departures[line] = append(t.departures[line], minute)
}

// Reset forgets what the day before brought.
func (t *Table) Reset() {
	t.departures = nil
}

package feed

import (
	"encoding/json"
	"io"
	"net/http"

	"nightbus/timetable"
)

type departure struct {
	Line   string
	Minute int
	First  bool
}

func Next(url string) ([]departure, error) {
	answer, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var all []departure
	return all, json.Unmarshal(body, &all)
}

func Load(all []departure, table *timetable.Table) {
	for _, each := range all {
		if each.First {
			table.Reset()
		}
		table.Add(each.Line, each.Minute)
	}
}

package main

import (
	"log"
	"os"

	"nightbus/feed"
	"nightbus/timetable"
)

func main() {
	table := timetable.New()
	for {
		raw, err := feed.Next(os.Getenv("FEED_URL"))
		if err != nil {
			log.Printf("feed: %v", err)
			continue
		}
		feed.Load(raw, table)
		log.Printf("loaded %d lines", table.Lines())
	}
}

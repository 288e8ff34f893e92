package main

import (
	"log/slog"
	"time"
)

func main() {
	for range time.Tick(time.Minute) {
		outside, err := forecast()
		if err != nil {
			slog.Error("forecast failed, the last one is used", "error", err)
		}
		slog.Info("climate set", "degrees", set(outside))
	}
}

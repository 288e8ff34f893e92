package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"time"
)

const maxAttempts = 3

type Carrier struct {
	URL    string
	Client *http.Client
}

// Fetch asks the carrier for every open parcel. It says how many attempts it took.
func (c *Carrier) Fetch(ctx context.Context) ([]Parcel, int, error) {
	var err error
	for attempt := 1; attempt <= maxAttempts; attempt++ {
		var parcels []Parcel
		if parcels, err = c.fetchOnce(ctx); err == nil {
			return parcels, attempt, nil
		}
		log.Printf("WARN refresh attempt %d/%d failed: %v", attempt, maxAttempts, err)
		select {
		case <-ctx.Done():
			return nil, attempt, ctx.Err()
		case <-time.After(time.Duration(attempt) * 2 * time.Second):
		}
	}
	return nil, maxAttempts, err
}

func (c *Carrier) fetchOnce(ctx context.Context) ([]Parcel, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("carrier answered %s", res.Status)
	}
	var parcels []Parcel
	if err := json.NewDecoder(res.Body).Decode(&parcels); err != nil {
		return nil, fmt.Errorf("decode parcels: %w", err)
	}
	return parcels, nil
}

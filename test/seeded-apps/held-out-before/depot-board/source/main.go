package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	store := NewStore()
	carrier := &Carrier{
		URL:    env("CARRIER_URL", "http://carrier.internal/v2/parcels"),
		Client: &http.Client{Timeout: 5 * time.Second},
	}
	go refreshForever(store, carrier)

	api := &API{store: store}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("/depots/", api.listParcels)
	mux.HandleFunc("/parcels/", api.showParcel)

	addr := ":" + env("PORT", "8080")
	log.Printf("INFO listening on %s", addr)
	log.Fatal(http.ListenAndServe(addr, accessLog(mux)))
}

// refreshForever keeps the last good list if the carrier does not answer.
func refreshForever(store *Store, carrier *Carrier) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		parcels, attempts, err := carrier.Fetch(ctx)
		cancel()
		if err != nil {
			log.Printf("WARN refresh gave up after %d attempts, keeping %d parcels: %v", attempts, store.Len(), err)
		} else {
			store.Replace(parcels)
			log.Printf("INFO refresh ok: %d parcels, %d attempt(s)", len(parcels), attempts)
		}
		time.Sleep(10 * time.Minute)
	}
}

func env(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}

package main

import (
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"strconv"
	"strings"
	"time"
)

type API struct {
	store *Store
}

// listParcels answers /depots/<depot>/parcels?page=<number>.
func (a *API) listParcels(w http.ResponseWriter, r *http.Request) {
	depot, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/depots/"), "/")
	if rest != "parcels" {
		writeError(w, http.StatusNotFound, "not found")
		return
	}
	page := 1
	if raw := r.URL.Query().Get("page"); raw != "" {
		n, err := strconv.Atoi(raw)
		if err != nil || n < 1 || n > 10000 {
			writeError(w, http.StatusBadRequest, "page must be a number from 1 to 10000")
			return
		}
		page = n
	}
	result, err := a.store.Page(depot, page)
	if errors.Is(err, ErrNotFound) {
		writeError(w, http.StatusNotFound, "no such depot")
		return
	}
	writeJSON(w, http.StatusOK, result)
}

// showParcel answers /parcels/<id>.
func (a *API) showParcel(w http.ResponseWriter, r *http.Request) {
	parcel, err := a.store.Parcel(strings.TrimPrefix(r.URL.Path, "/parcels/"))
	if errors.Is(err, ErrNotFound) {
		writeError(w, http.StatusNotFound, "no such parcel")
		return
	}
	writeJSON(w, http.StatusOK, parcel)
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"error": message})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Printf("WARN client went away: %v", err)
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func accessLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(sw, r)
		log.Printf("INFO %s %s %d %dms", r.Method, r.URL.RequestURI(), sw.status, time.Since(started).Milliseconds())
	})
}

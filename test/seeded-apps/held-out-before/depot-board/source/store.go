package main

import (
	"errors"
	"sort"
	"sync"
)

const pageSize = 25

var ErrNotFound = errors.New("not found")

type Parcel struct {
	ID     string `json:"id"`
	Depot  string `json:"depot"`
	Status string `json:"status"`
	Due    string `json:"due"`
}

type Page struct {
	Number  int      `json:"page"`
	Pages   int      `json:"pages"`
	Total   int      `json:"total"`
	Parcels []Parcel `json:"parcels"`
}

// Store has the open parcels of every depot, as the carrier last sent them.
type Store struct {
	mu      sync.RWMutex
	byID    map[string]Parcel
	byDepot map[string][]Parcel
}

func NewStore() *Store {
	return &Store{byID: map[string]Parcel{}, byDepot: map[string][]Parcel{}}
}

func (s *Store) Replace(parcels []Parcel) {
	byID := make(map[string]Parcel, len(parcels))
	byDepot := map[string][]Parcel{}
	for _, p := range parcels {
		byID[p.ID] = p
		byDepot[p.Depot] = append(byDepot[p.Depot], p)
	}
	for _, list := range byDepot {
		sort.Slice(list, func(i, j int) bool { return list[i].Due < list[j].Due })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID, s.byDepot = byID, byDepot
}

func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.byID)
}

func (s *Store) Parcel(id string) (Parcel, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.byID[id]
	if !ok {
		return Parcel{}, ErrNotFound
	}
	return p, nil
}

func (s *Store) Page(depot string, number int) (Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list, ok := s.byDepot[depot]
	if !ok {
		return Page{}, ErrNotFound
	}
	from, to := pageBounds(len(list), number)
	return Page{
		Number:  number,
		Pages:   (len(list) + pageSize - 1) / pageSize,
		Total:   len(list),
		Parcels: list[from:to],
	}, nil
}

// pageBounds says which part of a list of that many a page shows. Pages count from 1.
func pageBounds(total, number int) (from, to int) {
	from = (number - 1) * pageSize
	to = from + pageSize
	if to > total {
		to = total
	}
	return from, to
}

package main

import (
	"log"

	"example.com/thumbnailer/frames"
)

func main() {
	log.SetFlags(0)
	log.Println("worker ready")
	for job := range jobs() {
		film, err := decode(job)
		if err != nil {
			log.Printf("WARN job %s: cannot be decoded", job.ID)
			continue
		}
		store(job, frames.Poster(film, job.Skip))
		log.Printf("job %s done", job.ID)
	}
}

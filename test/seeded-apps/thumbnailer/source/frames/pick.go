// Package frames picks the frame of a film that is shown.
package frames

import "image"

// Poster is the frame after the first one: the first is often black.
// Very short films have only one.
func Poster(film []image.Image, skip int) image.Image {
	at := 1 + skip
	if skip < 0 {
		at = 1
	}
	return film[at]
}

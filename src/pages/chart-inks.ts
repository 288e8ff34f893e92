/** The fills of charts: each is a color and a texture, so that no chart depends on color alone. */
import { html } from 'hono/html'

export type Ink = 'plain' | 'hatched' | 'dotted' | 'hollow'

/**
 * Once on a page with charts. Not `display: none`: browsers then drop the patterns. The colors come from the style
 * sheet; the fills are attributes, because a URL in a style sheet is resolved against the style sheet.
 */
export const inkDefinitions = () => html`<svg class="unseen" width="1" height="1" aria-hidden="true">
  <defs>
    <pattern id="ink-plain" width="8" height="8" patternUnits="userSpaceOnUse">
      <rect class="ink-plain" width="8" height="8" />
    </pattern>
    <pattern id="ink-hatched" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect class="ink-ground-hatched" width="5" height="5" />
      <rect class="ink-hatched" width="2.5" height="5" />
    </pattern>
    <pattern id="ink-dotted" width="5" height="5" patternUnits="userSpaceOnUse">
      <rect class="ink-ground-dotted" width="5" height="5" />
      <circle class="ink-dotted" cx="2.5" cy="2.5" r="1.6" />
    </pattern>
    <pattern id="ink-hollow" width="8" height="8" patternUnits="userSpaceOnUse">
      <rect class="ink-hollow" width="8" height="8" />
    </pattern>
  </defs>
</svg>`

export const filledWith = (ink: Ink) => html`class="edge-${ink}" fill="url(#ink-${ink})"`

/** A sample for the legend. */
export const swatch = (ink: Ink) =>
  html`<svg class="swatch" width="14" height="14" aria-hidden="true"><rect x="0.5" y="0.5" width="13" height="13" rx="3" ${filledWith(ink)} /></svg>`

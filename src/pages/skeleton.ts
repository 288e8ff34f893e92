/** The HTML document around every page. */
import { html } from 'hono/html'
import type { Assets } from './assets.ts'
import { mark } from './icons.ts'
import type { Content } from './parts.ts'

export type { Content } from './parts.ts'

export const skeleton = (
  about: {
    title: string
    assets: Assets
    script: boolean
    /** Where it is told of what changes while it is open. */
    changes?: string | undefined
  },
  body: Content,
) => html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${about.title}</title>
    <link rel="icon" href="${about.assets.icon.path}" type="image/svg+xml" />
    <link rel="stylesheet" href="${about.assets.style.path}" />
    ${about.script && html`<script src="${about.assets.script.path}" defer></script>`}
  </head>
  <body${about.changes !== undefined && html` data-stream="${about.changes}"`}>
    <a class="skip" href="#content">Skip to content</a>
    ${body}
  </body>
</html>`

export const brand = (href: string) =>
  html`<a class="brand" href="${href}" aria-label="svc console">${mark()}<span>svc</span></a>`

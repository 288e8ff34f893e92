/** The console's own files, under addresses that change with their content and may therefore be kept forever. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Hono } from 'hono'

const load = (name: string, type: string) => {
  const body = readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8')
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 12)
  const [stem, extension] = name.split('.')
  return { path: `/console/assets/${stem}.${hash}.${extension}`, body, type }
}

export const ASSETS = {
  style: load('console.css', 'text/css; charset=utf-8'),
  script: load('console.js', 'text/javascript; charset=utf-8'),
  icon: load('mark.svg', 'image/svg+xml'),
} as const

export function assets(): Hono {
  const app = new Hono()
  for (const { path, body, type } of Object.values(ASSETS)) {
    app.get(path, (c) =>
      c.body(body, 200, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' }),
    )
  }
  return app
}

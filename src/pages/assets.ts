/** Style, script and logo of every page, under URLs that contain a hash of the content and are cached for ever. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Env, Hono } from 'hono'
import { compress, encodingFor } from './compress.ts'

const FILES = {
  style: ['style.css', 'text/css; charset=utf-8'],
  script: ['enhance.js', 'text/javascript; charset=utf-8'],
  icon: ['mark.svg', 'image/svg+xml'],
} as const

type Asset = { readonly path: string; readonly body: string; readonly type: string }
export type Assets = Readonly<Record<keyof typeof FILES, Asset>>

/** Each service serves them under its own path, so that two services of different versions never mix. */
export const assetsUnder = (prefix: string): Assets =>
  Object.fromEntries(
    Object.entries(FILES).map(([key, [name, type]]) => {
      const source = readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8')
      // Comments are for whoever reads the source.
      const body = key === 'script' ? source.replaceAll(/^ *\/\/.*\n/gm, '') : source
      const hash = createHash('sha256').update(body).digest('base64url').slice(0, 12)
      const [stem, extension] = name.split('.')
      return [key, { path: `${prefix}/${stem}.${hash}.${extension}`, body, type }]
    }),
  ) as Record<keyof typeof FILES, Asset>

export function serveAssets<E extends Env>(app: Hono<E>, assets: Assets): void {
  for (const { path, body, type } of Object.values(assets)) {
    const compressed = new Map<string, Promise<Buffer>>()
    app.get(path, async (c) => {
      const headers = {
        'content-type': type,
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
      }
      const encoding = encodingFor(c.req.header('accept-encoding'))
      if (encoding === undefined) return c.body(body, 200, headers)
      // Once for each encoding, so as well as it can be done.
      const made = compressed.get(encoding) ?? compress(body, encoding, 11)
      compressed.set(encoding, made)
      return c.body(new Uint8Array(await made), 200, { ...headers, 'content-encoding': encoding })
    })
  }
}

/** The version in package.json, which is two folders up from both src/cli and dist/cli. */
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

export const VERSION = manifest.version

export const USER_AGENT = `svc/${VERSION}`

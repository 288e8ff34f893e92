/** The version of this client, as package.json has it: two folders up from src/cli as from dist/cli. */
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

export const VERSION = manifest.version

export const USER_AGENT = `svc/${VERSION}`

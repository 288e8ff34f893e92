/** What the worker shows the server: a token it was given, or the one that its cluster puts into a file and renews there. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Environment } from './environment.ts'

/** Reads it anew at every call: that is how a rotated token is noticed. */
export type Credentials = () => Promise<string>

/** Where a pod mounts its projected token, unless SVC_WORKLOAD_TOKEN_FILE names another file. */
const TOKEN_FILE = '/var/run/secrets/svc/token'

export function chooseCredentials(env: Environment): Credentials {
  const given = env['SERVER_API_TOKEN']?.trim()
  if (given) {
    const token = requireToken(given, 'svc-worker: SERVER_API_TOKEN')
    return async () => token
  }
  const file = env['SVC_WORKLOAD_TOKEN_FILE'] || TOKEN_FILE
  if (!existsSync(file)) {
    throw new TypeError(
      `svc-worker: no token. Set SERVER_API_TOKEN to a reporting token of the app, or mount a service-account token at ${file}`,
    )
  }
  // The file is exchanged while the pod runs: what was read once may have expired.
  return async () => requireToken((await readFile(file, 'utf8')).trim(), file)
}

/** Names where it comes from and not what it is: `fetch` would quote a token that cannot be sent, for everybody to read. */
function requireToken(token: string, source: string): string {
  if (/^[!-~]+$/.test(token)) return token
  throw new TypeError(`${source} has no token: it must be one line, without blanks`)
}

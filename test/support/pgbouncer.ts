/** A PgBouncer in transaction mode before a Postgres server, from the system's package: every transaction may meet another session. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort } from './free-port.ts'
import { NOBODY } from './postgres.ts'

export type PgBouncer = { readonly url: string; readonly stop: () => Promise<void> }

/** Fewer than a pool of ours has, so that its connections do share them. */
const SESSIONS = 6

/** It ends, and its files go, with whoever started it: also when that was killed, its standard input closes. */
const ENDS_WITH_US = `exec 3<&0
"$@" 3<&- & pooler=$!
(cat <&3 >/dev/null; kill -KILL "$pooler") 2>/dev/null &
wait "$pooler"; rm -rf "$0"`

/** Debian installs it where an ordinary user's PATH does not lead. */
export const findPgBouncer = (): string | undefined =>
  [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
    .map((folder) => join(folder, 'pgbouncer'))
    .find((path) => existsSync(path))

export async function startPgBouncer(program: string, server: string): Promise<PgBouncer> {
  const home = await mkdtemp(join(tmpdir(), 'svc-pgbouncer-'))
  const port = await freePort()
  const { hostname, port: serverPort, username, password } = new URL(server)
  const files = {
    'pgbouncer.ini': configuration(home, port, `host=${hostname} port=${serverPort}`),
    'users.txt': `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, name), text, { mode: 0o600 })
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    for (const name of ['.', ...Object.keys(files)]) await chown(join(home, name), NOBODY, NOBODY)
  }
  const child = spawn('/bin/sh', ['-c', ENDS_WITH_US, home, program, join(home, 'pgbouncer.ini')], {
    // It refuses to run as root.
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await new Promise<void>((resolve, reject) => {
    let words = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-4_096)
      if (words.includes('process up')) resolve()
    })
    child.once('error', reject)
    child.once('close', () => reject(new Error(`pgbouncer ended: ${words}`)))
  })
  const url = new URL(server)
  url.host = `127.0.0.1:${port}`
  return {
    url: url.href,
    async stop() {
      const exited = new Promise((done) => child.once('exit', done))
      child.stdin.end()
      await exited
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** What docs/operating.md asks for, and sessions that take turns. */
const configuration = (home: string, port: number, server: string): string => `[databases]
* = ${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(home, 'users.txt')}
pool_mode = transaction
ignore_startup_parameters = options
default_pool_size = ${SESSIONS}
server_round_robin = 1
max_client_conn = 1000
log_connections = 0
log_disconnections = 0
log_stats = 0
`

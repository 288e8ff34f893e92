/** A real HAProxy before the processes of a test, as an operator would set it up: a backend for each service, checked by readiness. */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { endWithUs } from './end-with-us.ts'

/** Debian's is not on the PATH of everybody. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']

/** Undefined where it is not installed. */
export const findHaproxy = (): string | undefined =>
  FOLDERS.map((folder) => join(folder, 'haproxy')).find((file) => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false
    }
  })

/** How soon it notices that a server is no longer ready, apart from the time that the answer takes. */
const CHECK_MS = 1_000

export type Frontend = {
  readonly port: number
  readonly backend: string
  /** Paths that go elsewhere. */
  readonly paths?: readonly (readonly [prefix: string, backend: string])[]
}

export type Backends = Readonly<Record<string, readonly number[]>>

export type Haproxy = {
  /** Ports of the servers of a backend that it sends requests to. */
  readonly serversUp: (backend: string) => Promise<number[]>
  readonly stop: () => Promise<void>
}

/**
 * Connections that are refused are tried at another server, and nothing else is: what a server has begun to read must not
 * be sent twice.
 */
const DEFAULTS = `
global
  maxconn 2000
  nbthread 1
  stats socket unix@admin.sock mode 600 level admin

defaults
  mode http
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  option forwardfor
  option redispatch 1
  retries 3
  retry-on conn-failure
  timeout connect 2s
  timeout check 5s
  timeout client 90s
  timeout server 90s
  timeout http-keep-alive 75s
  default-server inter ${CHECK_MS}ms fall 1 rise 1
`

export async function startHaproxy(
  program: string,
  folder: string,
  { frontends, backends }: { frontends: readonly Frontend[]; backends: Backends },
): Promise<Haproxy> {
  const written = [
    DEFAULTS,
    ...frontends.map(
      ({ port, backend, paths = [] }) => `
frontend at_${port}
  bind 127.0.0.1:${port}
${paths.map(([prefix, other]) => `  use_backend ${other} if { path_beg ${prefix} }`).join('\n')}
  default_backend ${backend}
`,
    ),
    ...Object.entries(backends).map(
      ([name, ports]) => `
backend ${name}
${ports.map((port) => `  server ${port} 127.0.0.1:${port} check`).join('\n')}
`,
    ),
  ].join('')
  await writeFile(join(folder, 'haproxy.cfg'), written)
  // In the foreground: it is our own child, and nothing is left of it.
  const child = spawn(program, ['-db', '-f', 'haproxy.cfg'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const letGo = endWithUs(child.pid!)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (words: string) => (said = (said + words).slice(-4_000)))
  const exited = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', () => {
      letGo()
      resolve()
    })
  })
  const socket = join(folder, 'admin.sock')
  for (let waited = 0; !(await answers(socket)); waited++) {
    if (child.exitCode !== null || waited > 200) throw new Error(`HAProxy did not start: ${said}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    async serversUp(backend) {
      const rows = (await ask(socket, 'show stat')).split('\n').map((line) => line.split(','))
      const column = rows[0]!.indexOf('status')
      return rows
        .filter((row) => row[0] === backend && row[column]?.startsWith('UP'))
        .map((row) => Number(row[1]))
        .filter(Number.isInteger)
    },
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

const answers = (socket: string): Promise<boolean> =>
  ask(socket, 'show info').then(
    (info) => info !== '',
    () => false,
  )

async function ask(path: string, command: string): Promise<string> {
  const socket = connect(path)
  socket.end(`${command}\n`)
  return text(socket)
}

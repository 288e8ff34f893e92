/**
 * A local socket in the data folder, for commands that need the database while the server has it to itself. Its mode (0600)
 * is the permission: whoever may open it could read the database as well.
 */
import { chmodSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import * as z from 'zod'
import { Email } from '../contracts/fields.ts'
import type { Logger } from '../observe/log.ts'

const Request = z.object({ command: z.literal('reset-password'), email: Email })
const Answer = z.union([
  /** Null: no such account. */
  z.object({ link: z.string().nullable() }),
  z.object({ error: z.string() }),
])
type Answer = z.output<typeof Answer>

export type ControlCommands = { readonly resetPassword: (email: string) => Promise<Answer> }

const REQUEST_MAX_BYTES = 4096
const SOCKET_MS = 10_000
/** Of `sun_path` on macOS, the shortest of the systems we run on. */
const PATH_MAX_BYTES = 103

function pathOf(folder: string): string {
  const path = join(folder, 'control.sock')
  const shorter = relative(process.cwd(), path)
  return shorter.length < path.length ? shorter : path
}

/** Whoever calls this holds the lock of the folder: a socket that is there is left over. */
export async function openControlSocket(
  folder: string,
  commands: ControlCommands,
  log: Logger,
): Promise<() => Promise<void>> {
  const path = pathOf(folder)
  if (Buffer.byteLength(path) > PATH_MAX_BYTES) {
    log.warn('the path of the data folder is too long for a control socket', { folder })
    return async () => {}
  }
  rmSync(path, { force: true })
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    socket.setTimeout(SOCKET_MS, () => socket.destroy())
    void answer(socket, commands, log)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // The socket is made inside `listen`, with the mode that is left: there is no moment at which others may open it.
    const before = process.umask(0o177)
    try {
      server.listen(path, resolve)
    } finally {
      process.umask(before)
    }
  })
  chmodSync(path, 0o600)
  return () => new Promise((closed) => server.close(() => closed()))
}

async function answer(socket: Socket, commands: ControlCommands, log: Logger): Promise<void> {
  try {
    const { email } = Request.parse(JSON.parse(await readRequest(socket)))
    socket.end(JSON.stringify(await commands.resetPassword(email)))
  } catch (error) {
    log.warn('a request at the control socket failed', { error })
    socket.end(JSON.stringify({ error: 'The server could not do this. Its log says why.' } satisfies Answer))
  }
}

async function readRequest(socket: Socket): Promise<string> {
  let request = ''
  for await (const chunk of socket) {
    request += String(chunk)
    if (request.length > REQUEST_MAX_BYTES) throw new Error('the request is too long')
  }
  return request
}

/** Undefined when no server has this folder. */
export async function askControlSocket(
  folder: string,
  request: z.input<typeof Request>,
): Promise<Answer | undefined> {
  const socket = connect({ path: pathOf(folder), allowHalfOpen: true })
  socket.setTimeout(SOCKET_MS, () => socket.destroy(new Error('The server does not answer.')))
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return undefined
    throw error
  }
  socket.end(JSON.stringify(request))
  return Answer.parse(JSON.parse(await text(socket)))
}

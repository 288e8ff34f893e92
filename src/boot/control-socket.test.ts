import { once } from 'node:events'
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLogger } from '../observe/log.ts'
import { askControlSocket, openControlSocket, type ControlCommands } from './control-socket.ts'

let folder: string
const open: (() => Promise<void>)[] = []
const lines: string[] = []
const log = createLogger({
  level: 'debug',
  pretty: false,
  write: (line) => void lines.push(line),
  clock: () => new Date(),
})

beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'svc-control-'))))
afterEach(async () => {
  for (const close of open.splice(0)) await close()
  await rm(folder, { recursive: true, force: true })
})

const commands: ControlCommands = {
  resetPassword: async (email) => ({ link: email === 'ada@people.test' ? 'https://svc.test/link' : null }),
}
async function serve(given = commands, where = folder) {
  const close = await openControlSocket(where, given, log)
  open.push(close)
  return close
}
const ask = (email: string, where = folder) => askControlSocket(where, { command: 'reset-password', email })

/** What a program that is not ours sends, and what it gets. */
async function sendRaw(bytes: string): Promise<string> {
  const socket = connect(join(folder, 'control.sock'))
  await once(socket, 'connect')
  socket.end(bytes)
  return text(socket)
}

test('answers while it is open, and is gone afterwards', async () => {
  expect(await ask('ada@people.test')).toBeUndefined()
  const close = await serve()
  expect(await ask('ada@people.test')).toEqual({ link: 'https://svc.test/link' })
  expect(await ask('nobody@people.test')).toEqual({ link: null })
  open.splice(0)
  await close()
  expect(existsSync(join(folder, 'control.sock'))).toBe(false)
  expect(await ask('ada@people.test')).toBeUndefined()
})

test('belongs to whoever runs the server, whatever the umask and the mode of the folder', async () => {
  chmodSync(folder, 0o777)
  const before = process.umask(0)
  try {
    await serve()
  } finally {
    process.umask(before)
  }
  expect(statSync(join(folder, 'control.sock')).mode & 0o777).toBe(0o600)
})

test('replaces what a killed server left behind', async () => {
  writeFileSync(join(folder, 'control.sock'), '')
  await serve()
  expect(await ask('ada@people.test')).toEqual({ link: 'https://svc.test/link' })
})

test.each([
  '',
  '{',
  '{"command":"drop"}',
  '{"command":"reset-password","email":"x"}',
  `"${'x'.repeat(9000)}"`,
])('refuses %s, and goes on', async (bytes) => {
  await serve()
  const answered = await sendRaw(bytes)
  expect(answered === '' || answered.includes('error')).toBe(true)
  expect(answered).not.toContain('link')
  expect(await ask('ada@people.test')).toEqual({ link: 'https://svc.test/link' })
})

test('keeps the reason of a failure in the log', async () => {
  await serve({ resetPassword: () => Promise.reject(new Error('password of the database')) })
  const answered = await ask('ada@people.test')
  expect(answered).toEqual({ error: 'The server could not do this. Its log says why.' })
  expect(lines.join('')).toContain('password of the database')
})

test('a folder with a long name does without, and says so', async () => {
  const deep = join(folder, 'x'.repeat(120))
  await mkdir(deep)
  await serve(commands, deep)
  expect(existsSync(join(deep, 'control.sock'))).toBe(false)
  expect(lines.join('')).toContain('too long for a control socket')
})

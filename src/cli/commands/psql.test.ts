/** `svc db psql` with a psql that writes down how it was started. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import type { CommandContext } from '../command-context.ts'
import { openPsql } from './psql.ts'

const CONNECTION = {
  name: 'handbook',
  url: 'postgres://app:p%40ss@db.test:6543/acme_handbook?sslmode=require',
  host: 'db.test',
  port: 6543,
  database: 'acme_handbook',
  user: 'app',
  password: 'p@ss',
}

const listeners = { SIGTERM: process.listenerCount('SIGTERM'), SIGHUP: process.listenerCount('SIGHUP') }
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-psql-'))
  const psql = join(folder, 'psql')
  writeFileSync(
    psql,
    `#!/bin/sh\n{ env; printf 'argument %s\\n' "$@"; tr '\\0' ' ' < /proc/$$/cmdline; } > "$SEEN"\nif [ -n "$PSQL_WAITS" ]; then trap 'exit 143' TERM HUP; echo waits >> "$SEEN"; while :; do sleep 0.05; done; fi\nexit "\${PSQL_EXIT:-0}"\n`,
  )
  chmodSync(psql, 0o755)
})
afterAll(() => rmSync(folder, { recursive: true }))

function psql(rest: string[], env: Record<string, string> = {}) {
  const seen = join(folder, 'seen.txt')
  rmSync(seen, { force: true })
  const PATH = `${folder}:/usr/bin:/bin`
  const ctx = {
    environment: fakeEnvironment({ env: { PATH, SEEN: seen, ...env } }),
    callOperation: async () => CONNECTION,
  } as unknown as CommandContext
  return {
    done: openPsql(ctx, { args: { name: 'handbook' }, rest, options: {} }),
    seen: () => readFileSync(seen, 'utf8'),
  }
}

test('the connection is in the environment, arguments are passed on, and the password is in none of them', async () => {
  const { done, seen } = psql(['-c', 'select 1; -- it’s "quoted"'])
  await done
  for (const line of [
    'PGHOST=db.test',
    'PGPORT=6543',
    'PGUSER=app',
    'PGPASSWORD=p@ss',
    'PGDATABASE=acme_handbook',
    'PGSSLMODE=require',
  ]) {
    expect(seen()).toContain(`${line}\n`)
  }
  const shown = seen()
    .split('\n')
    .filter((line) => !/^\w+=/.test(line))
  expect(shown).toContain('argument select 1; -- it’s "quoted"')
  expect(shown.join('\n')).not.toMatch(/p@ss|p%40ss/)
})

test('nothing of the environment leads psql elsewhere, and the token stays here', async () => {
  const { done, seen } = psql([], {
    PGSERVICE: 'other',
    PGHOSTADDR: '192.0.2.1',
    PGPASSFILE: '/x',
    PGOPTIONS: '-c role=postgres',
    SVC_API_KEY: 'svc_secret',
    LANG: 'C',
  })
  await done
  expect(seen()).not.toMatch(/PGSERVICE|PGHOSTADDR|PGPASSFILE|PGOPTIONS|svc_secret/)
  expect(seen()).toContain('LANG=C\n')
})

test.each(['SIGTERM', 'SIGHUP'] as const)('%s ends psql, too', async (signal) => {
  const { done, seen } = psql([], { PSQL_WAITS: '1' })
  const ended = done.catch((error: Error) => error.message)
  await vi.waitFor(() => expect(seen()).toContain('waits'), { timeout: 5_000 })
  process.emit(signal, signal)
  expect(await ended).toBe('psql ended with exit code 143')
  expect(process.listenerCount(signal)).toBe(listeners[signal])
})

test('a psql that fails is an unexpected error: its own codes mean other things here', async () => {
  await expect(psql([], { PSQL_EXIT: '3' }).done).rejects.toMatchObject({
    code: 'UNEXPECTED',
    message: 'psql ended with exit code 3',
  })
})

test('no psql: a sentence that says what to install', async () => {
  await expect(psql([], { PATH: '/nowhere' }).done).rejects.toMatchObject({
    code: 'UNEXPECTED',
    message: 'psql is not installed, or not on the PATH',
    hint: expect.stringContaining('postgresql-client') as string,
  })
})

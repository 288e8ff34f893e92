import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { childEnvironment, startCommand } from './start-command.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-command-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function start(command: string) {
  let output = ''
  const running = startCommand({
    command,
    folder,
    env: { PATH: '/usr/bin:/bin' },
    output: (text) => (output += text),
    patience: { graceMs: 300, lastOutputMs: 200 },
  })
  return { ...running, output: () => output }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(20)
}

test('its exit code and both of its outputs are reported', async () => {
  const { ended, output } = start('echo out; echo err >&2; exit 3')
  expect(await ended).toEqual({ exitCode: 3, stoppedBecause: undefined })
  expect(output().split('\n').toSorted()).toEqual(['', 'err', 'out'])
})

test('stopping it ends whatever it has started, though that ignores being asked', async () => {
  const { ended, output, stop } = start(`sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & wait`)
  await until(() => /^\d+\n/.test(output()))
  const child = Number(output())
  stop('TIMED_OUT')
  expect(await ended).toMatchObject({ exitCode: null, stoppedBecause: 'TIMED_OUT' })
  await until(() => !isAlive(child))
})

test('a daemon that it leaves behind is left alone, and not waited for', async () => {
  const { ended } = start('sleep 60 & echo $! > daemon; exit 0')
  expect(await ended).toMatchObject({ exitCode: 0 })
  const daemon = Number(await readFile(join(folder, 'daemon'), 'utf8'))
  expect(isAlive(daemon)).toBe(true)
  process.kill(daemon, 'SIGKILL')
})

test('what it is told last does not change how it ended', async () => {
  const { ended, stop } = start('exit 0')
  await sleep(150)
  stop('TIMED_OUT')
  expect(await ended).toMatchObject({ exitCode: 0, stoppedBecause: undefined })
})

test('a folder that is gone is a problem, not a crash', async () => {
  const { ended } = startCommand({ command: 'true', folder: join(folder, 'gone'), env: {}, output: () => {} })
  expect(await ended).toMatchObject({ exitCode: null, problem: expect.stringContaining('ENOENT') as unknown })
  expect(existsSync(join(folder, 'gone'))).toBe(false)
})

test('it gets what it needs to know, and not the token', () => {
  const told = { SVC_APP: 'shop', SVC_DEPLOYMENT: 'dep_1', SVC_REVISION: 'rev_1', SVC_FENCE: '7' }
  const env = childEnvironment({ PATH: '/bin', SVC_API_KEY: 'svca_secret', SVC_FENCE: 'old' }, told)
  expect(env).toEqual({ PATH: '/bin', ...told })
})

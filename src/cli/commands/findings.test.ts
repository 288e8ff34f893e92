/** What a command found to fail is no failure of the command: scripts repeat 1 and 7, and never 11. */
import { describe, expect, test } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import type { CommandContext } from '../command-context.ts'
import type { Format, View } from '../format-output.ts'
import { runCheck } from './checks.ts'
import { readDeploymentOutput } from './deployments.ts'
import { listLogs } from './logs.ts'

type Answers = Record<string, (input: Record<string, unknown>) => unknown>

function contextWith(answers: Answers, format?: Format) {
  const [out, said] = [[] as string[], [] as string[]]
  const printed: unknown[] = []
  const ctx = {
    environment: {
      ...fakeEnvironment(),
      stdout: { write: (text: string | Uint8Array) => out.push(String(text)) },
    },
    settings: { format, timeoutMs: 30_000 },
    info: (line: string) => said.push(line),
    print: (data: unknown, _view: View) => printed.push(data),
    callOperation: (name: string, input: Record<string, unknown>) => Promise.resolve(answers[name]!(input)),
  } as unknown as CommandContext
  return { ctx, out, said, printed }
}

describe('apps checks run', () => {
  const input = { args: { app: 'shop', check: 'Health' }, options: {} }
  const check = { id: 'chk_1', name: 'Health', last_run_at: null as string | null }
  const answers = (result: string | undefined): Answers => ({
    listChecks: () => ({ checks: [check] }),
    runCheck: () => check,
    showCheck: () => ({ ...check, last_run_at: result === undefined ? null : '2026-11-15T12:00:00Z' }),
    listCheckRuns: () => ({ runs: [{ result, reason: null }] }),
  })

  test.each([
    ['pass', 0],
    ['fail', 11],
    ['error', 11],
    ['indeterminate', 11],
  ])('%s: %i, and the run is printed', async (result, exit) => {
    const { ctx, printed } = contextWith(answers(result))
    expect(await runCheck(ctx, input)).toBe(exit)
    expect(printed).toMatchObject([{ result }])
  })
})

describe('apps deployments output', () => {
  const args = { app: 'shop', deployment_id: 'dep_1' }
  const PARTS = ['one\n', 'two\u001b[31m\n', '']
  const answers = (state: string): Answers => ({
    readDeploymentOutput: ({ after }) => {
      const at = Number(after)
      return { text: PARTS[at], next: at + 1, ended: at === 2, dropped_bytes: 0 }
    },
    showDeployment: () => ({ state, code: state === 'failed' ? 'BUILD_FAILED' : null, exit_code: 1 }),
  })

  test('is one answer in every format', async () => {
    const { ctx, printed } = contextWith(answers('succeeded'), 'yaml')
    await readDeploymentOutput(ctx, { args, options: {} })
    expect(printed).toEqual([{ text: 'one\ntwo\u001b[31m\n', ended: true, dropped_bytes: 0 }])
  })

  test.each([
    ['succeeded', 0],
    ['failed', 11],
    ['cancelled', 11],
  ])('followed to its end, %s: %i', async (state, exit) => {
    const { ctx, out, said } = contextWith(answers(state))
    expect(await readDeploymentOutput(ctx, { args, options: { follow: true } })).toBe(exit)
    expect(out.join('')).toMatch(/^one\ntwo/)
    expect(out.join('')).not.toContain('\u001b')
    expect(said.join('')).toContain(state)
  })

  test('followed as JSON it is one object a line; YAML is refused', async () => {
    const { ctx, out } = contextWith(answers('failed'), 'json')
    await readDeploymentOutput(ctx, { args, options: { follow: true } })
    const lines = out.join('').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { text: 'one\n' },
      { text: 'two\u001b[31m\n' },
      { state: 'failed', code: 'BUILD_FAILED', exit_code: 1, dropped_bytes: 0 },
    ])
    const { ctx: yaml, out: none } = contextWith(answers('failed'), 'yaml')
    const followed = readDeploymentOutput(yaml, { args, options: { follow: true } })
    await expect(followed).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    expect(none).toEqual([])
  })
})

test.each([
  [{ follow: true }, 'yaml'],
  [{ follow: true, until: '1h' }, undefined],
] as const)('apps logs %j as %s is refused before anything is asked', async (options, format) => {
  const { ctx } = contextWith({}, format)
  const followed = listLogs(ctx, { args: { app: 'shop' }, options })
  await expect(followed).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
})
